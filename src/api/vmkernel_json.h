// VMkernel interfaces, advanced settings and firewall rulesets of a host as JSON, for the API and
// for the daemon's database. docs/api.md describes the format.
//
// Stateless, any thread.

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

// Parses a request. Refuses unknown keys and invalid values. Errors: kInvalidArgument.
Result<model::Vmknic> vmknic_from_json(const nlohmann::json& value);
Result<model::VmknicChange> vmknic_change_from_json(const nlohmann::json& value);
Result<model::SettingValue> setting_from_json(const nlohmann::json& value);
Result<model::FirewallRuleset> ruleset_from_json(const nlohmann::json& value);

// Parses a stored value, which a newer version may have written. Ignores unknown keys and refuses
// invalid values. Errors: kInvalidArgument.
Result<model::Vmknic> kept_vmknic_from_json(const nlohmann::json& value);
Result<model::SettingValue> kept_setting_from_json(const nlohmann::json& value);
Result<model::FirewallRuleset> kept_ruleset_from_json(const nlohmann::json& value);

// Parses a response. Errors: kInvalidArgument.
Result<model::VmknicStatus> vmknic_status_from_json(const nlohmann::json& value);
Result<model::VmkernelConfiguration> vmkernel_configuration_from_json(const nlohmann::json& value);

}  // namespace paravane::api
