// pcapng: the blocks of a capture file for Wireshark (draft-ietf-opsawg-pcapng). A file consists
// of a section header, an interface block for each interface, packet blocks, and statistics at the
// end, all little-endian.
//
// Pure; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paravane::text::pcapng {

// `program` is what made it, with its version.
void append_section(std::string_view program, std::string& file);
// Its number is how many were before it. Ethernet, times in nanoseconds.
void append_interface(std::string_view name, std::uint32_t snaplen, std::string& file);

struct Packet {
  std::uint32_t interface = 0;
  std::uint64_t timestamp_ns = 0;  // since 1970, UTC
  std::uint32_t original_bytes = 0;
  std::uint64_t dropped_before = 0;  // since the interface's packet before
  bool is_outbound = false;
};
void append_packet(const Packet& packet, std::span<const std::byte> bytes, std::string& file);

struct Statistics {
  std::uint32_t interface = 0;
  std::uint64_t from_ns = 0;  // of the capture
  std::uint64_t to_ns = 0;
  std::uint64_t received = 0;
  std::uint64_t dropped = 0;
};
void append_statistics(const Statistics& statistics, std::string& file);

struct InterfacePackets {
  std::uint64_t kept = 0;
  std::uint64_t dropped = 0;  // before each of them
  friend bool operator==(const InterfacePackets&, const InterfacePackets&) = default;
};

// The first packets of some packet blocks.
struct Packets {
  std::size_t count = 0;
  std::size_t bytes = 0;                     // that they take
  std::vector<InterfacePackets> interfaces;  // by number
};
// Errors: kInvalidArgument: they are not whole packet blocks, of interfaces below
// `interfaces`.
Result<Packets> first_packets(std::string_view blocks, std::uint32_t interfaces, std::size_t limit);

}  // namespace paravane::text::pcapng
