// Links: the network interfaces of this network namespace, through rtnetlink: a listing, and the
// few changes that a Linux bridge needs. Every call asks the kernel; nothing is cached.
//
// Blocks for as long as the kernel takes. One thread.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ipv4_interface.h"
#include "base/result.h"

namespace paravane::ethernet {

class RtnlSocket;

struct Link {
  int index = 0;
  std::string name;
  std::string kind;  // "bridge", "tun", "veth", ...; empty: a NIC
  std::string mark;  // its alias, which anybody may set
  int master = 0;    // the bridge that it is a port of; 0: none
  std::uint32_t mtu = 0;
  bool up = false;
  bool loopback = false;
  bool ethernet = false;       // it carries frames with MAC addresses
  bool filters_vlans = false;  // a bridge
  bool carrier = false;        // up, and something is at the other end
  bool silent = false;         // as after forbid_ipv4()
  std::string mac{};           // "02:00:00:00:00:01"; empty: it has none
  std::string own_mac{};       // as it was made, for good; empty: it has none of its own
  // The device behind it ("0000:03:00.0") and its bus ("pci"); empty: it is the kernel's own.
  std::string parent{};
  std::string parent_bus{};
};

// The VLANs of a port, each with how a frame leaves: 1 to 4094.
struct PortVlans {
  std::uint16_t pvid = 0;                         // of untagged frames that come in; 0: none
  std::map<std::uint16_t, bool> untagged_by_vid;  // true: its frames leave without a tag

  friend bool operator==(const PortVlans&, const PortVlans&) = default;
};

// An interface that has an address.
struct Holder {
  Link link;
  std::optional<Ipv4Interface> ipv4{};  // the address with its network; nullopt: it is IPv6
};

class Links {
 public:
  // Errors: kIo.
  static Result<Links> open();
  ~Links();
  Links(Links&&) noexcept;
  Links& operator=(Links&&) noexcept;

  // Errors of all that follows: kUnsupported (this kernel has no such thing), kIo; with
  // what the kernel says.
  Result<std::vector<Link>> list();
  // The addresses that other hosts reach an interface by ("10.0.0.1"), by its index.
  Result<std::map<int, std::vector<std::string>>> addresses();
  // IPv4 alone, with their networks.
  Result<std::map<int, std::vector<Ipv4Interface>>> ipv4_addresses();
  // Of every port of every bridge, by its index.
  Result<std::map<int, PortVlans>> port_vlans();

  // Down, without a port. A kernel whose bridge cannot filter VLANs refuses, or makes one
  // that does not: look at Link::filters_vlans.
  Status add_bridge(const std::string& name, bool vlan_aware);
  // Two interfaces, both down: what enters one leaves the other.
  Status add_pair(const std::string& name, const std::array<std::uint8_t, 6>& mac,
                  const std::string& other);
  Status remove(int index);

  Status set_mark(int index, const std::string& mark);
  Status set_master(int index, int master);
  Status set_mtu(int index, std::uint32_t mtu);
  Status set_up(int index);
  Status add_address(int index, const Ipv4Interface& address);
  Status remove_address(int index, const Ipv4Interface& address);
  // So that this host says nothing on it by itself. A host without IPv6 has nothing to say.
  Status forbid_own_address(int index);
  // So that this host, for an address that it has elsewhere, answers no question of ARP on it
  // and takes no packet from it. REQUIRES: it has no address of its own.
  Status forbid_ipv4(int index);

  // Of a port of a VLAN-aware bridge; `vlans` instead of what it has, which is `old`.
  Status set_port_vlans(int index, const PortVlans& old, const PortVlans& vlans);

 private:
  explicit Links(std::unique_ptr<RtnlSocket> socket);

  std::unique_ptr<RtnlSocket> socket_;
};

// The interface that has an address of this host, as other hosts reach it. Errors: kIo (none).
Result<Holder> find_holder(const std::string& address);

}  // namespace paravane::ethernet
