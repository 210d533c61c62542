#include "host/device_uses.h"

#include <algorithm>

namespace paravane::host {
namespace {

// A NIC is the uplink of one switch at most.
std::string switch_over(const std::string& nic, const model::Network& network,
                        const std::string& host) {
  if (nic.empty()) return {};
  for (const auto& [name, vds] : network.switches) {
    const std::vector<std::string> uplinks = model::uplinks_of(vds, host);
    if (std::ranges::find(uplinks, nic) != uplinks.end()) return name;
  }
  return {};
}

}  // namespace

void add_uses(const std::vector<worker::OpenTrunk>& trunks, const model::Network& network,
              const std::string& host, std::vector<model::RdmaDevice>& devices) {
  for (model::RdmaDevice& device : devices) {
    device.uplink_of = switch_over(device.paired_link, network, host);
    device.trunks.clear();
    for (const worker::OpenTrunk& trunk : trunks) {
      if (trunk.device == device.linux_name && trunk.port == device.port) {
        device.trunks.push_back(trunk.host);
      }
    }
  }
}

}  // namespace paravane::host
