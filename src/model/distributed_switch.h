// Defines plain values for distributed switches and port groups, and the rules for them. A
// distributed switch is the Ethernet that VMs share, on one host or several. Its members are hosts,
// each with at most one NIC as its uplink, or a team of NICs: an uplink and its standby uplinks, of
// which one at a time carries frames, by vSphere's explicit failover order. A port group is a VLAN
// of a switch, and contains adapters of VMs.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/api_error.h"

namespace paravane::model {

inline constexpr std::uint32_t kMinMtu = 1280;  // IPv6 needs it
inline constexpr std::uint32_t kMaxMtu = 9216;
inline constexpr std::uint32_t kMaxVlan = 4094;
// Of a port group whose VMs tag their frames themselves (guest VLAN tagging), as ESXi writes it.
// Its adapters have no RDMA, whose GIDs belong to one VLAN: each is in a network of its own.
inline constexpr std::uint32_t kGuestVlans = 4095;
inline constexpr std::size_t kMaxSwitches = 64;
inline constexpr std::size_t kMaxPortGroups = 1024;
inline constexpr std::size_t kMaxSwitchHosts = 1024;
inline constexpr std::size_t kMaxTeam = 8;            // uplinks of a host in a switch
inline constexpr std::size_t kMaxInterfaceName = 15;  // Linux: IFNAMSIZ without its end

// The word with which an operator removes an adapter from its port group.
inline constexpr std::string_view kNoPortGroup = "none";

struct DistributedSwitch {
  std::string name;
  std::uint32_t mtu = 1500;                    // of what VMs send, without headers
  std::map<std::string, std::string> hosts{};  // member -> its uplink NIC; empty: none
  // Member -> the uplinks that take over from that one, in this order; only members with some.
  std::map<std::string, std::vector<std::string>> standby{};

  friend bool operator==(const DistributedSwitch&, const DistributedSwitch&) = default;
};

struct PortGroup {
  std::string name;
  std::string vds;         // its switch
  std::uint32_t vlan = 0;  // 1 to 4094; 0: untagged; kGuestVlans
  // Whether its VMs reach native RoCE endpoints: adapters of hardware, and Linux's rdma_rxe.
  bool native_roce = false;
  // Whether the operator lets its VMs and those of other such port groups reach each other through
  // a router, which takes native_roce in both.
  bool routed = false;

  friend bool operator==(const PortGroup&, const PortGroup&) = default;
};

// What an operator changes in a port group; nullopt: it stays as it is.
struct PortGroupChange {
  std::optional<bool> native_roce{};
  std::optional<bool> routed{};

  bool empty() const { return !native_roce && !routed; }
  friend bool operator==(const PortGroupChange&, const PortGroupChange&) = default;
};
PortGroup changed(PortGroup group, const PortGroupChange& change);

// A host as a member of a switch, in a request.
struct SwitchHost {
  std::string host;
  std::string uplink{};                // empty: none
  std::vector<std::string> standby{};  // in failover order; empty without an uplink

