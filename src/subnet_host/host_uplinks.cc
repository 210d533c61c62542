#include "subnet_host/host_uplinks.h"

#include <algorithm>
#include <utility>

namespace paravane::subnet_host {

Status HostUplinks::add(subnet::HostAdapter& adapter, subnet::PortNumber port, UplinkTap tap) {
  const std::string name = tap.uplink;
  auto found = uplinks_.find(name);
  if (found == uplinks_.end()) {
    auto made = std::make_unique<HostUplink>(name, adapter, port, loop_, clock_,
                                             [this, name] { on_lost_(name); });
    found = uplinks_.emplace(name, std::move(made)).first;
  }
  Status added = found->second->add(std::move(tap));
  if (!found->second->has_taps()) uplinks_.erase(found);
  return added;
}

void HostUplinks::close(const std::string& uplink, std::uint16_t vlan) {
  const auto found = uplinks_.find(uplink);
  if (found == uplinks_.end()) return;
  found->second->remove(vlan);
  if (!found->second->has_taps()) uplinks_.erase(found);
}

void HostUplinks::forget(const subnet::HostAdapter& adapter) {
  std::erase_if(uplinks_, [&adapter](const auto& entry) {
    return &entry.second->uplink().adapter() == &adapter;
  });
}

const HostUplink* HostUplinks::find(const std::string& uplink) const {
  const auto found = uplinks_.find(uplink);
  return found == uplinks_.end() ? nullptr : found->second.get();
}

void HostUplinks::on_time(Instant now) {
  for (const auto& [name, uplink] : uplinks_) uplink->uplink().on_time(now);
}

Instant HostUplinks::next_deadline() const {
  Instant next = kNever;
  for (const auto& [name, uplink] : uplinks_)
    next = std::min(next, uplink->uplink().next_deadline());
  return next;
}

}  // namespace paravane::subnet_host
