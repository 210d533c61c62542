// DeviceNumbers assigns a permanent number to each device of this host, as in "vmnic0". A device
// keeps its number when it is found again after a restart or in another slot. The caller stores the
// numbers.
//
// One thread.

#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace paravane::store {

// The numbers that there are for a kind of devices. Each is remembered.
struct DeviceRange {
  unsigned first = 0;
  unsigned count = 256;
  std::set<unsigned> barred{};  // given to no new device
};

class DeviceNumbers {
 public:
  // `prefix`: for example "vmnic"; `known`: the identities of earlier devices, by name ("vmnic0").
  // Names without the prefix, and numbers out of `range`, are ignored. A device that has a barred
  // number keeps it.
  DeviceNumbers(std::string_view prefix, const std::map<std::string, std::string>& known,
                DeviceRange range = {});

  // Returns the names of the devices that are present, in the given order. A new device gets the
  // lowest free number or, if all numbers are in use, the number of a device that is no longer
  // present. Its name is empty if all numbers belong to devices that are present. REQUIRES:
  // identities are unique.
  std::vector<std::string> name(const std::vector<std::string>& identities);

  // Names that were assigned since the last call, each with the identity of its device.
  std::map<std::string, std::string> take_changes();

  // Those of them whose number was another device's before, since the last call.
  std::set<std::string> take_reassigned();
  // A name that was assigned could not be stored: take_changes() gives it again.
  void keep_again(const std::string& name, const std::string& identity) {
    changes_.emplace(name, identity);
  }

  // All numbers that a device has or had.
  std::set<unsigned> given() const;

 private:
  std::optional<unsigned> find(const std::string& identity) const;
  // nullopt: each is one of a device that is present, or barred.
  std::optional<unsigned> choose(const std::vector<std::string>& present) const;
  std::string name_of(unsigned number) const;

  std::string prefix_;
  DeviceRange range_;
  std::map<unsigned, std::string> identities_;
  std::map<std::string, std::string> changes_;
  std::set<std::string> reassigned_;
};

}  // namespace paravane::store
