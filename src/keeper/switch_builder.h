// SwitchBuilder builds the distributed switches on this host from Linux bridges, taps and NICs. It
// runs in the keeper (the privileged process) and does not trust the plan, which comes from the
// engine (the unprivileged process). The plan contains only the names of the operator's objects.
// SwitchBuilder chooses the name of every interface that it creates, and uses only NICs that the
// configuration file allows.
//
// If the kernel's bridge supports VLAN filtering, a switch is one bridge, and its uplink carries
// the VLANs of all port groups with their tags. Otherwise, a switch is one bridge per VLAN, and the
// uplink belongs to the bridge of the untagged VLAN.
//
// VMs that tag their frames themselves (VLAN 4095) have a bridge of their own, which filters
// nothing. An IPoIB uplink has a tap there, too, whose user brings their VLANs together with the
// others.
//
// An IPoIB uplink consists of taps that SwitchBuilder creates: one for a bridge that filters VLANs,
// and otherwise one for each VLAN's bridge.
//
// An uplink and its standby uplinks are a team, of which one at a time is on the switch's bridges;
// the ports of the others are on bridges of their own, which are down.
//
// One thread.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ethernet/switch_links.h"
#include "keeper/local_switches.h"
#include "keeper/uplink_offloads.h"

namespace paravane::keeper {

struct SwitchBuilderConfig {
  std::string mark;                        // put on the interfaces that this daemon creates
  std::vector<std::string> uplinks;        // NICs and IPoIB uplinks that an operator has given
  std::vector<std::string> uso_uplinks{};  // those of them that may cut UDP apart
  ethernet::TapAccess tap_access;
  std::string management_address{};  // [cluster] address; empty: none
};

// The interfaces that a plan needs, and the objects to which they belong.
struct SwitchLayout {
  ethernet::WantedLinks links;
  privsep::SwitchReport report;          // what is known before anything is created
  std::vector<UplinkTap> uplink_taps{};  // those of links.taps that IPoIB uplinks have
};
// `vlan_aware`: whether bridges of this kernel filter VLANs.
SwitchLayout lay_out(const privsep::SwitchPlan& plan, const SwitchBuilderConfig& config,
                     bool vlan_aware);

class SwitchBuilder final : public LocalSwitches {
 public:
  explicit SwitchBuilder(SwitchBuilderConfig config)
      : config_(std::move(config)),
        roce_ports_(config_.mark),
        uplink_offloads_(config_.uplinks, config_.uso_uplinks) {}

  privsep::SwitchReport make(const privsep::SwitchPlan& plan) override;
  std::vector<Ipv4Interface> addresses() const override { return addresses_; }
  std::vector<OpenedRocePort> take_opened_ports() override { return roce_ports_.take_opened(); }
  void take_back(const OpenedRocePort& port) override { roce_ports_.take_back(port); }
  std::vector<OpenedUplinkTap> take_opened_taps() override { return ipoib_uplinks_.take_opened(); }
  void take_back(const OpenedUplinkTap& tap) override { ipoib_uplinks_.take_back(tap); }
  void take_back_all() override {
    roce_ports_.take_back_all();
    ipoib_uplinks_.take_back_all();
  }
  ethernet::KnownNics known() const override { return last_.known; }
  void know(ethernet::KnownNics nics) override { last_.known = std::move(nics); }
  const ethernet::LinkFilter& about() const override { return about_; }

 private:
  std::optional<privsep::SwitchReport::Management> find_management() const;

  SwitchBuilderConfig config_;
  RocePorts roce_ports_;
  IpoibUplinks ipoib_uplinks_;
  UplinkOffloads uplink_offloads_;
  std::optional<bool> vlan_aware_;  // once it is known
  std::vector<Ipv4Interface> addresses_;
  ethernet::LinkFilter about_;
  std::map<std::string, std::string> active_;  // the uplink that carries the frames, by team
  ethernet::WantedLinks last_;                 // of the last time that all could be seen
  bool made_before_ = false;                   // and whether there was one
};

// A mark such as "paravane:1f3a99c0:", derived from the state directory. Two daemons have different
// marks, so neither changes the other's interfaces.
std::string switch_mark(std::string_view state_directory);

}  // namespace paravane::keeper
