// DeviceNumbers: assigns a permanent number to each device of this host: a device that is found
// again, after a restart or in another slot, keeps its number.
//
// One thread.

#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paravane::host {

class DeviceNumbers {
 public:
  static constexpr std::size_t kMost = 256;  // are remembered

  // `prefix`: "vmnic"; `known`: what was remembered, by name ("vmnic0"). Names that are
  // none of ours are passed by.
  DeviceNumbers(std::string_view prefix, const std::map<std::string, std::string>& known);

  // The names of what is there now, in the order given. What was never seen gets the least
  // free number; when there is none left, that of something that is gone.
  // REQUIRES: no identity twice, and no more of them than kMost.
  std::vector<std::string> name(const std::vector<std::string>& identities);

  // Names that were given since the last call, with whose they are.
  std::map<std::string, std::string> take_changes();

 private:
  std::optional<unsigned> find(const std::string& identity) const;
  unsigned choose(const std::vector<std::string>& present) const;
  std::string name_of(unsigned number) const;

  std::string prefix_;
  std::map<unsigned, std::string> identities_;
  std::map<std::string, std::string> changes_;
};

}  // namespace paravane::host
