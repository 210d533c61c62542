#include "rdma/devices.h"

#include "rdma/netlink.h"
#include "rdma/port_mtu.h"
#include "rdma/sysfs.h"

namespace paravane::rdma {
namespace {

constexpr const char* kSysfs = "/sys";

}  // namespace

std::vector<Port> list_ports() {
  const Sysfs sysfs(kSysfs);
  std::vector<Port> ports = sysfs.ports();
  if (ports.empty()) return ports;  // and no library is bothered
  auto netlink = Netlink::open();
  for (Port& port : ports) {
    if (netlink) {
      const std::string paired = netlink->net_device(port.device, port.number);
      if (!paired.empty()) port.net_device = paired;
    }
    port.mtu = active_mtu(port.device, port.number);
  }
  return ports;
}

Result<PortCounters> read_counters(const std::string& device, std::uint32_t port) {
  auto counters = Sysfs(kSysfs).counters(device, port);
  if (!counters) return counters;
  if (auto netlink = Netlink::open()) counters->resources = netlink->resources(device);
  return counters;
}

}  // namespace paravane::rdma
