#include "bench/roce_networks.h"

#include <fmt/core.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "bench/question.h"
#include "bench/vm.h"
#include "ethernet/roce_port.h"
#include "ethernet/tap.h"

namespace paravane::bench {
namespace {

constexpr const char* kMark = "paravane:bench:";

void ip(const std::string& words) {
  demand(std::system(("ip " + words).c_str()) == 0, "ip(8) cannot make the benchmark's network");
}

TapEnd add_guest_tap(const std::string& name) {
  demand(ethernet::make_tap(name, {}).has_value(), "a tap cannot be made");
  TapEnd end(name);  // while it is open, the bridge sends to it
  demand(end.is_open(), "a tap cannot be opened");
  ip(fmt::format("link set dev {} alias {}{} mtu {} addrgenmode none", name, kMark, name,
                 kRoceMtu));
  ip(fmt::format("link set dev {} master lan up", name));
  return end;
}

}  // namespace

RoceNetworks::RoceNetworks() {
  for (unsigned side = 0; side < 2; ++side) {
    networks_.in(side, [] {
      ip(fmt::format("link add lan mtu {} type bridge mcast_snooping 0", kRoceMtu));
      ip("address flush dev wire");
      ip(fmt::format("link set dev wire mtu {} addrgenmode none master lan", kRoceMtu));
      ip("link set dev lan addrgenmode none up");
    });
  }
}

UniqueFd RoceNetworks::open_port(unsigned side, std::uint32_t adapter, Arrival arrival) {
  UniqueFd tap;
  networks_.in(side, [&] {
    const std::string guest = fmt::format("pv-{}", adapter);
    const std::string name = fmt::format("pvr-{}", adapter);
    guests_.push_back(add_guest_tap(guest));
    const auto made = ethernet::ensure_roce_port(
        kMark, {.name = name, .guest_tap = guest, .mac = mac_of(adapter), .mtu = kRoceMtu});
    demand(made.has_value() && made->problems.empty(), "a RoCE port cannot be made");
    auto opened = ethernet::open_roce_port(kMark, name);
    demand(opened.has_value() && opened->header_bytes > 0,
           "taps of this kernel know no segmentation of UDP");
    tap = std::move(opened->tap);
    if (arrival == Arrival::kWhole) return;
    demand(::ioctl(tap.get(), TUNSETOFFLOAD, 0UL) == 0, "a tap keeps its offloads");
  });
  return tap;
}

}  // namespace paravane::bench
