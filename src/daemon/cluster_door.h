// ClusterDoor: receives the API's requests on a host that can be a member of a cluster. It extends
// ControlDoor, which passes requests to the control thread.
//
// In a cluster, a change of a switch or a port group is first checked on the control thread. Then
// the API thread that handles the request writes the change to etcd and waits for the result. The
// request is answered when this host has received the change from etcd in the same way as every
// other host.
//
// Any thread of the API.

#pragma once

#include <functional>

#include "base/mutex.h"
#include "cluster/cluster_service.h"
#include "host/control_door.h"
#include "host/host.h"

namespace paravane::daemon {

class ClusterDoor final : public host::ControlDoor {
 public:
  // All outlive the door.
  ClusterDoor(host::Host& host, Mailbox& mailbox, cluster::ClusterService& cluster)
      : host::ControlDoor(host, mailbox), host_(host), cluster_(cluster) {}

  model::ApiResult<model::SwitchStatus> create_switch(const model::DistributedSwitch& vds) override;
  model::ApiResult<model::SwitchStatus> set_switch_mtu(const std::string& vds,
                                                       std::uint32_t mtu) override;
  model::ApiResult<void> delete_switch(const std::string& vds) override;
  model::ApiResult<model::SwitchStatus> add_switch_host(const std::string& vds,
                                                        const model::SwitchHost& host) override;
  model::ApiResult<model::SwitchStatus> set_switch_uplink(const std::string& vds,
                                                          const model::SwitchHost& host) override;
  model::ApiResult<model::SwitchStatus> remove_switch_host(const std::string& vds,
                                                           const std::string& host) override;
  model::ApiResult<model::PortGroupStatus> create_port_group(
      const model::PortGroup& group) override;
  model::ApiResult<model::PortGroupStatus> change_port_group(
      const std::string& name, const model::PortGroupChange& change) override;
  model::ApiResult<void> delete_port_group(const std::string& name) override;

 private:
  using Act = std::function<model::ApiResult<void>(model::NetworkManagement&)>;
  // Errors: those of `act`, and kDenied, kClusterAway, kBusy.
  model::ApiResult<void> change(Act act);
  model::ApiResult<model::SwitchStatus> change_switch(const std::string& name, Act act);

  host::Host& host_;
  cluster::ClusterService& cluster_;
  Mutex one_at_a_time_;  // keeps the checked state until the change has arrived
};

}  // namespace paravane::daemon
