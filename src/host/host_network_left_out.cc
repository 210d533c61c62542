// HostNetwork: switches and port groups whose records are damaged.

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "host/host_network.h"
#include "host/refusals.h"

namespace paravane::host {

std::vector<model::LeftOut> HostNetwork::left_out() const {
  std::vector<model::LeftOut> list = inventory_.left_out();
  std::erase_if(list, [](const model::LeftOut& one) {
    return one.kind != model::kLeftOutSwitch && one.kind != model::kLeftOutPortGroup;
  });
  // A switch goes after its port groups, and comes before them.
  std::ranges::sort(list, {}, [](const model::LeftOut& one) {
    return std::pair(one.kind == model::kLeftOutSwitch, one.name);
  });
  return list;
}

// The copy here is for a start without the cluster, which has the original.
void HostNetwork::mend_left_out(const model::Network& network) {
  const std::vector<model::LeftOut> list = left_out();
  for (const model::LeftOut& one : list) {
    const auto gone = inventory_.erase_left_out(one);
    if (gone) {
      changes_.info("{}: its damaged record on this host was restored from the cluster",
                    name_of(one));
    } else {
      changes_.error("{}: its record on this host is damaged: {}", name_of(one),
                     gone.error().message);
    }
  }
  if (list.empty()) return;
  const auto tell = [this](const model::ApiResult<void>& kept) {
    if (!kept)
      changes_.error("cannot save the cluster's switches on this host: {}", kept.error().message);
  };
  for (const auto& [name, vds] : network.switches) tell(inventory_.put_switch(vds));
  for (const auto& [name, group] : network.port_groups) tell(inventory_.put_port_group(group));
}

model::ApiResult<void> HostNetwork::check_not_left_out(std::string_view kind,
                                                       const std::string& name) const {
  if (const auto known = inventory_.find_left_out(kind, name)) return is_left_out(*known);
  return {};
}

}  // namespace paravane::host
