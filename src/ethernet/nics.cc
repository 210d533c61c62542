#include "ethernet/nics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/ethtool.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <map>
#include <span>
#include <string_view>

#include "ethernet/ethtool.h"
#include "ethernet/links.h"
#include "ethernet/nic_dcb.h"

namespace paravane::ethernet {
namespace {

constexpr std::size_t kMacBytes = 6;
constexpr std::uint32_t kMaxSpeedMbps = 10'000'000;  // beyond: the driver means "unknown"

// Its last member has a length of its own, given behind it.
struct PermanentAddress {
  std::uint32_t cmd = ETHTOOL_GPERMADDR;
  std::uint32_t size = kMacBytes;
  std::array<std::uint8_t, 32> bytes{};  // the kernel writes as many as there are
};
static_assert(offsetof(PermanentAddress, bytes) == sizeof(ethtool_perm_addr));

template <std::size_t N>
std::string field_text(const char (&field)[N]) {
  return {field, ::strnlen(field, N)};
}

// "0000:03:00.0"
bool is_pci_address(std::string_view text) {
  constexpr std::string_view kForm = "xxxx:xx:xx.x";
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (kForm[i] == 'x' ? !hex : text[i] != kForm[i]) return false;
  }
  return true;
}

void read_driver(const Ethtool& ethtool, Nic& nic) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  if (!ethtool.ask(nic.name, &info)) return;
  nic.driver = field_text(info.driver);
  if (const std::string place = field_text(info.bus_info); is_pci_address(place)) nic.pci = place;
}

void read_speed(const Ethtool& ethtool, Nic& nic) {
  ethtool_cmd settings{};  // supported by every kernel, and without the unused modes
  settings.cmd = ETHTOOL_GSET;
  if (!nic.carrier || !ethtool.ask(nic.name, &settings)) return;
  const std::uint32_t speed = ethtool_cmd_speed(&settings);
  if (speed <= kMaxSpeedMbps) nic.speed_mbps = speed;
  nic.full_duplex = settings.duplex == DUPLEX_FULL;
}

void read_own_mac(const Ethtool& ethtool, Nic& nic) {
  PermanentAddress address;
  if (!ethtool.ask(nic.name, &address) || address.size != kMacBytes) return;
  const std::span bytes = std::span(address.bytes).first<kMacBytes>();
  if (std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; })) return;
  nic.own_mac = fmt::format("{:02x}", fmt::join(bytes, ":"));
}

void read_flow_control(const Ethtool& ethtool, Nic& nic) {
  nic.pause = read_pause(ethtool, nic.name);
  const auto dcb = read_dcb(nic.name);
  nic.dcb = dcb.has_value();
  if (dcb && dcb->pfc) nic.pfc = dcb->pfc->priorities;
}

bool is_wanted(const Link& link, const std::set<std::string>& named, int holder) {
  if (link.loopback || !link.ethernet || link.kind == "bridge" || link.kind == "tun") return false;
  const bool hardware = link.kind.empty() && !link.parent.empty();
  return hardware || named.contains(link.name) || link.index == holder;
}

int find_holder(Links& links, const std::string& address) {
  if (address.empty()) return 0;
  const auto addresses = links.addresses();
  if (!addresses) return 0;
  for (const auto& [index, texts] : *addresses) {
    if (std::ranges::find(texts, address) != texts.end()) return index;
  }
  return 0;
}

}  // namespace

std::map<int, std::string> teams_of(const std::vector<Link>& links) {
  std::map<int, std::string> teams;
  for (const Link& link : links) {
    if (link.kind == "bond" || link.kind == "team") teams[link.index] = link.name;
  }
  return teams;
}

Result<std::vector<Nic>> list_nics(const std::set<std::string>& named, const std::string& address) {
  auto links = Links::open();
  if (!links) return std::unexpected(links.error());
  const auto all = links->list();
  if (!all) return std::unexpected(all.error());
  const Ethtool ethtool;
  if (!ethtool.opened()) return fail_by_system(Errc::kIo, "socket", errno);
  const int holder = find_holder(*links, address);
  const std::map<int, std::string> teams = teams_of(*all);
  std::vector<Nic> nics;
  for (const Link& link : *all) {
    if (!is_wanted(link, named, holder)) continue;
    Nic nic{.name = link.name,
            .kind = link.kind,
            .mac = link.mac,
            .mtu = link.mtu,
            .up = link.up,
            .carrier = link.carrier};
    if (const auto team = teams.find(link.master); team != teams.end()) nic.team = team->second;
    if (link.parent_bus == "pci") nic.pci = link.parent;
    read_driver(ethtool, nic);
    read_speed(ethtool, nic);
    read_flow_control(ethtool, nic);
    if (nic.kind.empty()) read_own_mac(ethtool, nic);
    nics.push_back(std::move(nic));
  }
  return nics;
}

}  // namespace paravane::ethernet
