// The identity, the interrupt vectors and the BAR1 registers of the PCI function that the guest's
// driver finds.
//
// Source: docs/device-spec.md, sections 1 and 2.

#pragma once

#include <cstdint>

namespace paravane::abi {

inline constexpr std::uint16_t kVendorId = 0x15AD;
inline constexpr std::uint16_t kDeviceId = 0x0820;
inline constexpr std::uint32_t kClassCode = 0x020700;  // network controller, InfiniBand

inline constexpr unsigned kInterruptBar = 0;
inline constexpr unsigned kRegisterBar = 1;
inline constexpr unsigned kDoorbellBar = 2;

// BAR1: 32-bit registers.
enum Register : std::uint32_t {
  kRegVersion = 0x00,
  kRegDsrLow = 0x04,
  kRegDsrHigh = 0x08,
  kRegControl = 0x0C,
  kRegRequest = 0x10,
  kRegError = 0x14,
  kRegInterruptCause = 0x18,
  kRegInterruptMask = 0x1C,
  kRegMacLow = 0x20,
  kRegMacHigh = 0x24,
};
inline constexpr std::uint32_t kRegisterBytes = 0x28;

enum Control : std::uint32_t { kControlActivate = 0, kControlUnquiesce = 1, kControlReset = 2 };

enum Version : std::uint32_t {
  kVersionRoceV1 = 17,
  kVersionRoceV2 = 18,
  kVersionPpn64 = 19,
  kVersionQpHandle = 20,
};

// The bit of a vector, in the cause register and in the mask register, is 1 << vector.
enum InterruptVector : std::uint16_t {
  kVectorResponse = 0,
  kVectorAsync = 1,
  kVectorCompletion = 2,
};
inline constexpr std::uint16_t kInterruptVectors = 3;

}  // namespace paravane::abi
