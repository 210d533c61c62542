// HostNetwork: changing and deleting a port group.

#include <fmt/core.h>

#include <utility>

#include "host/host_network.h"

namespace paravane::host {

model::ApiResult<model::PortGroupStatus> HostNetwork::change_port_group(
    const std::string& name, const model::PortGroupChange& change) {
  const auto before = model::find_port_group(network_, name);
  if (!before) return std::unexpected(before.error());
  const model::PortGroup group = model::changed(*before, change);
  if (group == *before) return status_of(group);
  if (auto kept = inventory_.put_port_group(group); !kept) return std::unexpected(kept.error());
  network_.port_groups[name] = group;
  apply();
  if (!view_) log_changed(group);
  return status_of(group);
}

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

}  // namespace paravane::host
