#include "cli/ib_nics.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "model/ib_device.h"
#include "model/ib_port_types.h"

namespace paravane::cli {
namespace {

constexpr std::uint32_t kStandardMtu = 1500;

std::string device_text(const std::string& device) {
  const auto known = model::find_ib_device(device);
  return known ? fmt::format("{} [{}]", device, known->description) : device;
}

model::PhysicalNic nic_of(const model::IbUplink& uplink) {
  const bool is_up = uplink.rate_gbps != 0;
  return {.name = uplink.name,
          .driver = "ib_ipoib",
          .mac = model::format_mac(uplink.mac),
          .description = fmt::format("{} ({})", device_text(uplink.device), uplink.name),
          .mtu = uplink.mtu == 0 ? kStandardMtu : uplink.mtu,
          .speed_mbps = uplink.rate_gbps * 1000,
          .full_duplex = is_up,
          .up = true,
          .carrier = is_up};
}

// What it stands for, under its own name.
model::PhysicalNic nic_of(const std::vector<model::PhysicalNic>& nics,
                          const model::IbAdapter& adapter, const model::IbPort& port) {
  model::PhysicalNic nic;
  const auto found = std::ranges::find(nics, port.nic, &model::PhysicalNic::linux_name);
  const bool is_there = !port.nic.empty() && found != nics.end();
  if (is_there) nic = *found;
  nic.name = model::ib_ethernet_name(adapter.bus, port.number);
  nic.description =
      fmt::format("{} ({})", device_text(adapter.device),
                  is_there ? model::shown_nic(*found) : "stands for no NIC of this host");
  if (!is_there) nic.driver = "mlx4_en";
  return nic;
}

}  // namespace

std::vector<model::PhysicalNic> with_ib_nics(std::vector<model::PhysicalNic> nics,
                                             const std::vector<model::IbUplink>& uplinks,
                                             const std::vector<model::IbAdapterStatus>& adapters) {
  std::vector<model::PhysicalNic> added;
  for (const model::IbAdapterStatus& adapter : adapters) {
    for (const model::IbPort& port : adapter.ports) {
      if (port.type == model::IbPortType::kEthernet)
        added.push_back(nic_of(nics, adapter.adapter, port));
    }
  }
  for (const model::IbUplink& uplink : uplinks) added.push_back(nic_of(uplink));
  nics.insert(nics.end(), added.begin(), added.end());
  return nics;
}

}  // namespace paravane::cli
