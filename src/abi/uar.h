// The doorbell pages (UAR pages) of BAR2. Page 0 belongs to the guest's kernel, and each process
// that has opened the device has one of the other pages. Every page contains the same three 32-bit
// words. The guest writes these words and never reads them.
//
// Source: docs/device-spec.md, section 3.

#pragma once

#include <cstdint>

namespace paravane::abi {

inline constexpr std::uint32_t kUarPageBytes = 4096;
inline constexpr std::uint32_t kUarHandleMask = 0x00FF'FFFF;

inline constexpr std::uint32_t kUarQpOffset = 0;
inline constexpr std::uint32_t kUarQpSend = 1u << 30;
inline constexpr std::uint32_t kUarQpReceive = 1u << 31;

inline constexpr std::uint32_t kUarCqOffset = 4;
inline constexpr std::uint32_t kUarCqArmSolicited = 1u << 29;
inline constexpr std::uint32_t kUarCqArm = 1u << 30;
inline constexpr std::uint32_t kUarCqPoll = 1u << 31;

inline constexpr std::uint32_t kUarSrqOffset = 8;
inline constexpr std::uint32_t kUarSrqReceive = 1u << 30;

}  // namespace paravane::abi
