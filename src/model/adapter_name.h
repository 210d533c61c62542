// AdapterName identifies an adapter by the name of its VM and its number in the VM. It is compared
// and stored as a value. Its text form is for display only and is never parsed.

#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace paravane::model {

struct AdapterName {
  std::string vm;
  std::uint32_t number = 1;  // in the VM; 0: an adapter of a service of the host, which `vm` names

  friend auto operator<=>(const AdapterName&, const AdapterName&) = default;
};

// "db1" for the first adapter of VM db1, "db1/2" for the second. Used in log lines and statistics,
// and as the text from which a default MAC address is derived.
std::string to_string(const AdapterName& name);

}  // namespace paravane::model
