// SwitchBuilder: builds the distributed switches on this host from Linux bridges, taps and NICs.
// It runs in the keeper and chooses every interface name; the plan names the operator's objects,
// and only NICs that the configuration file allows are used.
//
// Where the kernel's bridge supports VLAN filtering, a switch is one bridge, and its uplink
// carries the VLANs of all port groups with their tags. Elsewhere, it is one bridge per VLAN, and
// the uplink belongs to the untagged one.
//
// One thread.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ethernet/switch_links.h"
#include "keeper/local_switches.h"

namespace paravane::keeper {

struct SwitchBuilderConfig {
  std::string mark;                  // of what this daemon makes
  std::vector<std::string> uplinks;  // NICs that an operator has given
  ethernet::TapAccess tap_access;
  std::string management_address{};  // [cluster] address; empty: none
};

// Links as they are wanted for a plan, and whose they are.
struct SwitchLayout {
  ethernet::WantedLinks links;
  privsep::SwitchReport report;  // what can be said before anything is made
};
// `vlan_aware`: whether bridges of this kernel filter VLANs.
SwitchLayout lay_out(const privsep::SwitchPlan& plan, const SwitchBuilderConfig& config,
                     bool vlan_aware);

class SwitchBuilder final : public LocalSwitches {
 public:
  explicit SwitchBuilder(SwitchBuilderConfig config) : config_(std::move(config)) {}

  privsep::SwitchReport make(const privsep::SwitchPlan& plan) override;
  std::vector<Ipv4Interface> addresses() const override { return addresses_; }
  const ethernet::LinkFilter& about() const override { return about_; }

 private:
  std::optional<privsep::SwitchReport::Management> find_management() const;

  SwitchBuilderConfig config_;
  std::optional<bool> vlan_aware_;  // once it is known
  std::vector<Ipv4Interface> addresses_;
  ethernet::LinkFilter about_;
  ethernet::WantedLinks last_;  // of the last time that all could be seen
  bool made_before_ = false;    // and whether there was one
};

// "paravane:1f3a99c0:": the same for a state directory every time, and another for
// another, so that two daemons keep their hands off each other's interfaces.
std::string switch_mark(std::string_view state_directory);

}  // namespace paravane::keeper
