// VMkernel interfaces, advanced settings and firewall rulesets as JSON: docs/api.md.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "control/vmkernel.h"

namespace paravane::control {

nlohmann::json to_json(const Vmknic& vmknic);
nlohmann::json to_json(const VmknicStatus& status);
nlohmann::json to_json(const VmknicChange& change);
nlohmann::json to_json(const SettingValue& setting);
nlohmann::json to_json(const FirewallRuleset& ruleset);
nlohmann::json to_json(const VmkernelConfiguration& configuration);

// Of requests: every key known, and the value's own rules hold. Errors: kInvalidArgument.
Result<Vmknic> vmknic_from_json(const nlohmann::json& value);
Result<VmknicChange> vmknic_change_from_json(const nlohmann::json& value);
Result<SettingValue> setting_from_json(const nlohmann::json& value);
Result<FirewallRuleset> ruleset_from_json(const nlohmann::json& value);

// Of answers. Errors: kInvalidArgument.
Result<VmknicStatus> vmknic_status_from_json(const nlohmann::json& value);
Result<VmkernelConfiguration> vmkernel_configuration_from_json(const nlohmann::json& value);

}  // namespace paravane::control
