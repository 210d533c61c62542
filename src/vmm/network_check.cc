#include "vmm/network_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <net/if.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

namespace paravane::vmm {
namespace {

using model::CheckRows;
namespace fs = std::filesystem;

constexpr const char* kFilters = "Bridged packets";
constexpr const char* kNetworkd = "systemd-networkd";
constexpr const char* kNetworkManager = "NetworkManager";
constexpr int kMaxLines = 1000;  // of a file of another program's

// "KEY=value" and "key = value"; the last of a key counts.
std::optional<std::map<std::string, std::string>> read_settings(const fs::path& file) {
  std::ifstream input(file);
  if (!input) return std::nullopt;
  const auto trim = [](std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\"";
    const std::size_t first = std::min(text.find_first_not_of(kBlank), text.size());
    text.remove_prefix(first);
    return std::string(text.substr(0, text.find_last_not_of(kBlank) + 1));
  };
  std::map<std::string, std::string> settings;
  std::string line;
  for (int i = 0; i < kMaxLines && std::getline(input, line); ++i) {
    const std::size_t mark = line.find('=');
    if (mark == std::string::npos) continue;
    const std::string_view text = line;
    settings[trim(text.substr(0, mark))] = trim(text.substr(mark + 1));
  }
  return settings;
}

std::string value_of(const std::map<std::string, std::string>& settings, const char* key) {
  const auto found = settings.find(key);
  return found == settings.end() ? std::string() : found->second;
}

bool is_yes(const std::string& text) {
  return text == "yes" || text == "true" || text == "on" || text == "1";
}

// Of a .network file and what is dropped in beside it.
bool keeps_master(const fs::path& root, const std::string& file) {
  const auto says_so = [](const fs::path& one) {
    const auto settings = read_settings(one);
    return settings && is_yes(value_of(*settings, "KeepMaster"));
  };
  const fs::path path = fs::path(file).relative_path();
  if (says_so(root / path)) return true;
  for (const char* place : {"etc/systemd/network", "run/systemd/network", "usr/lib/systemd/network",
                            "lib/systemd/network"}) {
    std::error_code none;
    fs::directory_iterator dropped(root / place / (path.filename().string() + ".d"), none);
    for (; !none && dropped != fs::directory_iterator(); dropped.increment(none)) {
      if (says_so(dropped->path())) return true;
    }
  }
  return false;
}

void look_at_networkd(const fs::path& root, const std::string& link, const std::string& index,
                      NetworkFacts& facts) {
  const auto state = read_settings(root / "run/systemd/netif/links" / index);
  if (!state) return;
  const std::string admin = value_of(*state, "ADMIN_STATE");
  const std::string file = value_of(*state, "NETWORK_FILE");
  if (admin.empty() || admin == "unmanaged" || admin == "pending" || file.empty()) return;
  facts.networkd.push_back(link);
  if (!keeps_master(root, file)) facts.bridgeless.push_back(link);
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

NetworkFacts gather_network_facts(const std::vector<std::string>& links, const fs::path& root) {
  NetworkFacts facts;
  for (const char* filter : {"iptables", "ip6tables", "arptables"}) {
    std::ifstream setting(root / "proc/sys/net/bridge" / fmt::format("bridge-nf-call-{}", filter));
    std::string value;
    if (setting >> value && value != "0") facts.filters.emplace_back(filter);
  }
  for (const std::string& link : links) {
    const unsigned index = ::if_nametoindex(link.c_str());
    if (index == 0) continue;
    const std::string number = std::to_string(index);
    look_at_networkd(root, link, number, facts);
    const auto device = read_settings(root / "run/NetworkManager/devices" / number);
    if (device && is_yes(value_of(*device, "managed"))) facts.network_manager.push_back(link);
  }
  return facts;
}

std::vector<model::CheckRow> check_network(const NetworkFacts& facts) {
  CheckRows rows;
  if (facts.filters.empty()) {
    rows.ok(kFilters, "not filtered by this host's firewall");
  } else {
    std::string cure = "sysctl -w";
    for (const std::string& filter : facts.filters) {
      cure += fmt::format(" net.bridge.bridge-nf-call-{}=0", filter);
    }
    rows.warn(kFilters,
              fmt::format("br_netfilter passes the VM's frames to {}: this host's own firewall "
                          "rules apply to the frames and may drop them",
                          joined(facts.filters)),
              cure + "   # to make it permanent: /usr/share/doc/paravane/docs/switch.md");
  }
  if (!facts.bridgeless.empty()) {
    rows.warn(kNetworkd,
              fmt::format("configures {} without KeepMaster=yes and removes {} from the switch",
                          joined(facts.bridgeless), facts.bridgeless.size() == 1 ? "it" : "them"),
              fmt::format("networkctl edit {}   # [Network] KeepMaster=yes: "
                          "/usr/share/doc/paravane/docs/switch.md",
                          facts.bridgeless.front()));
  } else {
    rows.ok(kNetworkd, facts.networkd.empty()
                           ? "does not touch the switch"
                           : fmt::format("keeps {} in the switch", joined(facts.networkd)));
  }
  if (facts.network_manager.empty()) {
    rows.ok(kNetworkManager, "does not touch the switch");
  } else {
    rows.warn(
        kNetworkManager,
        fmt::format("manages {} and may remove {} from the switch", joined(facts.network_manager),
                    facts.network_manager.size() == 1 ? "it" : "them"),
        fmt::format("nmcli device set {} managed no   # to make it permanent: "
                    "/usr/share/doc/paravane/docs/switch.md",
                    facts.network_manager.front()));
  }
  return rows.take();
}

}  // namespace paravane::vmm
