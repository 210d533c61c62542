// LeftOut describes an object that this host has stored but cannot use, because its record is
// damaged. All other objects work without it. The record stays unchanged until an operator removes
// or replaces it.

#pragma once

#include <string>
#include <string_view>

namespace paravane::model {

// Kinds.
inline constexpr std::string_view kLeftOutVm = "vm";
inline constexpr std::string_view kLeftOutSwitch = "switch";
inline constexpr std::string_view kLeftOutPortGroup = "port group";
inline constexpr std::string_view kLeftOutCluster = "cluster";

struct LeftOut {
  std::string kind;    // one of the above, or what a document of the store is
  std::string name;    // as far as it can be read
  std::string reason;  // which record, and what is wrong with it
  std::string remedy;

  friend bool operator==(const LeftOut&, const LeftOut&) = default;
};

// "vm db1". For the cluster, which has no name here, only the kind.
inline std::string name_of(const LeftOut& one) {
  return one.name.empty() ? one.kind : one.kind + " " + one.name;
}

}  // namespace paravane::model
