// AdapterName: identifies an adapter by its VM and number. Compared and stored as a value; text is
// made only for display, and is never parsed.

#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace paravane::model {

struct AdapterName {
  std::string vm;
  std::uint32_t number = 1;  // in the VM

  friend auto operator<=>(const AdapterName&, const AdapterName&) = default;
};

// "db1" for the first, "db1/2": in log lines, statistics and chosen addresses.
std::string to_string(const AdapterName& name);

}  // namespace paravane::model
