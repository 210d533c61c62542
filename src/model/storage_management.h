// StorageManagement is the interface for an operator's requests about the host's SRP storage
// adapters. It is a part of Management, with the same rules about threads (management.h).

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/api_error.h"
#include "model/storage.h"

namespace paravane::model {

class StorageManagement {
 public:
  virtual ~StorageManagement() = default;

  // In the order of numbers. Errors: kBusy.
  virtual ApiResult<std::vector<Vmhba>> list_vmhbas() = 0;
  // Its targets are logged in anew. REQUIRES: check_vmhba_setting(). Errors: kNotFound (vmhba, port
  // group), kInvalidRequest (an address without native RoCE), kNoSpace, kStore, kBusy.
  virtual ApiResult<Vmhba> set_vmhba(const std::string& name, const VmhbaSetting& setting) = 0;
  // Begins to look for targets and logical units anew: of one vmhba, or of all of them. Errors:
  // kNotFound, kBusy.
  virtual ApiResult<void> rescan(const std::optional<std::string>& vmhba) = 0;
  // Whether rescan() is still at it. Errors: kBusy.
  virtual ApiResult<bool> is_scanning(const std::optional<std::string>& vmhba) = 0;

  virtual ApiResult<std::vector<SrpTargetStatus>> list_srp_targets() = 0;
  // Errors: kNotFound (vmhba), kExists, kLimitReached, kNoSpace, kStore.
  virtual ApiResult<void> add_srp_target(const SrpTarget& target) = 0;
  // By its vmhba and its number. Errors: kNotFound (also: it was not named), kInUse (a VM's disk
  // has no other path; without `force`), kNoSpace, kStore.
  virtual ApiResult<void> remove_srp_target(const std::string& vmhba, std::uint32_t number,
                                            bool force) = 0;

  // Devices with their paths, in the order of names. Errors: kBusy.
  virtual ApiResult<std::vector<ScsiDevice>> list_scsi_devices() = 0;
  // All paths, also those of logical units that are not offered. Errors: kBusy.
  virtual ApiResult<std::vector<LunPath>> list_lun_paths() = 0;
};

}  // namespace paravane::model
