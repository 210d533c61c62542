#include "impairment.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace paravane::lab {
namespace {

// SplitMix64's output function: neighbours have nothing to do with each other.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// 0 to 1, without 1. `question`: so that answers about one frame are independent.
double chance(std::uint64_t seed, unsigned direction, std::uint64_t number, unsigned question) {
  const std::uint64_t stream = mix(seed + 0x9E3779B97F4A7C15u * (1 + 8 * direction + question));
  return static_cast<double>(mix(stream + number * 0x9E3779B97F4A7C15u) >> 11) * 0x1p-53;
}

struct Unit {
  std::string_view name;
  double factor;
};

// A number and one of the units.
template <std::size_t N>
std::optional<double> read_number(std::string_view text, const std::array<Unit, N>& units) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str() || !std::isfinite(number) || number < 0) return std::nullopt;
  const std::string_view unit = end;
  for (const Unit& known : units) {
    if (known.name == unit) return number * known.factor;
  }
  return std::nullopt;
}

constexpr std::array kShares = {Unit{"", 1}, Unit{"%", 0.01}};
constexpr std::array kTimes = {Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9},
                               Unit{"", 1e9}};
constexpr std::array kRates = {Unit{"", 1}, Unit{"kbit", 1e3}, Unit{"mbit", 1e6},
                               Unit{"gbit", 1e9}};
constexpr std::array kCounts = {Unit{"", 1}};

constexpr double kLongestNs = 3600e9;

std::optional<std::string> set_share(std::string_view value, double& share) {
  const auto number = read_number(value, kShares);
  if (!number || *number > 1) return "is a share, such as 1% or 0.01";
  share = *number;
  return std::nullopt;
}

std::optional<std::string> set_time(std::string_view value, Duration& time) {
  const auto number = read_number(value, kTimes);
  if (!number || *number > kLongestNs) return "is a time of up to an hour, such as 20us or 1.5s";
  time = Duration(static_cast<std::int64_t>(*number));
  return std::nullopt;
}

}  // namespace

Fate fate_of(const Impairment& impairment, std::uint64_t seed, unsigned direction,
             std::uint64_t number) {
  Fate fate;
  fate.lost = chance(seed, direction, number, 0) < impairment.loss;
  fate.twice = chance(seed, direction, number, 1) < impairment.duplicate;
  if (chance(seed, direction, number, 2) < impairment.reorder) {
    const double share = chance(seed, direction, number, 3);
    fate.late = Duration(
        1 + static_cast<std::int64_t>(share * static_cast<double>(impairment.reorder_by.count())));
  }
  if (chance(seed, direction, number, 4) < impairment.damage) {
    fate.damaged_at = chance(seed, direction, number, 5);
  }
  return fate;
}

std::optional<std::string> set_impairment(std::string_view name, std::string_view value,
                                          Impairment& impairment) {
  if (name == "loss") return set_share(value, impairment.loss);
  if (name == "duplicate") return set_share(value, impairment.duplicate);
  if (name == "reorder") return set_share(value, impairment.reorder);
  if (name == "damage") return set_share(value, impairment.damage);
  if (name == "reorder-by") return set_time(value, impairment.reorder_by);
  if (name == "delay") return set_time(value, impairment.delay);
  if (name == "rate") {
    const auto number = read_number(value, kRates);
    if (!number || *number > 1e12) return "is bits per second, such as 100mbit or 1gbit";
    impairment.rate = static_cast<std::uint64_t>(*number);
    return std::nullopt;
  }
  if (name == "damage-from") {
    const auto number = read_number(value, kCounts);
    if (!number || *number > 65'535) return "is a number of bytes, 0 to 65535";
    impairment.damage_from = static_cast<std::size_t>(*number);
    return std::nullopt;
  }
  if (name == "queue") {
    const auto number = read_number(value, kCounts);
    if (!number || *number < 1 || *number > 1e6) return "is a number of frames, 1 to 1000000";
    impairment.queue = static_cast<std::size_t>(*number);
    return std::nullopt;
  }
  return "is no property of a wire";
}

}  // namespace paravane::lab
