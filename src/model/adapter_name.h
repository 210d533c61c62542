// AdapterName: which adapter of which VM. Compared and kept as a value; the text is made
// where it is shown, and nothing reads it back.

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
