// Checks the network interfaces of a VM for interference by other programs on this host, as a part
// of `paravane vm check`. It finds firewalls that filter bridged packets, and programs that
// configure the VM's taps, bridges and uplinks.
//
// One function gathers the facts. Another function, which is pure, evaluates them.

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/check_row.h"

namespace paravane::vmm {

struct NetworkFacts {
  std::vector<std::string> filters{};     // "iptables": br_netfilter sends it frames of bridges
  std::vector<std::string> networkd{};    // interfaces that systemd-networkd configures
  std::vector<std::string> bridgeless{};  // of them those that it takes out of bridges
  std::vector<std::string> network_manager{};  // interfaces that NetworkManager does

  friend bool operator==(const NetworkFacts&, const NetworkFacts&) = default;
};

// `links`: the VM's taps, their bridges and uplinks. `root`: the root of all paths ("/" except in
// tests).
NetworkFacts gather_network_facts(const std::vector<std::string>& links,
                                  const std::filesystem::path& root = "/");

std::vector<model::CheckRow> check_network(const NetworkFacts& facts);

}  // namespace paravane::vmm
