#include "vmm/hot_add.h"

namespace paravane::vmm {

using nlohmann::ordered_json;

std::vector<QmpCommand> hot_add_commands(const AdapterSlot& slot, const std::string& bus,
                                         const NicNetwork& network) {
  std::vector<QmpCommand> commands;
  std::string netdev = network.netdev;
  if (!network.tap.empty() || !network.descriptor.empty()) {
    netdev = slot.netdev_id;
    ordered_json tap = {{"type", "tap"}, {"id", netdev}};
    if (!network.descriptor.empty()) {
      tap["fd"] = network.descriptor;
    } else {
      tap.update({{"ifname", network.tap}, {"script", "no"}, {"downscript", "no"}});
    }
    commands.push_back({.name = "netdev_add", .arguments = tap});
  }
  commands.push_back({.name = "device_add", .arguments = device_of(slot, bus, "0.1")});
  ordered_json nic = {{"driver", "vmxnet3"}, {"id", slot.nic_id}, {"mac", slot.mac},
                      {"bus", bus},          {"addr", "0.0"},     {"multifunction", true}};
  if (!netdev.empty()) nic["netdev"] = netdev;
  commands.push_back({.name = "device_add", .arguments = nic});
  return commands;
}

std::string print(const QmpCommand& command) {
  return print(ordered_json{{"execute", command.name}, {"arguments", command.arguments}});
}

}  // namespace paravane::vmm
