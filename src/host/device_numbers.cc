#include "host/device_numbers.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <utility>

namespace paravane::host {

DeviceNumbers::DeviceNumbers(std::string_view prefix,
                             const std::map<std::string, std::string>& known)
    : prefix_(prefix) {
  for (const auto& [name, identity] : known) {
    if (!name.starts_with(prefix_)) continue;
    unsigned number = 0;
    const char* last = name.data() + name.size();
    const auto [end, error] = std::from_chars(name.data() + prefix_.size(), last, number);
    if (error != std::errc() || end != last || number >= kMost || find(identity)) continue;
    identities_[number] = identity;
  }
}

std::vector<std::string> DeviceNumbers::name(const std::vector<std::string>& identities) {
  assert(identities.size() <= kMost);
  std::vector<std::string> names;
  for (const std::string& identity : identities) {
    auto number = find(identity);
    if (!number) {
      number = choose(identities);
      identities_[*number] = identity;
      changes_[name_of(*number)] = identity;
    }
    names.push_back(name_of(*number));
  }
  return names;
}

std::map<std::string, std::string> DeviceNumbers::take_changes() {
  return std::exchange(changes_, {});
}

std::optional<unsigned> DeviceNumbers::find(const std::string& identity) const {
  for (const auto& [number, whose] : identities_) {
    if (whose == identity) return number;
  }
  return std::nullopt;
}

unsigned DeviceNumbers::choose(const std::vector<std::string>& present) const {
  unsigned number = 0;
  while (number < kMost && identities_.contains(number)) ++number;
  if (number < kMost) return number;
  for (number = 0; number + 1 < kMost; ++number) {
    if (std::ranges::find(present, identities_.at(number)) == present.end()) break;
  }
  return number;
}

std::string DeviceNumbers::name_of(unsigned number) const {
  return prefix_ + std::to_string(number);
}

}  // namespace paravane::host
