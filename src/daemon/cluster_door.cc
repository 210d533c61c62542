#include "daemon/cluster_door.h"

#include <chrono>
#include <thread>
#include <utility>

namespace paravane::daemon {

using control::ApiErrorCode;
using control::ApiResult;
using control::NetworkManagement;
using control::SwitchStatus;

namespace {

constexpr auto kSeenWithin = std::chrono::seconds(5);
constexpr auto kLookEvery = std::chrono::milliseconds(5);

template <typename T>
ApiResult<void> without_value(const ApiResult<T>& result) {
  if (result) return {};
  return std::unexpected(result.error());
}

}  // namespace

ApiResult<void> ClusterDoor::change(Act act) {
  const MutexLock lock(one_at_a_time_);
  if (!cluster_.self()) {
    return carry([this, act = std::move(act)] { return act(host_); });
  }
  if (auto may = cluster_.check_document_change(); !may) return may;
  const auto drafted =
      carry([this, act = std::move(act)] { return host_.draft_network_change(act); });
  if (!drafted) return std::unexpected(drafted.error());
  if (auto written = cluster_.write_document(drafted->document, drafted->json); !written) {
    return written;
  }
  const auto end = std::chrono::steady_clock::now() + kSeenWithin;
  for (;;) {
    const auto seen =
        carry([this, made = *drafted]() -> ApiResult<bool> { return host_.has_seen(made); });
    if (!seen) return std::unexpected(seen.error());
    if (*seen) return {};
    if (std::chrono::steady_clock::now() > end) break;
    std::this_thread::sleep_for(kLookEvery);
  }
  return control::refuse(ApiErrorCode::kClusterAway,
                         "the change is written, but this host has not heard of it yet",
                         "It takes effect when the inventory is back: paravane cluster status");
}

ApiResult<SwitchStatus> ClusterDoor::change_switch(const std::string& name, Act act) {
  if (auto done = change(std::move(act)); !done) return std::unexpected(done.error());
  return find_switch(name);
}

ApiResult<SwitchStatus> ClusterDoor::create_switch(const control::DistributedSwitch& vds) {
  return change_switch(vds.name, [vds](NetworkManagement& network) {
    return without_value(network.create_switch(vds));
  });
}

ApiResult<SwitchStatus> ClusterDoor::set_switch_mtu(const std::string& vds, std::uint32_t mtu) {
  return change_switch(vds, [vds, mtu](NetworkManagement& network) {
    return without_value(network.set_switch_mtu(vds, mtu));
  });
}

ApiResult<void> ClusterDoor::delete_switch(const std::string& vds) {
  return change([vds](NetworkManagement& network) { return network.delete_switch(vds); });
}

ApiResult<SwitchStatus> ClusterDoor::add_switch_host(const std::string& vds,
                                                     const control::SwitchHost& host) {
  return change_switch(vds, [vds, host](NetworkManagement& network) {
    return without_value(network.add_switch_host(vds, host));
  });
}

ApiResult<SwitchStatus> ClusterDoor::set_switch_uplink(const std::string& vds,
                                                       const control::SwitchHost& host) {
  return change_switch(vds, [vds, host](NetworkManagement& network) {
    return without_value(network.set_switch_uplink(vds, host));
  });
}

ApiResult<SwitchStatus> ClusterDoor::remove_switch_host(const std::string& vds,
                                                        const std::string& host) {
  return change_switch(vds, [vds, host](NetworkManagement& network) {
    return without_value(network.remove_switch_host(vds, host));
  });
}

ApiResult<control::PortGroupStatus> ClusterDoor::create_port_group(
    const control::PortGroup& group) {
  auto done = change([group](NetworkManagement& network) {
    return without_value(network.create_port_group(group));
  });
  if (!done) return std::unexpected(done.error());
  return find_port_group(group.name);
}

ApiResult<void> ClusterDoor::delete_port_group(const std::string& name) {
  return change([name](NetworkManagement& network) { return network.delete_port_group(name); });
}

}  // namespace paravane::daemon
