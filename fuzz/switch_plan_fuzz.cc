// Plans of switches and questions about the machine: what an engine that somebody has broken into
// may send to the keeper, which has rights. What is taken for a plan must keep its rules, and
// whatever it asks for, the interfaces that it would make or take are the keeper's to choose.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "api/machine_json.h"
#include "api/nic_dcb_json.h"
#include "json/json_text.h"
#include "keeper/switch_builder.h"
#include "model/machine.h"
#include "privsep/machine_line.h"
#include "privsep/switch_line.h"
#include "promise.h"

namespace paravane::privsep {
namespace {

using fake::require;

const keeper::SwitchBuilderConfig kConfig = {
    .mark = "paravane:1:",
    .uplinks = {"eth1", "eth2", "eth3", "vmnic32", "vmnic33"},
    .tap_access = {}};

bool is_given(const std::string& uplink) {
  return std::ranges::find(kConfig.uplinks, uplink) != kConfig.uplinks.end();
}

// Ours by name, each once.
void check_name(const std::string& name, const std::string& ours, std::set<std::string>& names) {
  require(name.starts_with(ours) && model::check_interface_name(name).has_value());
  require(names.insert(name).second);
}

void check_uplink_tap(const ethernet::WantedPort& port, const keeper::UplinkTap& tap,
                      std::set<std::string>& names) {
  check_name(port.name, "vmnic", names);
  require(model::is_ipoib_uplink_name(tap.uplink) && is_given(tap.uplink));
  require(port.is_for_root && port.label == "uplink:" + tap.uplink && tap.vlan <= model::kMaxVlan);
}

bool is_parking(const ethernet::WantedLinks& links, const std::string& name) {
  const auto bridge = std::ranges::find(links.bridges, name, &ethernet::WantedBridge::name);
  return bridge != links.bridges.end() && bridge->is_parking;
}

// Two uplinks of a switch would be a loop: each is of a team, and has a bridge for itself where it
// stands by.
void check_teams(const SwitchPlan& plan, const ethernet::WantedLinks& links) {
  std::set<std::string> ports;
  std::set<std::string> parkings;
  for (const ethernet::WantedTeam& team : links.teams) {
    const auto vds = std::ranges::find(plan.switches, team.name, &SwitchPlan::Switch::name);
    require(vds != plan.switches.end() && !vds->standby.empty());
    for (const ethernet::WantedTeam::Member& member : team.members) {
      require(is_given(member.name) && switch_of_uplink(plan, member.name) == &*vds);
      for (const std::string& port : member.ports) require(ports.insert(port).second);
    }
  }
  for (const auto& all : {links.uplinks, links.taps}) {
    for (const ethernet::WantedPort& port : all) {
      require(!is_parking(links, port.bridge));
      require(port.parking.empty() != ports.contains(port.name));
      if (port.parking.empty()) continue;
      require(is_parking(links, port.parking) && parkings.insert(port.parking).second);
    }
  }
}

void check_layout(const SwitchPlan& plan, bool vlan_aware) {
  const keeper::SwitchLayout layout = keeper::lay_out(plan, kConfig, vlan_aware);
  const ethernet::WantedLinks& links = layout.links;
  std::set<std::string> names;
  std::set<std::string> bridges;
  for (const ethernet::WantedBridge& bridge : links.bridges) {
    check_name(bridge.name, "pv", names);
    bridges.insert(bridge.name);
    require(!bridge.is_parking || !bridge.vlan_aware);
  }
  for (const ethernet::WantedPort& tap : links.taps) {
    require(bridges.contains(tap.bridge));
    const auto of_uplink =
        std::ranges::find(layout.uplink_taps, tap.name, &keeper::UplinkTap::name);
    if (of_uplink != layout.uplink_taps.end()) {
      check_uplink_tap(tap, *of_uplink, names);
      continue;
    }
    check_name(tap.name, "pv", names);
    require(tap.tagged.empty() && tap.untagged >= 1 && tap.untagged <= model::kMaxVlan);
    require(!tap.is_for_root && tap.label.find(':') == std::string::npos);
  }
  require(layout.uplink_taps.size() <= keeper::kMaxUplinkTaps);
  for (const ethernet::WantedPort& uplink : links.uplinks) {
    require(is_given(uplink.name));
    require(bridges.contains(uplink.bridge) && names.insert(uplink.name).second);
    require(std::ranges::find(uplink.tagged, uplink.untagged) == uplink.tagged.end());
  }
  check_teams(plan, links);
}

// In the place of the kernel.
class CheckingMaker final : public SwitchMaker {
 public:
  SwitchReport make(const SwitchPlan& plan) override {
    const auto text = print(plan);
    if (text) require(parse_switch_plan(*text) == plan);
    check_layout(plan, true);
    check_layout(plan, false);
    return keeper::lay_out(plan, kConfig, false).report;
  }
};

// In the place of the host's devices: a device is asked for by a name that is one.
class CheckingLooker final : public MachineLooker {
 public:
  Result<model::Machine> look() override {
    return model::Machine{.nics = {{.linux_name = "eth1"}}, .rdma_devices = {{}}};
  }
  Result<model::NicDcb> read_dcb(const std::string& nic) override {
    require(is_interface(nic));
    return model::NicDcb{};
  }
  Result<model::RdmaStats> read_stats(const std::string& device, std::uint32_t /*port*/) override {
    require(is_device(device));
    return model::RdmaStats{.name = "", .counters = {{"a", 1}}};
  }

 private:
  // Linux's dev_valid_name(): a name may begin with a dot.
  static bool is_interface(const std::string& name) {
    return !name.empty() && name.size() < 16 && name != "." && name != ".." &&
           name.find_first_of(std::string_view("/: \0", 4)) == std::string::npos;
  }
  static bool is_device(const std::string& name) {
    return !name.empty() && name.size() < 64 && name.front() != '.' &&
           name.find_first_of("/ ") == std::string::npos;
  }
};

void check_machine_answer(std::string_view text) {
  CheckingLooker looker;
  const std::string answer = answer_machine_question(text, looker);
  const std::size_t blank = answer.find(' ');
  require(blank != std::string::npos && answer.size() <= Note::kMaxLongText);
  const auto report = parse_json(std::string_view(answer).substr(blank + 1));
  require(report.has_value() && report->is_object());
  // The engine's side, of any text.
  if (const auto any = parse_json(text)) {
    static_cast<void>(api::machine_from_json(*any));
    static_cast<void>(api::rdma_stats_from_json(*any));
    static_cast<void>(api::nic_dcb_from_json(*any));
  }
}

}  // namespace
}  // namespace paravane::privsep

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paravane::privsep;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckingMaker maker;
  const std::string answer = answer_plan(text, maker);
  const std::size_t blank = answer.find(' ');
  require(blank != std::string::npos && answer.size() <= Note::kMaxLongText);
  require(parse_switch_report(std::string_view(answer).substr(blank + 1)).has_value());
  static_cast<void>(parse_switch_report(text));
  check_machine_answer(text);
  return 0;
}
