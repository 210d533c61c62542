// RocePorts makes the RoCE ports of adapters and opens them for the engine: for a VM's adapter, a
// second tap beside the guest's; for that of a service, whose number is 0, its tap itself. It runs
// in the keeper (the privileged process), after the switches of the same plan were made. It
// remembers which ports the engine has, and opens one again only if its interface was replaced.
// Before each port it keeps a merging pair if this kernel can merge packets, which it looks at
// once, before the first port.
//
// One thread. Blocks until the kernel responds.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "ethernet/link_news.h"
#include "ethernet/merging_ability.h"
#include "privsep/switch_plan.h"

namespace paravane::keeper {

// A RoCE port of an adapter, for the engine.
struct OpenedRocePort {
  std::string vm;
  std::uint32_t adapter = 1;
  std::uint32_t making = 0;  // of the plan
  UniqueFd tap;
  std::uint32_t mtu = 1500;        // of the adapter's switch
  bool takes_superframes = false;  // the kernel cuts UDP apart
};

class RocePorts {
 public:
  // `mark`: as for ethernet::make_links().
  explicit RocePorts(std::string mark) : mark_(std::move(mark)) {}

  // Makes the ports of the plan, and removes those of plans before it. What is wrong with a port is
  // added to `report` as a problem of its tap, why its packets are not merged as `unmerged`, what
  // another program had changed as mended, and what must be followed to `about`.
  void make(const privsep::SwitchPlan& plan, privsep::SwitchReport& report,
            ethernet::LinkFilter& about);

  // The ports that were opened since the last call.
  std::vector<OpenedRocePort> take_opened() { return std::exchange(opened_, {}); }
  // The engine did not get a port. The next make() opens it again.
  void take_back(const OpenedRocePort& port) { given_.erase({port.vm, port.adapter}); }
  // Another engine runs, which has none of the ports. The next make() opens all again.
  void take_back_all() { given_.clear(); }

 private:
  using Adapter = std::pair<std::string, std::uint32_t>;

  void make_service(const privsep::SwitchPlan::RocePort& port,
                    const privsep::SwitchPlan::Switch& vds, privsep::SwitchReport& report,
                    ethernet::LinkFilter& about);
  void make_one(const privsep::SwitchPlan::RocePort& port, const privsep::SwitchPlan& plan,
                privsep::SwitchReport& report, ethernet::LinkFilter& about);
  // Whether the engine has the port as it is wanted, so that a change undoes another program's.
  bool is_given(const privsep::SwitchPlan::RocePort& port, std::uint32_t mtu) const;
  void open(const privsep::SwitchPlan::RocePort& port, const std::string& name, std::uint32_t mtu,
            privsep::SwitchReport& report);
  void remove_others(const privsep::SwitchPlan& plan, privsep::SwitchReport& report);

  std::string mark_;
  std::optional<ethernet::MergingAbility> merging_;  // nullopt: no port was wanted yet
  // Ports that the engine has.
  struct Given {
    unsigned index = 0;  // of the interface
    std::uint32_t mtu = 0;
    privsep::SwitchPlan::RocePort wanted;

    friend bool operator==(const Given&, const Given&) = default;
  };
  std::map<Adapter, Given> given_;
  std::vector<OpenedRocePort> opened_;
};

}  // namespace paravane::keeper
