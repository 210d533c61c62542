#include "rdma/devices.h"

#include "rdma/netlink.h"
#include "rdma/port_verbs.h"
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
    if (!read_by_verbs(port)) sysfs.read_gids(port);
    if (port.iwarp) port.roce_v1 = port.roce_v2 = false;  // its GID table says "IB/RoCE v1"
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
