// A host's SRP storage adapters (vmhbas), their targets, paths and LUNs as JSON, for the API and
// for the daemon's database. docs/api.md describes the format.
//
// GUIDs, service IDs and extensions are strings in hexadecimal, as in infiniband_json.h.
//
// Stateless, any thread.

#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/storage.h"

namespace paravane::api {

nlohmann::json to_json(const model::VmhbaSetting& setting);
nlohmann::json to_json(const model::Vmhba& vmhba);
nlohmann::json to_json(const model::SrpTarget& target);
nlohmann::json to_json(const model::SrpTargetStatus& status);
nlohmann::json to_json(const model::LunPath& path);
nlohmann::json to_json(const model::ScsiDevice& device);

// What is scanned anew; without a vmhba: all of them.
struct RescanRequest {
  std::optional<std::string> vmhba{};

  friend bool operator==(const RescanRequest&, const RescanRequest&) = default;
};
nlohmann::json to_json(const RescanRequest& request);
// Whether a scan goes on: {"is_running": true}.
nlohmann::json rescan_status_to_json(bool is_running);

// Parses a request. Refuses unknown keys and invalid values. Errors: kInvalidArgument.
Result<model::VmhbaSetting> vmhba_setting_from_json(const nlohmann::json& value);
Result<model::SrpTarget> srp_target_from_json(const nlohmann::json& value);
Result<RescanRequest> rescan_request_from_json(const nlohmann::json& value);

// ---- Documents of the store ----
// Of kind kVmhbaKind, by the vmhba's name: its setting. Of kind kSrpTargetKind, by
// srp_target_document(): a target that an operator named. Of kind kVmhbaNumberKind, by the vmhba's
// name: {"identity": ...}, for store::DeviceNumbers.
inline constexpr const char* kVmhbaKind = "vmhba";
inline constexpr const char* kVmhbaNumberKind = "vmhba_number";
inline constexpr const char* kSrpTargetKind = "srp_target";
// "vmhba32.0" of target 0 at vmhba32.
std::string srp_target_document(const std::string& vmhba, std::uint32_t number);

// Parses a stored value, which a newer version may have written. Ignores unknown keys and refuses
// invalid values. Errors: kInvalidArgument.
Result<model::VmhbaSetting> kept_vmhba_setting_from_json(const nlohmann::json& value);
Result<model::SrpTarget> kept_srp_target_from_json(const nlohmann::json& value);

// Parses a response. Errors: kInvalidArgument.
Result<bool> rescan_status_from_json(const nlohmann::json& value);
Result<model::Vmhba> vmhba_from_json(const nlohmann::json& value);
Result<model::SrpTargetStatus> srp_target_status_from_json(const nlohmann::json& value);
Result<model::LunPath> lun_path_from_json(const nlohmann::json& value);
Result<model::ScsiDevice> scsi_device_from_json(const nlohmann::json& value);

}  // namespace paravane::api