  friend bool operator==(const SwitchHost&, const SwitchHost&) = default;
};

// The uplink of a host and its standby uplinks, in failover order; empty: none.
std::vector<std::string> uplinks_of(const SwitchHost& host);
// The same of a member of a switch; empty: also if the host is not a member.
std::vector<std::string> uplinks_of(const DistributedSwitch& vds, const std::string& host);
// The switch's member of this host; nullopt: the host is not in it.
std::optional<SwitchHost> member_of(const DistributedSwitch& vds, const std::string& host);
// Adds a member, or replaces the one of this name.
void put_member(DistributedSwitch& vds, const SwitchHost& member);
// False: the host is no member.
bool erase_member(DistributedSwitch& vds, const std::string& host);
void erase_other_members(DistributedSwitch& vds, const std::string& host);
// Gives a member another name, and replaces the one that had it. False: the host is no member.
bool rename_member(DistributedSwitch& vds, const std::string& host, const std::string& name);

// Check a value without knowing any other objects. Errors: kInvalidArgument, with the rule.
Status check_switch(const DistributedSwitch& vds);
Status check_port_group(const PortGroup& group);
Status check_switch_host(const SwitchHost& host);
Status check_mtu(std::uint32_t mtu);
// Parses a VLAN, for example "10". Guest VLAN tagging is 4095; "trunk" and "1-100", which would
// mean it or a part of it, are refused with that. Errors: kInvalidArgument.
Result<std::uint32_t> parse_vlan(std::string_view text);
// How an operator writes PortGroup::native_roce: "native" or "off". Errors: kInvalidArgument.
std::string_view roce_word(bool native);
Result<bool> parse_roce(std::string_view text);
// How an operator writes PortGroup::routed: "on" or "off". Errors: kInvalidArgument.
std::string_view routed_word(bool routed);
Result<bool> parse_routed(std::string_view text);
// As Linux names an interface (dev_valid_name()).
Status check_interface_name(std::string_view name);
// As check_name(): what the system calls itself, in lower case.
Status check_host_name(std::string_view name);

// All switches and port groups there are, by name.
struct Network {
  std::map<std::string, DistributedSwitch> switches{};
  std::map<std::string, PortGroup> port_groups{};

  friend bool operator==(const Network&, const Network&) = default;
};

// Check a change of the network. They do not check whether VMs use a port group, because Network
// does not contain VMs. REQUIRES: the value has passed its own check. Errors: kExists, kNotFound,
// kInUse, kLimitReached.
ApiResult<void> check_new_switch(const Network& network, const DistributedSwitch& vds);
ApiResult<void> check_new_port_group(const Network& network, const PortGroup& group);
ApiResult<void> check_new_host(const Network& network, const std::string& vds,
                               const SwitchHost& host);
// Checks new uplinks of an existing member. A NIC can be an uplink of only one switch.
ApiResult<void> check_uplink(const Network& network, const std::string& vds,
                             const SwitchHost& host);
// Errors: kInUse (the switch has port groups).
ApiResult<void> check_switch_unused(const Network& network, const std::string& vds);

// Errors: kNotFound.
ApiResult<DistributedSwitch> find_switch(const Network& network, const std::string& name);
ApiResult<PortGroup> find_port_group(const Network& network, const std::string& name);

// How a switch is implemented on a host.
enum class SwitchForm : std::uint8_t {
  kNone,       // not on this host, or not created
  kVlanAware,  // one bridge that filters VLANs
  kPlain,      // a bridge for each VLAN, which the kernel's bridge does not filter
};
std::string_view to_string(SwitchForm form);
std::optional<SwitchForm> parse_switch_form(std::string_view text);

// A switch as an operator sees it: its configuration, and its state on the host that answers.
struct SwitchStatus {
  DistributedSwitch spec;
  std::vector<std::string> port_groups{};  // their names
  std::string host{};                      // the host that answers, whose state follows
  SwitchForm form = SwitchForm::kNone;
  std::vector<std::string> bridges{};   // of Linux
  std::vector<std::string> problems{};  // what could not be created and why, and warnings
  // Of a team: the uplink that carries the frames now; empty: the host has no team in the switch,
  // or it is not known.
  std::string active{};

  friend bool operator==(const SwitchStatus&, const SwitchStatus&) = default;
};

// An interface of this host that another program had changed and that was repaired.
struct MendedLink {
  std::string vds{};  // the switch of the interface; empty: no switch
  std::string interface;
  std::string text;  // what was wrong and was done, in words

  friend bool operator==(const MendedLink&, const MendedLink&) = default;
};

struct SwitchRepair {
  std::vector<MendedLink> mended{};
  std::vector<SwitchStatus> switches{};  // all, as they are afterwards, in the order of names

  friend bool operator==(const SwitchRepair&, const SwitchRepair&) = default;
};

struct PortGroupStatus {
  PortGroup spec;
  std::vector<std::string> adapters{};  // of this host's VMs: "db1", "db1/2"

  friend bool operator==(const PortGroupStatus&, const PortGroupStatus&) = default;
};

}  // namespace paravane::model
