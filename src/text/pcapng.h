// Writes and reads the blocks of a pcapng capture file (draft-ietf-opsawg-pcapng), which Wireshark
// opens. A file consists of a section header, an interface block for each interface, packet blocks,
// and statistics. All integers are little-endian.
//
// Pure functions; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paravane::text::pcapng {

// `program` is the name and version of the program that writes the file.
void append_section(std::string_view program, std::string& file);
// What a packet of an interface begins with.
enum class LinkType : std::uint16_t {
  kEthernet = 1,
  kErf = 197,  // erf.h
};
// Adds an interface with times in nanoseconds. Interfaces are numbered from 0, in the order in
// which they are added. `snaplen`: with what the link type adds to a packet; 0: no limit.
void append_interface(std::string_view name, LinkType link_type, std::uint32_t snaplen,
                      std::string& file);

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
// Errors: kInvalidArgument (`blocks` are not complete packet blocks of interfaces below
// `interfaces`).
Result<Packets> first_packets(std::string_view blocks, std::uint32_t interfaces, std::size_t limit);

}  // namespace paravane::text::pcapng
