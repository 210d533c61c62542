// Host: IPoIB uplinks, which the virtual InfiniBand adapters make and distributed switches use.

#include <utility>

#include "host/host.h"

namespace paravane::host {

void Host::open_uplink(const privsep::UplinkNote& note, UniqueFd tap) {
  // Without a descriptor in the way, the keeper opens the right one at its next look.
  if (!network_->wants_uplink(note)) return;
  infiniband_->open_uplink({.uplink = note.uplink,
                            .vds = network_->switch_of_uplink(note.uplink),
                            .vlan = note.vlan,
                            .tagged = note.tagged,
                            .mtu = note.mtu,
                            .tap = std::move(tap)});
}

void Host::close_uplink(const std::string& uplink, std::optional<std::uint32_t> vlan) {
  if (!infiniband_) return;
  if (vlan) {
    infiniband_->close_uplink(uplink, *vlan);
  } else {
    infiniband_->close_uplink(uplink);
  }
}

void Host::on_uplink_lost(const std::string& uplink) {
  ++uplink_makings_[uplink];
  network_->apply();
}

subnet_host::HostInfinibandConfig::Use Host::use_of_uplink(const std::string& uplink) const {
  const std::string vds = network_->switch_of_uplink(uplink);
  const auto& switches = network_->network().switches;
  const auto found = switches.find(vds);
  if (found == switches.end()) return {};
  return {.vds = vds, .mtu = found->second.mtu};
}

std::vector<privsep::SwitchPlan::IpoibUplink> Host::ipoib_uplinks() const {
  std::vector<privsep::SwitchPlan::IpoibUplink> uplinks;
  if (!infiniband_) return uplinks;
  for (std::string& name : infiniband_->uplinks()) {
    const auto making = uplink_makings_.find(name);
    uplinks.push_back(
        {.name = std::move(name), .making = making == uplink_makings_.end() ? 0 : making->second});
  }
  return uplinks;
}

}  // namespace paravane::host
