// UplinkRules checks changes of a distributed switch's uplink on this host. As in vSphere, a NIC
// that belongs to an RDMA device can be added or removed only while no VM uses the switch.
// Such a NIC stays alone, because queue pairs stay on the port that they were made on: a switch has
// no other uplink beside it. UplinkRules also converts the vSphere name of a NIC ("vmnic2") to its
// Linux name ("eth2").
//
// An IPoIB uplink ("vmnic32") is made by a virtual InfiniBand adapter of this host. It belongs to
// no RDMA device, so the first rule leaves it free.
//
// Control thread only. Calls block while the host's devices are read.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/machine_view.h"
#include "model/api_error.h"
#include "model/distributed_switch.h"

namespace paravane::host {

// Why a switch cannot use an IPoIB uplink, and what an operator does then.
std::string no_ipoib_uplink(const std::string& uplink);
inline constexpr const char* kAddIbAdapter =
    "Add an adapter whose port makes it (paravane infiniband adapter add), enable module ib_ipoib "
    "if it is not loaded (paravane infiniband status), or choose another uplink.";

class UplinkRules {
 public:
  struct Parts {
    // The running VMs that are in port groups of a switch.
    std::function<std::vector<std::string>(const std::string& vds)> attached;
    // Whether the rule applies to all NICs (/Net/PVRDMAUplinkEditNeedsPowerOff).
    std::function<bool()> strict;
    // The NIC that has this host's own address, which it would lose as an uplink; empty: unknown.
    std::function<std::string()> management;
    // The IPoIB uplinks that this host has, which are no NICs.
    std::function<std::vector<std::string>()> ipoib_uplinks{};
    // The NIC for which a port of an InfiniBand adapter stands that is called so ("vmnic13.p2");
    // empty: none.
    std::function<std::string(const std::string& port)> nic_of_port{};
  };
  // `machine` outlives us.
  UplinkRules(MachineView& machine, Parts parts) : machine_(machine), parts_(std::move(parts)) {}

  // A NIC of this host, as Linux names it: "vmnic2" is its eth2. An IPoIB uplink keeps its name. An
  // Ethernet port of an InfiniBand adapter is the NIC that it stands for. An unknown one is passed
  // on for later checks. Errors: kNotFound (no such vmnic), kInvalidRequest (a team, the
  // management's).
  model::ApiResult<std::string> resolve(const std::string& name) const;
  // The same for all uplinks of this host in a switch, which may be a team. Errors: as resolve();
  // kInvalidRequest (one is named twice; one of several is the NIC of an RDMA device).
  model::ApiResult<model::SwitchHost> resolve_all(const model::SwitchHost& host) const;

  // Call this before the uplinks of a switch on this host are changed. The NIC of an RDMA device
  // or, if the operator requires it, any NIC may be changed only while no VM uses it. Errors:
  // kVmsAttached.
  model::ApiResult<void> check_edit(const std::string& vds, const std::vector<std::string>& before,
                                    const std::vector<std::string>& after) const;

  // Why these uplinks cannot be a team; empty: they can.
  std::string why_no_team(const std::vector<std::string>& uplinks) const;

  // Whether a switch is told to use an IPoIB uplink that this host does not have. False also where
  // it can be a NIC, or the devices cannot be read.
  bool lacks_ipoib_uplink(const std::string& uplink) const;

  // "vmnic2 (eth2)".
  std::string shown(const std::string& linux_name) const;

 private:
  // The beginning of the message that says why VMs must be off during the change, up to the word
  // "uplink"; empty: they need not be off.
  std::string why_quiet(const std::vector<std::string>& before,
                        const std::vector<std::string>& after) const;
  bool has_ipoib_uplink(const std::string& uplink) const;

  MachineView& machine_;
  Parts parts_;
};

}  // namespace paravane::host
