// Defines plain values for impairments, and the rules for them. An impairment is a fault, such as
// loss or delay, that an operator injects into the traffic between a VM and its peers to test how
// programs handle it.
//
// An impairment of `vm` applies to the traffic that the VM's adapters initiate. This traffic
// consists of their requests, the responses to these requests, and their datagrams. An impairment
// exists only in memory, so it does not survive a restart of the daemon.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paravane::model {

inline constexpr std::uint32_t kPartsPerMillion = 1'000'000;
inline constexpr std::uint64_t kMaxImpairmentDelayUs = 10'000'000;  // 10 s
inline constexpr std::size_t kMaxImpairments = 64;

// The word for all peers that have no impairment of their own.
inline constexpr std::string_view kAnyPeer = "any";

struct Impairment {
  std::string vm;
  std::string peer{kAnyPeer};  // a VM of this host, a GID as it is printed, or "any"
  // Shares of messages, in parts per million.
  std::uint32_t loss_ppm = 0;
  std::uint32_t reorder_ppm = 0;
  std::uint32_t rnr_ppm = 0;
  std::uint64_t delay_us = 0;
  std::uint64_t seed = 1;

  friend bool operator==(const Impairment&, const Impairment&) = default;
};

// Checks a value without knowing any other objects. An impairment without any effect is refused.
// Errors: kInvalidArgument, with the rule.
Status check_impairment(const Impairment& impairment);

// Parses a GID that is written as an IPv6 address, or as an IPv4 address such as 192.0.2.1, which
// means the GID ::ffff:192.0.2.1. The result is in network order; nullopt: `text` is not a GID.
std::optional<std::array<std::uint8_t, 16>> parse_gid(std::string_view text);
// Converts a GID, which can be written in many ways, to its standard form. Any other text is
// returned unchanged.
std::string canonical_peer(std::string_view peer);

// Parses a percentage with up to four decimals, such as "0.1%" or "25", and returns parts per
// million. Errors: kInvalidArgument.
Result<std::uint32_t> parse_share(std::string_view text);
std::string format_share(std::uint32_t ppm);  // "0.1%"
// "20us", "1.5ms", "2s". Errors: kInvalidArgument.
Result<std::uint64_t> parse_delay_us(std::string_view text);
std::string format_delay(std::uint64_t us);

// Errors: kInvalidArgument.
Result<std::uint64_t> parse_seed(std::string_view text);

struct ImpairmentStatus {
  Impairment spec;
  // Since it was set.
  std::uint64_t messages = 0;
  std::uint64_t lost = 0;
  std::uint64_t answers_lost = 0;
  std::uint64_t delayed = 0;
  std::uint64_t reordered = 0;
  std::uint64_t rnr = 0;

  friend bool operator==(const ImpairmentStatus&, const ImpairmentStatus&) = default;
};

}  // namespace paravane::model
