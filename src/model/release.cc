#include "model/release.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

namespace paravane::model {
namespace {

using Version = std::array<std::uint32_t, 3>;

struct Feature {
  std::string_view since;  // the first release that has it
  std::string_view name;
};

constexpr std::array kFeatures = {
    Feature{"0.2.0", "members identified by their keys"},
    Feature{"0.2.0", "detection of an outdated inventory"},
    Feature{"0.2.0", "new etcd passwords issued by the authority"},
    Feature{"0.2.0", "sealed payload without encryption ([channel] seal = \"all\")"},
};

constexpr std::string_view kFirstWithProbes = "0.3.0";

std::optional<Version> parse_version(std::string_view text) {
  Version version{};
  for (std::uint32_t& part : version) {
    const char* const start = text.data();
    const auto [rest, error] = std::from_chars(start, start + text.size(), part);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(rest - start));
    const bool is_last = &part == &version.back();
    if (is_last != text.empty()) return std::nullopt;
    if (is_last) break;
    if (text.front() != '.') return std::nullopt;
    text.remove_prefix(1);
  }
  return version;
}

}  // namespace

bool is_older_version(std::string_view a, std::string_view b) {
  const auto first = parse_version(a);
  const auto second = parse_version(b);
  return first && second && *first < *second;
}

bool answers_probes(std::string_view version) {
  return !is_older_version(version, kFirstWithProbes);
}

std::vector<std::string_view> lacked_by(std::string_view version) {
  std::vector<std::string_view> lacked;
  for (const Feature& feature : kFeatures) {
    if (is_older_version(version, feature.since)) lacked.push_back(feature.name);
  }
  return lacked;
}

}  // namespace paravane::model
