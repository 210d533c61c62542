// Impairments: faults that an operator injects on purpose between a VM and its peers, to test how
// programs handle them. Plain values, and the rules for them.
//
// An impairment applies to traffic that the adapters of `vm` initiate: their requests, the
// responses to these, and their datagrams. It is kept in memory only; a daemon starts without any.

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

// What an operator says for every peer that has no impairment of its own.
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

// What a value says by itself; one that does nothing is refused.
// Errors: kInvalidArgument, with the rule.
Status check_impairment(const Impairment& impairment);

// An address as ::1 is written, or as 192.0.2.1, which is the GID ::ffff:192.0.2.1;
// nullopt: it is none. In network order.
std::optional<std::array<std::uint8_t, 16>> parse_gid(std::string_view text);
// One GID has many spellings and one print; what is no GID stays as it is.
std::string canonical_peer(std::string_view peer);

// "0.1%", "25": per cent, with up to four decimals. Errors: kInvalidArgument.
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
