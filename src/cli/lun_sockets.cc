#include "cli/lun_sockets.h"

#include <filesystem>
#include <vector>

namespace paravane::cli {

model::LunSockets lun_sockets_of(const model::VmStatus& vm, const Context& context) {
  if (!model::has_luns(vm.spec)) return {};
  const auto devices = context.client().list_scsi_devices();
  // LUNs are served beside the adapters.
  const std::filesystem::path beside = vm.adapters.empty() ? "" : vm.adapters.front().socket;
  return model::lun_sockets(vm.spec, devices.value_or(std::vector<model::ScsiDevice>()),
                            beside.parent_path().string());
}

}  // namespace paravane::cli
