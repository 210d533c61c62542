// UplinkOffloads turns off what NICs must not do to RoCE packets. A NIC that cuts frames of many
// packets apart itself may give all of them one IPv4 identification, and then every packet but the
// first has a wrong CRC, and is lost. So the uplinks of switches with RoCE ports do not cut UDP
// apart, except those that the operator vouches for. The kernel does it instead, as late as it can.
//
// What was turned off stays so when the last RoCE port is gone. One thread. Blocks until the
// drivers answer.

#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "privsep/switch_plan.h"

namespace paravane::keeper {

class UplinkOffloads {
 public:
  // `given`: NICs that may be touched. `trusted`: those of them that may cut UDP apart.
  UplinkOffloads(std::vector<std::string> given, std::vector<std::string> trusted)
      : given_(std::move(given)), trusted_(std::move(trusted)) {}

  // Adds to `report` what could not be done, and what another program had turned on again.
  void make(const privsep::SwitchPlan& plan, privsep::SwitchReport& report);

 private:
  bool is_ours(const std::string& uplink) const;
  void turn_off(const std::string& vds, const std::string& uplink, std::set<std::string>& off,
                privsep::SwitchReport& report) const;

  std::vector<std::string> given_;
  std::vector<std::string> trusted_;
  std::set<std::string> off_;  // uplinks whose feature was found off, or was turned off
};

}  // namespace paravane::keeper
