// Seeds for switch_plan_fuzz: plans as the engine makes them, a report, and questions about the
// machine.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "privsep/switch_plan.h"

namespace {

using paravane::privsep::SwitchPlan;
using paravane::privsep::SwitchReport;

std::vector<std::string> seeds() {
  const SwitchPlan plan{
      .switches = {{.name = "lan", .mtu = 9000, .uplink = "eth1", .vlans = {0, 10, 4094}},
                   {.name = "a-long-name-1", .mtu = 1500, .uplink = "eth2", .vlans = {10}},
                   {.name = "dmz",
                    .mtu = 1280,
                    .uplink = "vmnic32",
                    .vlans = {0, 20},
                    .standby = {"eth3", "vmnic33"}}},
      .taps = {{.vm = "db1", .adapter = 1, .vds = "lan", .vlan = 0},
               {.vm = "db1", .adapter = 2, .vds = "lan", .vlan = 10},
               {.vm = "a-rather-long-name", .adapter = 8, .vds = "lan", .vlan = 4094}},
      .ipoib_uplinks = {{.name = "vmnic32", .making = 1}, {.name = "vmnic33", .making = 1}}};
  const SwitchReport report{.switches = {{.name = "lan",
                                          .form = paravane::model::SwitchForm::kPlain,
                                          .bridges = {"pvs-lan"},
                                          .problems = {"eth1: there is no such NIC"},
                                          .active = "eth2"}},
                            .taps = {{.vm = "db1", .adapter = 2, .problem = "x"}},
                            .problem = "why"};
  return {"1 " + print(plan).value_or(""),
          "2 " + print(SwitchPlan{}).value_or(""),
          "3 paravane-switch-plan 1;switch lan 1500 lo;tap db1 1 lan 0;",
          print(report),
          "4 machine",
          "5 stats mlx5_0 1",
          "6 dcb eth1",
          "{\"nics\":[],\"rdma_devices\":[]}",
          "{\"name\":\"\",\"counters\":{\"a\":1}}"};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int number = 0;
  for (const std::string& seed : seeds()) {
    std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(number++)));
    file << seed;
    if (!file) return 1;
  }
  return 0;
}
