// NICs: the hardware network interfaces of this host, plus those requested by name, with what
// their drivers report. Uses rtnetlink and ethtool's ioctl, so it sees this thread's network
// namespace whatever is mounted at /sys.
//
// Blocks for as long as the kernel takes. Nothing is cached between calls.

#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "ethernet/links.h"

namespace paravane::ethernet {

struct Nic {
  std::string name;       // Linux's: "eth1"
  std::string kind{};     // rtnetlink's, "veth"; empty: hardware
  std::string driver{};   // "mlx5_core"; empty: it does not say
  std::string pci{};      // "0000:03:00.0"; empty: not on PCI
  std::string mac{};      // as it is now
  std::string own_mac{};  // as it was made; empty: it has none of its own
  std::string team{};     // the bond or team that it is in; empty: none
  std::uint32_t mtu = 0;
  std::uint32_t speed_mbps = 0;  // 0: no link, or not known
  bool full_duplex = false;
  bool up = false;       // switched on by its operator
  bool carrier = false;  // and something is at the other end

  friend bool operator==(const Nic&, const Nic&) = default;
};

// Interfaces with a device behind them, those of `named`, and the one that holds
// `address` (an IP address; empty: not requested). Never loopback, bridges or taps. In the
// order of the kernel. Errors: kIo, kUnsupported.
Result<std::vector<Nic>> list_nics(const std::set<std::string>& named, const std::string& address);

// Of all interfaces, the names of those that are teams of others (bonds too), by index.
std::map<int, std::string> teams_of(const std::vector<Link>& links);

}  // namespace paravane::ethernet
