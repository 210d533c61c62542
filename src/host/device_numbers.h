// DeviceNumbers assigns a permanent number to each device of this host, as in "vmnic0". A device
// keeps its number when it is found again after a restart or in another slot.
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
  static constexpr std::size_t kMost = 256;  // devices that are remembered

  // `prefix`: for example "vmnic"; `known`: the identities of earlier devices, by name ("vmnic0").
  // Names without the prefix are ignored.
  DeviceNumbers(std::string_view prefix, const std::map<std::string, std::string>& known);

  // Returns the names of the devices that are present, in the given order. A new device gets the
  // lowest free number or, if all numbers are in use, the number of a device that is no longer
  // present. REQUIRES: identities are unique, and there are at most kMost.
  std::vector<std::string> name(const std::vector<std::string>& identities);

  // Names that were assigned since the last call, each with the identity of its device.
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
