// A part of `paravane vm check`: what other programs on this host do to the interfaces that a VM's
// frames pass: firewalls that filter bridged packets, and programs that configure networks. Facts
// are gathered here; their evaluation is a pure function.

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

// `links`: the VM's taps, their bridges and uplinks. `root`: before all paths ("" but in
// tests).
NetworkFacts gather_network_facts(const std::vector<std::string>& links,
                                  const std::filesystem::path& root = "/");

std::vector<model::CheckRow> check_network(const NetworkFacts& facts);

}  // namespace paravane::vmm
