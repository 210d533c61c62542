// Writes the header of an ERF record (Endace's Extensible Record Format), by which a capture file
// carries InfiniBand packets: link type 197, and record type 21 in it. Wireshark and tshark read
// InfiniBand packets from such records alone.
//
// Pure functions; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace paravane::text::erf {

inline constexpr std::size_t kHeaderBytes = 16;

struct InfinibandRecord {
  std::uint64_t timestamp_ns = 0;  // since 1970, UTC
  std::uint16_t kept_bytes = 0;    // of the packet; they follow the header
  std::uint16_t wire_bytes = 0;    // of the packet, with its checksums
};
// REQUIRES: kHeaderBytes + kept_bytes <= 65535.
std::array<std::byte, kHeaderBytes> header_of(const InfinibandRecord& record);

}  // namespace paravane::text::erf
