#include "subnet_host/host_uplinks.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "base/memory_shortage.h"

namespace paravane::subnet_host {

Status HostUplinks::add(subnet::HostAdapter& adapter, subnet::PortNumber port, UplinkTap tap) {
  const std::string name = tap.uplink;
  lost_.expect(name);
  std::optional<Status> added;
  if (!runs_in_memory([&] { added = add_tap(adapter, port, std::move(tap)); })) {
    lost_.lost(name, clock_.now);
    throw std::bad_alloc();
  }
  if (!*added) lost_.lost(name, clock_.now);
  return *added;
}

Status HostUplinks::add_tap(subnet::HostAdapter& adapter, subnet::PortNumber port, UplinkTap tap) {
  const std::string name = tap.uplink;
  auto found = uplinks_.find(name);
  if (found == uplinks_.end()) {
    auto made = std::make_unique<HostUplink>(
        name, adapter, port, loop_, waiting_, clock_,
        [this, name] { lost_.lost(name, clock_.now); }, static_cast<UplinkTeam*>(this));
    go_on(*made);
    found = uplinks_.emplace(name, std::move(made)).first;
  }
  Status added = found->second->add(std::move(tap));
  HostUplink& uplink = *found->second;
  if (!uplink.has_taps()) {
    uplinks_.erase(found);
  } else if (uplink.has_all_vlans()) {
    for_mates(uplink, [&uplink](HostUplink& mate) {
      for (const ipoib::Membership* membership : mate.uplink().memberships())
        static_cast<void>(uplink.uplink().add_vlan(membership->vlan()));
    });
  }
  return added;
}

// ---- From one engine to the next ----

std::map<std::string, ipoib::UplinkImage> HostUplinks::images() const {
  std::map<std::string, ipoib::UplinkImage> images;
  for (const auto& [name, uplink] : uplinks_) images.emplace(name, uplink->image());
  return images;
}

void HostUplinks::inherit(std::map<std::string, ipoib::UplinkImage> images) {
  inherited_ = std::move(images);
  inherited_until_ = clock_.now + ipoib::Uplink::kInheritance;
}

void HostUplinks::go_on(HostUplink& fresh) {
  if (clock_.now >= inherited_until_) inherited_.clear();
  auto image = inherited_.extract(fresh.name());
  if (image.empty()) return;
  // Without memory it begins anew, as far as it has not gone on.
  (void)runs_in_memory([&] { fresh.adopt(std::move(image.mapped())); });
}

// ---- Teams ----

void HostUplinks::for_mates(const HostUplink& uplink, const std::function<void(HostUplink&)>& act) {
  if (uplink.vds().empty()) return;
  for (const auto& [name, other] : uplinks_) {
    if (other.get() != &uplink && other->vds() == uplink.vds()) act(*other);
  }
}

void HostUplinks::on_new_address(HostUplink& uplink, const ipoib::MacBytes& mac,
                                 std::uint16_t vlan) {
  for_mates(uplink, [&](HostUplink& mate) {
    const auto left = mate.uplink().give_up(mac, vlan);
    if (left) uplink.uplink().take_over(mac, vlan, *left);
  });
}

// Of a mate with a tap for each VLAN, the taps say which it is in.
void HostUplinks::on_new_vlan(const HostUplink& uplink, std::uint16_t vlan) {
  for_mates(uplink, [vlan](HostUplink& mate) {
    if (mate.has_all_vlans()) static_cast<void>(mate.uplink().add_vlan(vlan));
  });
}

// ---- What is there ----

void HostUplinks::close(const std::string& uplink) {
  lost_.cancel(uplink);
  uplinks_.erase(uplink);
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
  while (const std::string* uplink = lost_.take_due(now)) {
    if (!on_lost_ || runs_in_memory([&] { on_lost_(*uplink); })) continue;
    lost_.lost(*uplink, now);  // and is told later
    throw std::bad_alloc();
  }
  for (const auto& [name, uplink] : uplinks_) uplink->on_time(now);
}

Instant HostUplinks::next_deadline() const {
  Instant next = lost_.next_deadline();
  for (const auto& [name, uplink] : uplinks_)
    next = std::min(next, uplink->uplink().next_deadline());
  return next;
}

}  // namespace paravane::subnet_host
