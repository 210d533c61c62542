// Defines plain values for captures, and the rules for them. A capture records the traffic of a VM
// as packets, for troubleshooting. It exists only in memory, and ends when its client stops
// reading.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace paravane::model {

// The number of captures at a time on one host. Each VM can have one.
inline constexpr std::size_t kMaxCaptures = 4;

// By default, packets are captured completely, because Wireshark reports a truncated RoCE packet as
// malformed.
inline constexpr std::uint32_t kDefaultSnaplen = 0;
inline constexpr std::uint32_t kMaxSnaplen = 65535;

// A capture ends when no client has read it for this time.
inline constexpr unsigned kCaptureReaderSeconds = 10;

struct CaptureSpec {
  std::string vm;
  std::uint32_t snaplen = kDefaultSnaplen;  // bytes of each packet; 0: all
  friend bool operator==(const CaptureSpec&, const CaptureSpec&) = default;
};

struct CaptureInterface {
  std::string name;           // of the adapter: "db1", "db1/2"
  std::uint64_t packets = 0;  // seen
  std::uint64_t dropped = 0;  // the part of them that did not fit into the buffer
  friend bool operator==(const CaptureInterface&, const CaptureInterface&) = default;
};

struct CaptureStatus {
  std::uint64_t id = 0;
  CaptureSpec spec;
  std::vector<CaptureInterface> interfaces;
  bool ended = false;  // no more packets will come: the VM's adapters were removed
  friend bool operator==(const CaptureStatus&, const CaptureStatus&) = default;
};

// The packets that were captured since the last read.
struct CapturePackets {
  CaptureStatus status;
  std::string blocks;  // pcapng packet blocks; an interface's number is its place above
};

}  // namespace paravane::model
