#include "umad_library/smi_gsi_pairs.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "umad_library/adapters.h"
#include "umad_library/resolve.h"

namespace paravane::umad_library {
namespace {

constexpr unsigned kDown = 1;  // umad_port_t::state
constexpr unsigned kTypeOfSwitch = 2;
constexpr std::size_t kMostPairs = 192;

using PortsOfGuid = std::map<std::uint64_t, int>;

template <typename Act>
void for_each_ca(Door& door, Act act) {
  const auto names = adapter_names(door);
  if (!names) return;
  for (const std::string& name : *names) {
    Ca ca;
    if (ca.load(door, name) == 0) act(*ca);
  }
}

PortsOfGuid count_ports(Door& door) {
  PortsOfGuid counts;
  for_each_ca(door, [&](const umad_ca_t& ca) {
    for (const umad_port_t* port : ca.ports) {
      if (port != nullptr) ++counts[port->port_guid];
    }
  });
  return counts;
}

bool is_named(const char* field, const char* name) {
  return std::strncmp(field, name, UMAD_CA_NAME_LEN) == 0;
}

void set_name(char* field, const char* name) {
  std::memcpy(field, name, UMAD_CA_NAME_LEN);
}

// An adapter alone with its port is both. Of several that share it, one has its SMI disabled.
void enter(CaPair& pair, const umad_ca_t& ca, const umad_port_t& port, bool is_shared) {
  const bool passes_smps = !is_smi_disabled(port);
  if (passes_smps) set_name(pair.smi_name, ca.ca_name);
  if (!passes_smps || !is_shared) set_name(pair.gsi_name, ca.ca_name);
}

bool is_up(const Ca& ca, int number) {
  const umad_port_t* port = ca.port(number);
  return port != nullptr && port->state > kDown;
}

bool choose_first_up(const Ca& ca, std::uint32_t& chosen) {
  for (int number = 0; number <= ca->numports; ++number) {
    if (!is_up(ca, number)) continue;
    chosen = static_cast<std::uint32_t>(number);
    return true;
  }
  return false;
}

// The one port of an adapter that has one.
int only_port(const Ca& ca, int otherwise) {
  if (ca->numports != 1) return otherwise;
  return ca.port(0) != nullptr ? 0 : 1;
}

bool choose_ports(CaPair& pair, const Ca& ca, bool is_gsi, int wanted, bool is_named_by_user) {
  const int port = only_port(ca, wanted);
  if (port == 0 && ca->node_type != kTypeOfSwitch) {
    const bool has_smi = choose_first_up(ca, pair.smi_preferred_port);
    return choose_first_up(ca, pair.gsi_preferred_port) && has_smi;
  }
  if (!is_named_by_user && !is_up(ca, port)) return false;
  const auto number = static_cast<std::uint32_t>(port);
  if (is_named(pair.gsi_name, pair.smi_name)) {
    pair.gsi_preferred_port = number;
    pair.smi_preferred_port = number;
    return true;
  }
  (is_gsi ? pair.gsi_preferred_port : pair.smi_preferred_port) = number;
  const bool has_other =
      choose_first_up(ca, is_gsi ? pair.smi_preferred_port : pair.gsi_preferred_port);
  return is_named_by_user || has_other;
}

}  // namespace

std::vector<CaPair> smi_gsi_pairs(Door& door, std::size_t most) {
  const PortsOfGuid counts = count_ports(door);
  std::vector<CaPair> pairs;
  std::map<std::uint64_t, std::size_t> of_guid;
  for_each_ca(door, [&](const umad_ca_t& ca) {
    for (const umad_port_t* port : ca.ports) {
      if (port == nullptr || port->port_guid == 0) continue;
      auto known = of_guid.find(port->port_guid);
      if (known == of_guid.end()) {
        if (pairs.size() >= most) continue;
        known = of_guid.emplace(port->port_guid, pairs.size()).first;
        pairs.emplace_back();
      }
      const auto count = counts.find(port->port_guid);
      enter(pairs[known->second], ca, *port, count != counts.end() && count->second > 1);
      return;  // an adapter is in one pair
    }
  });
  return pairs;
}

PairSearch find_pair(Door& door, const char* name, std::uint8_t portnum, bool needs_smi) {
  PairSearch search;
  const std::vector<CaPair> pairs = smi_gsi_pairs(door, kMostPairs);
  search.has_pairs = !pairs.empty();
  for (const CaPair& pair : pairs) {
    const bool has_smi = pair.smi_name[0] != '\0';
    if (pair.gsi_name[0] == '\0' || (needs_smi && !has_smi)) continue;
    const bool is_gsi_name = name != nullptr && is_named(pair.gsi_name, name);
    if (name != nullptr && !is_gsi_name && !is_named(pair.smi_name, name)) continue;
    const bool is_gsi = is_gsi_name || !has_smi;
    Ca ca;
    if (ca.load(door, is_gsi ? pair.gsi_name : pair.smi_name) != 0) continue;
    if (portnum != 0 && ca.port(portnum) == nullptr) continue;
    search.pair = pair;
    search.is_found = choose_ports(search.pair, ca, is_gsi, portnum, name != nullptr);
    if (search.is_found) break;
  }
  return search;
}

}  // namespace paravane::umad_library
