// Frames: what the bytes of a cable are made of. docs/cables.md has the format.
//
// Each side begins with a hello and beats every two seconds. Packets follow, from the local route
// header to the padding, as wire/infiniband/datagram.h has them.
//
// Numbers are in the byte order of the network, as those of the packets.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"
#include "wire/infiniband/datagram.h"

namespace paravane::cable {

enum class FrameKind : std::uint8_t { kPacket = 0, kHello = 1, kBeat = 2, kLink = 3 };

struct FrameHeader {
  Be16 length{};            // of what follows, in bytes
  std::uint8_t kind = 0;    // FrameKind
  std::uint8_t cables = 0;  // of a packet: how many cables it came through before this one
};
static_assert(sizeof(FrameHeader) == 4);

inline constexpr std::uint16_t kCableVersion = 1;

struct Hello {
  Be16 version{};
  Be16 port{};  // of the sender's switch
  Be32 reserved{};
  Be64 guid{};  // of the sender's switch
};
static_assert(sizeof(Hello) == 16);

// What one end says of its port; the body of a frame of kind kLink.
enum class LinkWord : std::uint8_t {
  kDown = 0,      // disabled, or asleep
  kTraining = 1,  // down, and ready to go up
  kUp = 2,
};

// A packet that came through so many goes through no other: switches whose tables lead it in a
// circle do not keep it for ever. Where every host has a cable to every other, one is enough; two
// lead around a cable that is cut.
inline constexpr std::uint8_t kMostCables = 4;

inline constexpr std::size_t kMostFrameBytes = wire::infiniband::kMostPacketBytes;
inline constexpr std::chrono::seconds kBeatInterval{2};
// Without a frame from the other end, and without progress in what is sent.
inline constexpr std::chrono::seconds kSilenceLimit{5};

}  // namespace paravane::cable
