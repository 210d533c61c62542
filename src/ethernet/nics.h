// list_nics(): lists the hardware network interfaces (NICs) of this host, and other interfaces that
// the caller requests, with the information that their drivers report. It uses rtnetlink and the
// ioctl of ethtool. The list therefore shows the network namespace of this thread, even if /sys
// shows another namespace.
//
// Blocks until the kernel responds. Nothing is cached between calls.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "ethernet/links.h"
#include "ethernet/nic_pause.h"

namespace paravane::ethernet {

struct Nic {
  std::string name;       // the name in Linux, such as "eth1"
  std::string kind{};     // the kind in rtnetlink, such as "veth"; empty: hardware
  std::string driver{};   // such as "mlx5_core"; empty: not reported
  std::string pci{};      // "0000:03:00.0"; empty: not on PCI
  std::string mac{};      // the present address
  std::string own_mac{};  // the permanent address; empty: it has none
  std::string team{};     // the bond or team that contains it; empty: none
  std::uint32_t mtu = 0;
  std::uint32_t speed_mbps = 0;  // 0: no link, or not known
  bool full_duplex = false;
  bool up = false;                    // enabled by an operator
  bool carrier = false;               // enabled and connected
  std::optional<NicPause> pause{};    // nullopt: the driver reports none
  std::optional<std::uint8_t> pfc{};  // priorities that are paused alone; bit 0: priority 0
  bool dcb = false;                   // the driver has Data Center Bridging

  friend bool operator==(const Nic&, const Nic&) = default;
};

// Lists the interfaces that have a hardware device, the interfaces in `named`, and the interface
// that has the IP address `address` (empty: not requested). Loopback, bridges and taps are never
// listed. The order is that of the kernel. Errors: kIo, kUnsupported.
Result<std::vector<Nic>> list_nics(const std::set<std::string>& named, const std::string& address);

// The names of all interfaces that combine others (bonds and teams), by index.
std::map<int, std::string> teams_of(const std::vector<Link>& links);

}  // namespace paravane::ethernet
