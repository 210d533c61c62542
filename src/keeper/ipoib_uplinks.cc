#include "keeper/ipoib_uplinks.h"

#include <net/if.h>

#include <algorithm>

#include "ethernet/offload_tap.h"

namespace paravane::keeper {

void IpoibUplinks::open(const std::vector<UplinkTap>& taps, const std::set<std::string>& bad,
                        privsep::SwitchReport& report) {
  std::erase_if(given_, [&taps](const auto& entry) {
    return std::ranges::find(taps, entry.first, &UplinkTap::name) == taps.end();
  });
  for (const UplinkTap& tap : taps) {
    if (!bad.contains(tap.name)) open_one(tap, report);
  }
}

void IpoibUplinks::open_one(const UplinkTap& tap, privsep::SwitchReport& report) {
  const Given given{.index = ::if_nametoindex(tap.name.c_str()), .wanted = tap};
  const auto known = given_.find(tap.name);
  if (known != given_.end() && known->second == given) return;
  auto opened = ethernet::open_frame_tap(tap.name);
  if (opened) {
    given_.insert_or_assign(tap.name, given);
    opened_.push_back({.wanted = tap, .tap = std::move(*opened)});
    return;
  }
  const auto vds =
      std::ranges::find(report.switches, tap.vds, &privsep::SwitchReport::Switch::name);
  if (vds != report.switches.end()) vds->problems.push_back(opened.error().message);
}

}  // namespace paravane::keeper
