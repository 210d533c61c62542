// What commands about storage adapters do, under whichever of their names they were typed. Each
// prints what it did or failed to do.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "model/storage.h"

namespace paravane::cli {

// Paths of this host, with the devices that they lead to.
struct StoragePaths {
  std::vector<model::LunPath> paths{};
  std::vector<model::ScsiDevice> devices{};
};

// Empty members choose all.
struct StorageChoice {
  std::string device{};  // "naa.6001405..."
  std::string path{};    // "vmhba32:C0:T0:L0", or its UID
};

// Those that are chosen. Errors: also kNotFound, if a device or a path is named that is not there.
model::ApiResult<std::vector<model::ScsiDevice>> chosen_devices(api::ApiClient& client,
                                                                const StorageChoice& choice);
model::ApiResult<StoragePaths> chosen_paths(api::ApiClient& client, const StorageChoice& choice);

// Says on stderr why there are no storage adapters, or that they have no LUNs.
void note_no_vmhbas(api::ApiClient& client, const Context& context);
void note_no_luns(api::ApiClient& client, const Context& context);

// nullopt: all storage adapters.
ExitStatus rescan_vmhbas(const std::optional<std::string>& vmhba, const Context& context);
ExitStatus list_storage_adapters(const Context& context);

}  // namespace paravane::cli
