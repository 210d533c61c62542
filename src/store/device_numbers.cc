#include "store/device_numbers.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace paravane::store {

DeviceNumbers::DeviceNumbers(std::string_view prefix,
                             const std::map<std::string, std::string>& known, DeviceRange range)
    : prefix_(prefix), range_(std::move(range)) {
  for (const auto& [name, identity] : known) {
    if (!name.starts_with(prefix_)) continue;
    unsigned number = 0;
    const char* last = name.data() + name.size();
    const auto [end, error] = std::from_chars(name.data() + prefix_.size(), last, number);
    const bool is_number = error == std::errc() && end == last && number >= range_.first &&
                           number - range_.first < range_.count;
    if (!is_number || find(identity)) continue;
    identities_[number] = identity;
  }
}

std::vector<std::string> DeviceNumbers::name(const std::vector<std::string>& identities) {
  std::vector<std::string> names;
  for (const std::string& identity : identities) {
    auto number = find(identity);
    if (!number) {
      number = choose(identities);
      if (number) {
        if (identities_.contains(*number)) reassigned_.insert(name_of(*number));
        identities_[*number] = identity;
        changes_[name_of(*number)] = identity;
      }
    }
    names.push_back(number ? name_of(*number) : std::string());
  }
  return names;
}

std::map<std::string, std::string> DeviceNumbers::take_changes() {
  return std::exchange(changes_, {});
}

std::set<std::string> DeviceNumbers::take_reassigned() {
  return std::exchange(reassigned_, {});
}

std::set<unsigned> DeviceNumbers::given() const {
  std::set<unsigned> numbers;
  for (const auto& [number, identity] : identities_) numbers.insert(number);
  return numbers;
}

std::optional<unsigned> DeviceNumbers::find(const std::string& identity) const {
  for (const auto& [number, whose] : identities_) {
    if (whose == identity) return number;
  }
  return std::nullopt;
}

std::optional<unsigned> DeviceNumbers::choose(const std::vector<std::string>& present) const {
  std::optional<unsigned> of_gone;
  for (unsigned number = range_.first; number - range_.first < range_.count; ++number) {
    if (range_.barred.contains(number)) continue;
    const auto known = identities_.find(number);
    if (known == identities_.end()) return number;
    if (!of_gone && std::ranges::find(present, known->second) == present.end()) of_gone = number;
  }
  return of_gone;
}

std::string DeviceNumbers::name_of(unsigned number) const {
  return prefix_ + std::to_string(number);
}

}  // namespace paravane::store
