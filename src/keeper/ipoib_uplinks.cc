#include "keeper/ipoib_uplinks.h"

#include <net/if.h>

#include <algorithm>
#include <utility>

#include "ethernet/offload_tap.h"

namespace paravane::keeper {

void IpoibUplinks::open(const std::vector<UplinkTap>& taps, const std::set<std::string>& bad,
                        privsep::SwitchReport& report) {
  std::erase_if(given_, [&taps](const auto& entry) {
    return std::ranges::find(taps, entry.first, &UplinkTap::name) == taps.end();
  });
  std::erase_if(awaited_, [this](const auto& entry) { return !given_.contains(entry.first); });
  for (const UplinkTap& tap : taps) {
    if (!bad.contains(tap.name)) open_one(tap, report);
  }
}

bool IpoibUplinks::is_on_its_way(const std::string& uplink) const {
  const auto is_opened = [&uplink](const OpenedUplinkTap& tap) {
    return tap.wanted.uplink == uplink;
  };
  const auto is_awaited = [&uplink](const auto& entry) { return entry.second.uplink == uplink; };
  return std::ranges::any_of(opened_, is_opened) || std::ranges::any_of(awaited_, is_awaited);
}

void IpoibUplinks::open_one(const UplinkTap& tap, privsep::SwitchReport& report) {
  const Given given{.index = ::if_nametoindex(tap.name.c_str()), .wanted = tap};
  const auto known = given_.find(tap.name);
  if (known != given_.end() && known->second == given) return;
  auto opened = ethernet::open_frame_tap(tap.name);
  if (opened) {
    awaited_.erase(tap.name);
    given_.insert_or_assign(tap.name, given);
    opened_.push_back({.wanted = tap, .tap = std::move(*opened)});
    return;
  }
  // Its end is news of the interface, so it is not waited for in vain.
  const bool may_be_closing = opened.error().code == Errc::kBadState && known != given_.end() &&
                              known->second.index == given.index;
  if (may_be_closing && std::exchange(awaited_[tap.name], tap) != tap) return;
  const auto vds =
      std::ranges::find(report.switches, tap.vds, &privsep::SwitchReport::Switch::name);
  if (vds != report.switches.end()) vds->problems.push_back(opened.error().message);
}

}  // namespace paravane::keeper
