#include "host/hca_choice.h"

#include <fmt/core.h>

#include <algorithm>

namespace paravane::host {
namespace {

HcaChoice none(std::string why) {
  return {.why = std::move(why)};
}

std::string shown(const model::Machine& machine, const std::string& linux_name) {
  const auto nic = std::ranges::find(machine.nics, linux_name, &model::PhysicalNic::linux_name);
  return nic == machine.nics.end() ? linux_name : model::shown_nic(*nic);
}

}  // namespace

HcaChoice choose_hca(const ChannelNic& nic, const model::Machine& machine) {
  if (nic.linux_name.empty() && nic.vds.empty()) return none("no NIC has the channel's address");
  if (nic.linux_name.empty()) return none(fmt::format("switch {} has no uplink here", nic.vds));
  const auto device =
      std::ranges::find(machine.rdma_devices, nic.linux_name, &model::RdmaDevice::paired_link);
  if (device == machine.rdma_devices.end()) {
    return none(fmt::format("{} has no RDMA adapter", shown(machine, nic.linux_name)));
  }
  return {.device = device->linux_name, .port = device->port, .address = nic.address};
}

}  // namespace paravane::host
