// Captures: the traffic of a VM as packets, for troubleshooting. Plain values, and the rules for
// them.
//
// A capture lives while a client reads it, and in memory only.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace paravane::model {

// At a time, on one host; and one of each VM.
inline constexpr std::size_t kMaxCaptures = 4;

// All of each packet: Wireshark calls a RoCE packet malformed whose end is cut off.
inline constexpr std::uint32_t kDefaultSnaplen = 0;
inline constexpr std::uint32_t kMaxSnaplen = 65535;

// A capture that no client has read for so long ends.
inline constexpr unsigned kCaptureReaderSeconds = 10;

struct CaptureSpec {
  std::string vm;
  std::uint32_t snaplen = kDefaultSnaplen;  // bytes of each packet; 0: all
  friend bool operator==(const CaptureSpec&, const CaptureSpec&) = default;
};

struct CaptureInterface {
  std::string name;           // of the adapter: "db1", "db1/2"
  std::uint64_t packets = 0;  // seen
  std::uint64_t dropped = 0;  // of them, for want of room
  friend bool operator==(const CaptureInterface&, const CaptureInterface&) = default;
};

struct CaptureStatus {
  std::uint64_t id = 0;
  CaptureSpec spec;
  std::vector<CaptureInterface> interfaces;
  bool ended = false;  // no more packets come: the VM's adapters have gone
  friend bool operator==(const CaptureStatus&, const CaptureStatus&) = default;
};

// What came since it was read before.
struct CapturePackets {
  CaptureStatus status;
  std::string blocks;  // pcapng packet blocks; an interface's number is its place above
};

}  // namespace paravane::model
