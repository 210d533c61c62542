// HostNetwork: what keeps a port group from being deleted, and deleting it.

#include <fmt/core.h>

#include <utility>

#include "host/host_network.h"

namespace paravane::host {

model::ApiResult<void> HostNetwork::delete_port_group(const std::string& name) {
  if (const auto known = inventory_.find_left_out(model::kLeftOutPortGroup, name)) {
    if (auto unused = check_unused(name); !unused) return unused;
    return inventory_.erase_left_out(*known);
  }
  const auto group = model::find_port_group(network_, name);
  if (!group) return std::unexpected(group.error());
  if (auto unused = check_unused(name); !unused) return unused;
  if (auto kept = inventory_.erase_port_group(name); !kept) return kept;
  network_.port_groups.erase(name);
  apply();
  if (!view_) changes_.info("port group {}: deleted", name);
  return {};
}

model::ApiResult<void> HostNetwork::check_unused(const std::string& name) const {
  for (const PortUse& use : uses_()) {
    if (use.port_group != name) continue;
    return model::refuse(
        model::ApiErrorCode::kInUse,
        fmt::format("{} is in port group {}", to_string(use.adapter), name),
        fmt::format("Move it first: paravane vm set {} --adapter {} --port-group none",
                    use.adapter.vm, use.adapter.number));
  }
  if (const std::string vmknic = vmknic_in(name); !vmknic.empty()) {
    return model::refuse(
        model::ApiErrorCode::kInUse, fmt::format("{} is in port group {}", vmknic, name),
        fmt::format("Remove it first: paravane network ip interface remove -i {}", vmknic));
  }
  if (const std::string use = use_elsewhere(name); !use.empty()) {
    return model::refuse(model::ApiErrorCode::kInUse,
                         fmt::format("{} is in port group {}", use, name),
                         "Move it first, on that host: paravane vm set VM --port-group GROUP|none");
  }
  return {};
}

}  // namespace paravane::host
