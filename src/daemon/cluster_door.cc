#include "daemon/cluster_door.h"

#include <chrono>
#include <thread>
#include <utility>

namespace paravane::daemon {

using model::ApiResult;
using model::SwitchStatus;

namespace {

constexpr auto kSeenWithin = std::chrono::seconds(5);
constexpr auto kLookEvery = std::chrono::milliseconds(5);

template <typename T>
model::ApiResult<void> without_value(const model::ApiResult<T>& result) {
  if (result) return {};
  return std::unexpected(result.error());
}

}  // namespace

model::ApiResult<void> ClusterDoor::change(Act act) {
  const MutexLock lock(one_at_a_time_);
  if (!cluster_.self()) {
    if (auto may = cluster_.check_change(); !may) return may;  // its files may be damaged
    return carry([this, act = std::move(act)] { return act(host_); });
  }
  if (auto may = cluster_.check_document_change(); !may) return may;
  const auto drafted =
      carry([this, act = std::move(act)] { return host_.draft_network_change(act); });
  if (!drafted) return std::unexpected(drafted.error());
  if (!*drafted) return {};
  const host::NetworkChange& wanted = **drafted;
  if (auto written = cluster_.write_document(wanted.document, wanted.json); !written) {
    return written;
  }
  const auto end = std::chrono::steady_clock::now() + kSeenWithin;
  for (;;) {
    const auto seen =
        carry([this, made = wanted]() -> model::ApiResult<bool> { return host_.has_seen(made); });
    if (!seen) return std::unexpected(seen.error());
    if (*seen) return {};
    if (std::chrono::steady_clock::now() > end) break;
    std::this_thread::sleep_for(kLookEvery);
  }
  return model::refuse(model::ApiErrorCode::kClusterAway,
                       "the change is saved, but has not reached this host yet",
                       "The change takes effect when the inventory is available again; see: "
                       "paravane cluster status");
}

model::ApiResult<model::SwitchStatus> ClusterDoor::change_switch(const std::string& name, Act act) {
  if (auto done = change(std::move(act)); !done) return std::unexpected(done.error());
  return find_switch(name);
}

model::ApiResult<model::SwitchStatus> ClusterDoor::create_switch(
    const model::DistributedSwitch& vds) {
  return change_switch(vds.name, [vds](model::NetworkManagement& network) {
    return without_value(network.create_switch(vds));
  });
}

model::ApiResult<model::SwitchStatus> ClusterDoor::set_switch_mtu(const std::string& vds,
                                                                  std::uint32_t mtu) {
  return change_switch(vds, [vds, mtu](model::NetworkManagement& network) {
    return without_value(network.set_switch_mtu(vds, mtu));
  });
}

model::ApiResult<void> ClusterDoor::delete_switch(const std::string& vds) {
  return change([vds](model::NetworkManagement& network) { return network.delete_switch(vds); });
}

model::ApiResult<model::SwitchStatus> ClusterDoor::add_switch_host(const std::string& vds,
                                                                   const model::SwitchHost& host) {
  return change_switch(vds, [vds, host](model::NetworkManagement& network) {
    return without_value(network.add_switch_host(vds, host));
  });
}

model::ApiResult<model::SwitchStatus> ClusterDoor::set_switch_uplink(
    const std::string& vds, const model::SwitchHost& host) {
  return change_switch(vds, [vds, host](model::NetworkManagement& network) {
    return without_value(network.set_switch_uplink(vds, host));
  });
}

model::ApiResult<model::SwitchStatus> ClusterDoor::remove_switch_host(const std::string& vds,
                                                                      const std::string& host) {
  return change_switch(vds, [vds, host](model::NetworkManagement& network) {
    return without_value(network.remove_switch_host(vds, host));
  });
}

model::ApiResult<model::PortGroupStatus> ClusterDoor::create_port_group(
    const model::PortGroup& group) {
  auto done = change([group](model::NetworkManagement& network) {
    return without_value(network.create_port_group(group));
  });
  if (!done) return std::unexpected(done.error());
  return find_port_group(group.name);
}

model::ApiResult<model::PortGroupStatus> ClusterDoor::change_port_group(
    const std::string& name, const model::PortGroupChange& wanted) {
  auto done = change([name, wanted](model::NetworkManagement& network) {
    return without_value(network.change_port_group(name, wanted));
  });
  if (!done) return std::unexpected(done.error());
  return find_port_group(name);
}

model::ApiResult<void> ClusterDoor::delete_port_group(const std::string& name) {
  return change(
      [name](model::NetworkManagement& network) { return network.delete_port_group(name); });
}

}  // namespace paravane::daemon
