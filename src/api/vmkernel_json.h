// VMkernel interfaces, advanced settings and firewall rulesets as JSON. docs/api.md describes
// them.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/vmkernel.h"

namespace paravane::api {

nlohmann::json to_json(const model::Vmknic& vmknic);
nlohmann::json to_json(const model::VmknicStatus& status);
nlohmann::json to_json(const model::VmknicChange& change);
nlohmann::json to_json(const model::SettingValue& setting);
nlohmann::json to_json(const model::FirewallRuleset& ruleset);
nlohmann::json to_json(const model::VmkernelConfiguration& configuration);

// Of requests: every key known, and the value's own rules hold. Errors: kInvalidArgument.
Result<model::Vmknic> vmknic_from_json(const nlohmann::json& value);
Result<model::VmknicChange> vmknic_change_from_json(const nlohmann::json& value);
Result<model::SettingValue> setting_from_json(const nlohmann::json& value);
Result<model::FirewallRuleset> ruleset_from_json(const nlohmann::json& value);

// As kept by a program that may be newer: unknown keys are passed by, and the value's own rules
// hold. Errors: kInvalidArgument.
Result<model::Vmknic> kept_vmknic_from_json(const nlohmann::json& value);
Result<model::SettingValue> kept_setting_from_json(const nlohmann::json& value);
Result<model::FirewallRuleset> kept_ruleset_from_json(const nlohmann::json& value);

// Of answers. Errors: kInvalidArgument.
Result<model::VmknicStatus> vmknic_status_from_json(const nlohmann::json& value);
Result<model::VmkernelConfiguration> vmkernel_configuration_from_json(const nlohmann::json& value);

}  // namespace paravane::api
