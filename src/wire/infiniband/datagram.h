// Reads and writes packets of an InfiniBand subnet that carry unreliable datagrams: management, and
// IP (IBTA volume 1, chapters 5, 7, 8 and 9). Other packets are refused.
//
// A packet here begins with its local route header and ends with its payload and the padding of it.
// The two checksums that follow on a wire are left out, but LocalRouteHeader::length counts the
// first of them, as it does there.
//
// Pure functions; any thread. Nothing that is read has to be true: what a field may be is checked
// here as far as it decides where the next one stands.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <vector>

#include "wire/infiniband/local_route.h"

namespace paravane::wire::infiniband {

using Gid = std::array<std::uint8_t, 16>;

inline constexpr std::size_t kInvariantCrcBytes = 4;
inline constexpr std::size_t kGlobalRouteBytes = 40;
// Headers without a global route: 8 + 12 + 8.
inline constexpr std::size_t kLeastDatagramBytes = 28;
inline constexpr std::size_t kMostPayloadBytes = 4096;
// That with all headers: a global route, and an immediate of 4.
inline constexpr std::size_t kMostPacketBytes =
    kLeastDatagramBytes + kGlobalRouteBytes + 4 + kMostPayloadBytes;

// Before the payload of a packet of any transport, in the form that packets have here: 8 + 40 + 12
// + 60.
inline constexpr std::size_t kMostHeaderBytes = 120;

struct GlobalRoute {
  Gid source{};
  Gid destination{};
  std::uint32_t flow_label = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;

  friend bool operator==(const GlobalRoute&, const GlobalRoute&) = default;
};

struct DatagramHeaders {
  std::uint16_t source = 0;  // LIDs
  std::uint16_t destination = 0;
  std::uint8_t lane = 0;
  std::uint8_t service_level = 0;
  std::optional<GlobalRoute> global{};
  std::uint16_t partition = 0xFFFF;
  bool is_solicited = false;
  std::uint32_t packet_number = 0;  // 24 bits
  std::uint32_t qkey = 0;
  std::uint32_t source_qp = 0;
  std::uint32_t destination_qp = 0;
  std::optional<std::uint32_t> immediate{};

  friend bool operator==(const DatagramHeaders&, const DatagramHeaders&) = default;
};

struct Datagram {
  DatagramHeaders headers;
  std::span<const std::byte> payload;  // within the packet that was read
};

enum class DatagramRefusal : std::uint8_t {
  kShort,        // ends within its headers, or before the length that it states
  kLong,         // longer than the length that it states, or than a packet or a payload can be
  kVersion,      // of link, network or transport
  kNoTransport,  // raw
  kOpcode,       // not an unreliable datagram's
  kPadding,      // more than there is payload
};

std::expected<Datagram, DatagramRefusal> read_datagram(std::span<const std::byte> packet);

// Replaces `packet` by the headers. REQUIRES: a payload of at most 4096 bytes, numbers within their
// bits.
void write_datagram(const DatagramHeaders& headers, std::span<const std::byte> payload,
                    std::vector<std::byte>& packet);

}  // namespace paravane::wire::infiniband
