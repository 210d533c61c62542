// Links: lists the network interfaces of this network namespace, and makes the changes to them that
// a Linux bridge needs, through rtnetlink. Every call queries the kernel, and nothing is cached.
//
// Blocks until the kernel responds. One thread.

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
  std::string mark;  // the alias, which any program may set
  int master = 0;    // the bridge that it is a port of; 0: none
  std::uint32_t mtu = 0;
  std::uint32_t queue_length = 0;  // frames that may wait to be sent
  bool up = false;
  bool loopback = false;
  bool ethernet = false;       // it carries frames with MAC addresses
  bool filters_vlans = false;  // a bridge
  bool carrier = false;        // whether it is up and connected
  bool silent = false;         // whether forbid_ipv4() is in effect
  std::string mac{};           // "02:00:00:00:00:01"; empty: it has none
  std::string own_mac{};       // the permanent address; empty: it has none
  // The device behind the interface, such as "0000:03:00.0", and its bus, such as "pci"; empty: the
  // interface has no device.
  std::string parent{};
  std::string parent_bus{};
};

// The VLANs (1 to 4094) of a bridge port, and whether frames leave the port with a tag.
struct PortVlans {
  std::uint16_t pvid = 0;                         // for incoming untagged frames; 0: none
  std::map<std::uint16_t, bool> untagged_by_vid;  // true: frames leave the port without a tag

  friend bool operator==(const PortVlans&, const PortVlans&) = default;
};

// A MAC address that a bridge has learned.
struct BridgeAddress {
  std::array<std::uint8_t, 6> mac{};
  std::uint16_t vlan = 0;  // 0: of a bridge without VLANs
  int port = 0;            // the interface behind which it is

  friend bool operator==(const BridgeAddress&, const BridgeAddress&) = default;
};

// An interface that has an address.
struct Holder {
  Link link;
  std::optional<Ipv4Interface> ipv4{};  // the address with its network; nullopt: an IPv6 address
};

class Links {
 public:
  // Errors: kIo.
  static Result<Links> open();
  ~Links();
  Links(Links&&) noexcept;
  Links& operator=(Links&&) noexcept;

  // Errors of all functions below: kUnsupported (the kernel does not support the request), kIo;
  // both with the kernel's message.
  Result<std::vector<Link>> list();
  // The addresses under which other hosts reach an interface, such as "10.0.0.1", by the index of
  // the interface.
  Result<std::map<int, std::vector<std::string>>> addresses();
  // Only the IPv4 addresses, with their networks.
  Result<std::map<int, std::vector<Ipv4Interface>>> ipv4_addresses();
  // The VLANs of every port of every bridge, by the index of the port.
  Result<std::map<int, PortVlans>> port_vlans();

  // The MAC addresses that a bridge has learned, without those of its own ports. Up to a limit.
  Result<std::vector<BridgeAddress>> bridge_addresses(int bridge);

  // Creates a bridge that is down and has no ports. If the kernel's bridges cannot filter VLANs, it
  // refuses `vlan_aware` or ignores it, so check Link::filters_vlans afterwards.
  Status add_bridge(const std::string& name, bool vlan_aware);
  // Creates a pair of interfaces that are connected to each other. Both are down. If `mac` is not
  // given, the kernel chooses one, as it does for the other.
  Status add_pair(const std::string& name, const std::optional<std::array<std::uint8_t, 6>>& mac,
                  const std::string& other);
  Status remove(int index);

  Status set_mark(int index, const std::string& mark);
  Status set_master(int index, int master);
  Status set_mtu(int index, std::uint32_t mtu);
  Status set_queue_length(int index, std::uint32_t frames);
  Status set_up(int index);
  Status set_down(int index);
  Status add_address(int index, const Ipv4Interface& address);
  Status remove_address(int index, const Ipv4Interface& address);
  // Prevents the kernel from giving the interface an IPv6 address of its own, so this host sends
  // nothing through it unasked. Does nothing on a host without IPv6.
  Status forbid_own_address(int index);
  // Prevents this host from answering ARP requests on the interface for an address of another
  // interface, and from receiving packets for such an address through it. REQUIRES: the interface
  // has no address.
  Status forbid_ipv4(int index);

  // Replaces the VLANs of a port of a VLAN-aware bridge. `old`: the VLANs that the port has now.
  Status set_port_vlans(int index, const PortVlans& old, const PortVlans& vlans);

 private:
  explicit Links(std::unique_ptr<RtnlSocket> socket);

  std::unique_ptr<RtnlSocket> socket_;
};

// The interface that has this address, under which other hosts reach this host. Errors: kIo (no
// interface has it).
Result<Holder> find_holder(const std::string& address);

}  // namespace paravane::ethernet
