#include "worker/network_rules.h"

#include "worker/segment_id.h"

namespace paravane::worker {

NetworkRules network_rules(const model::Network& network) {
  NetworkRules rules;
  for (const auto& [name, group] : network.port_groups) {
    const auto [known, is_new] = rules.try_emplace(
        segment_of(network, name, {}),
        fabric::Directory::NetworkRules{
            .port_group = name, .native = group.native_roce, .routed = group.routed});
    if (is_new || !group.native_roce) continue;
    if (!known->second.native || !group.routed) {
      known->second = {.port_group = name, .native = true, .routed = group.routed};
    }
  }
  return rules;
}

}  // namespace paravane::worker
