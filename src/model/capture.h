// Defines plain values for captures, and the rules for them. A capture records the traffic of a VM,
// or of the port of an InfiniBand adapter that an IPoIB uplink stands for, as packets, for
// troubleshooting. It exists only in memory, and ends when its client stops reading.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace paravane::model {

// The number of captures at a time on one host. Each VM and each uplink can have one.
inline constexpr std::size_t kMaxCaptures = 4;

// By default, packets are captured completely, because Wireshark reports a truncated RoCE packet as
// malformed.
inline constexpr std::uint32_t kDefaultSnaplen = 0;
inline constexpr std::uint32_t kMaxSnaplen = 65535;

// A capture ends when no client has read it for this time.
inline constexpr unsigned kCaptureReaderSeconds = 10;

// Names either a VM or an uplink.
struct CaptureSpec {
  std::string vm{};
  std::string uplink{};                     // "vmnic32"
  std::uint32_t snaplen = kDefaultSnaplen;  // bytes of each packet; 0: all
  friend bool operator==(const CaptureSpec&, const CaptureSpec&) = default;
};

// Errors: kInvalidArgument (no name or two, or an impossible one).
Status check_capture(const CaptureSpec& spec);
// The name of what is captured.
const std::string& captured(const CaptureSpec& spec);

struct CaptureInterface {
  std::string name;           // of the adapter: "db1", "db1/2"; of the uplink
  std::uint64_t packets = 0;  // seen
  std::uint64_t dropped = 0;  // the part of them that did not fit into the buffer
  friend bool operator==(const CaptureInterface&, const CaptureInterface&) = default;
};

struct CaptureStatus {
  std::uint64_t id = 0;
  CaptureSpec spec;
  std::vector<CaptureInterface> interfaces;
  bool ended = false;  // no more packets will come: the adapters were removed, or restarted
  friend bool operator==(const CaptureStatus&, const CaptureStatus&) = default;
};

// The packets that were captured since the last read.
struct CapturePackets {
  CaptureStatus status;
  std::string blocks;  // pcapng packet blocks; an interface's number is its place above
};

}  // namespace paravane::model
