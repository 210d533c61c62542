#include "model/impairment.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "model/vm.h"

namespace paravane::model {
namespace {

constexpr double kPpmPerCent = 10'000;

// ::ffff:0:0/96 (RFC 4291, 2.5.5.2).
constexpr std::size_t kMappedBytes = 12;
constexpr std::array<std::uint8_t, 16> kMappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

struct DelayUnit {
  std::string_view name;
  std::uint64_t us;
};
constexpr std::array kDelayUnits = {DelayUnit{"us", 1}, DelayUnit{"ms", 1'000},
                                    DelayUnit{"s", 1'000'000}};

// Digits, with or without a fraction, up to the end.
std::optional<double> parse_decimal(std::string_view text) {
  if (text.empty() || text.size() > 16 ||
      text.find_first_not_of("0123456789.") != std::string_view::npos) {
    return std::nullopt;
  }
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::array<std::uint8_t, 16>> parse_gid(std::string_view text) {
  std::array<std::uint8_t, 16> gid{};
  if (text.size() >= INET6_ADDRSTRLEN) return std::nullopt;
  const std::string address(text);
  if (::inet_pton(AF_INET6, address.c_str(), gid.data()) == 1) return gid;
  gid = kMappedPrefix;
  if (::inet_pton(AF_INET, address.c_str(), gid.data() + kMappedBytes) == 1) return gid;
  return std::nullopt;
}

std::string canonical_peer(std::string_view peer) {
  const auto gid = parse_gid(peer);
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (!gid || ::inet_ntop(AF_INET6, gid->data(), text.data(), text.size()) == nullptr) {
    return std::string(peer);
  }
  return text.data();
}

Status check_impairment(const Impairment& impairment) {
  if (Status good = check_name(impairment.vm); !good) return good;
  if (!parse_gid(impairment.peer) && !check_name(impairment.peer)) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format(
            "peer \"{}\" must be the name of a VM on this host, a GID, an IPv4 address, or any",
            impairment.peer));
  }
  for (const std::uint32_t share :
       {impairment.loss_ppm, impairment.reorder_ppm, impairment.rnr_ppm}) {
    if (share > kPartsPerMillion) {
      return fail(Errc::kInvalidArgument, "a share of messages must be 0 to 100 %");
    }
  }
  if (impairment.delay_us > kMaxImpairmentDelayUs) {
    return fail(Errc::kInvalidArgument, "a delay must be at most 10 s");
  }
  if (impairment.loss_ppm + impairment.reorder_ppm + impairment.rnr_ppm == 0 &&
      impairment.delay_us == 0) {
    return fail(Errc::kInvalidArgument, "no fault given: use loss, delay, reorder or rnr");
  }
  return {};
}

Result<std::uint32_t> parse_share(std::string_view text) {
  std::string_view digits = text;
  if (digits.ends_with('%')) digits.remove_suffix(1);
  const std::optional<double> percent = parse_decimal(digits);
  if (!percent || *percent > 100) {
    return fail(Errc::kInvalidArgument, fmt::format("{}: a share must be 0% to 100%", text));
  }
  const auto ppm = static_cast<std::uint32_t>(std::lround(*percent * kPpmPerCent));
  if (ppm == 0 && *percent > 0) {
    return fail(Errc::kInvalidArgument, fmt::format("{}: the smallest share is 0.0001%", text));
  }
  return ppm;
}

std::string format_share(std::uint32_t ppm) {
  return fmt::format("{}%", static_cast<double>(ppm) / kPpmPerCent);
}

Result<std::uint64_t> parse_delay_us(std::string_view text) {
  for (const DelayUnit& unit : kDelayUnits) {
    if (!text.ends_with(unit.name)) continue;
    const auto value = parse_decimal(text.substr(0, text.size() - unit.name.size()));
    if (!value) continue;
    const double us = *value * static_cast<double>(unit.us);
    if (us > static_cast<double>(kMaxImpairmentDelayUs)) break;
    const auto whole = static_cast<std::uint64_t>(std::llround(us));
    if (whole == 0 && us > 0) break;
    return whole;
  }
  return fail(Errc::kInvalidArgument,
              fmt::format("{}: a delay must be 1us to 10s, such as 20us, 1.5ms or 2s", text));
}

Result<std::uint64_t> parse_seed(std::string_view text) {
  std::uint64_t seed = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error == std::errc() && rest == text.data() + text.size()) return seed;
  return fail(Errc::kInvalidArgument, fmt::format("{}: a seed must be a whole number from 0 to {}",
                                                  text, std::numeric_limits<std::uint64_t>::max()));
}

std::string format_delay(std::uint64_t us) {
  if (us % 1'000'000 == 0 && us > 0) return fmt::format("{}s", us / 1'000'000);
  if (us % 1'000 == 0 && us > 0) return fmt::format("{}ms", us / 1'000);
  return fmt::format("{}us", us);
}

}  // namespace paravane::model
