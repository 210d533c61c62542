// Defines plain values for a driver module (ib_module.h) on a host: what an operator has set, what
// of it is in effect, and a change of it. What is set takes effect when the adapters are restarted,
// as with the guide's reboot.

#pragma once

#include <optional>
#include <string>
#include <vector>

namespace paravane::model {

struct IbModuleSetting {
  bool is_enabled = true;
  std::string options{};  // the text, as it was set

  friend bool operator==(const IbModuleSetting&, const IbModuleSetting&) = default;
};

// nullopt: it stays as it is.
struct IbModuleChange {
  std::optional<bool> is_enabled{};
  std::optional<std::string> options{};

  friend bool operator==(const IbModuleChange&, const IbModuleChange&) = default;
};

struct IbModuleStatus {
  std::string name{};         // "ib_ipoib"
  IbModuleSetting setting{};  // from the next restart on
  IbModuleSetting in_effect{};
  // It is enabled, and so is what it needs.
  bool is_loaded = true;
  std::string summary{};                // what it does at the moment: "2 uplinks"
  std::vector<std::string> problems{};  // of what is in effect
  // What the current settings remove at the next restart, and what to do.
  std::vector<std::string> warnings{};

  friend bool operator==(const IbModuleStatus&, const IbModuleStatus&) = default;
};

}  // namespace paravane::model
