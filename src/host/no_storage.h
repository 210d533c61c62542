// NoStorage stands in place of a host's SRP storage adapters while there is no code for them: it
// has none.
//
// Control thread.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/storage_management.h"

namespace paravane::host {

class NoStorage final : public model::StorageManagement {
 public:
  model::ApiResult<std::vector<model::Vmhba>> list_vmhbas() override { return {}; }
  model::ApiResult<model::Vmhba> set_vmhba(const std::string& /*name*/,
                                           const model::VmhbaSetting& /*setting*/) override {
    return no_storage();
  }
  model::ApiResult<void> rescan(const std::optional<std::string>& vmhba) override {
    if (!vmhba) return {};
    return no_storage();
  }
  model::ApiResult<std::vector<model::SrpTargetStatus>> list_srp_targets() override { return {}; }
  model::ApiResult<void> add_srp_target(const model::SrpTarget& /*target*/) override {
    return no_storage();
  }
  model::ApiResult<void> remove_srp_target(const std::string& /*vmhba*/, std::uint32_t /*number*/,
                                           bool /*force*/) override {
    return no_storage();
  }
  model::ApiResult<std::vector<model::ScsiDevice>> list_scsi_devices() override { return {}; }
  model::ApiResult<std::vector<model::LunPath>> list_lun_paths() override { return {}; }

 private:
  static std::unexpected<model::ApiError> no_storage() {
    return model::refuse(model::ApiErrorCode::kNotFound, "this host has no storage adapters",
                         "Add an InfiniBand adapter with: paravane infiniband adapter add");
  }
};

}  // namespace paravane::host
