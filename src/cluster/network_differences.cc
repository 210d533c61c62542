#include "cluster/network_differences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace paravane::cluster {
namespace {

constexpr std::size_t kMostNamed = 32;

// "port group web, switch lan", "..., and 7 more".
std::string name_all(const NetworkDifferences& differences, std::string_view port_group,
                     std::string_view vds) {
  std::vector<std::string> names;
  names.reserve(differences.port_groups.size() + differences.switches.size());
  for (const std::string& name : differences.port_groups) {
    names.push_back(fmt::format("{} {}", port_group, name));
  }
  for (const std::string& name : differences.switches) {
    names.push_back(fmt::format("{} {}", vds, name));
  }
  const std::size_t more = names.size() - std::min(names.size(), kMostNamed);
  names.resize(names.size() - more);
  if (more > 0) names.push_back(fmt::format("and {} more", more));
  return fmt::format("{}", fmt::join(names, ", "));
}

bool is_same_there(const model::DistributedSwitch& own, const model::DistributedSwitch& shared,
                   const std::string& host) {
  const auto here = [&host](model::DistributedSwitch vds) {
    model::erase_other_members(vds, host);
    return vds;
  };
  return here(own) == here(shared);
}

}  // namespace

NetworkDifferences find_differences(const model::Network& own, const model::Network& shared,
                                    const std::string& host) {
  NetworkDifferences found;
  for (const auto& [name, vds] : own.switches) {
    const auto same = shared.switches.find(name);
    if (same != shared.switches.end() && is_same_there(vds, same->second, host)) continue;
    found.switches.push_back(name);
  }
  for (const auto& [name, group] : own.port_groups) {
    const auto same = shared.port_groups.find(name);
    const bool goes_with_switch =
        std::ranges::find(found.switches, group.vds) != found.switches.end();
    const bool is_same = same != shared.port_groups.end() && same->second == group;
    if (!is_same || goes_with_switch) found.port_groups.push_back(name);
  }
  return found;
}

model::Network without_others(model::Network network, const std::string& called) {
  for (auto& [name, vds] : network.switches) {
    model::erase_other_members(vds, called);
  }
  return network;
}

model::Network under_one_name(model::Network network, const std::string& host) {
  for (auto& [name, vds] : network.switches) {
    if (vds.hosts.empty()) continue;
    const std::string first = vds.hosts.begin()->first;
    model::erase_other_members(vds, first);
    model::rename_member(vds, first, host);
  }
  return network;
}

std::unexpected<model::ApiError> refuse_differences(const NetworkDifferences& differences,
                                                    std::string_view token) {
  return model::refuse(
      model::ApiErrorCode::kExists,
      fmt::format(
          "these switches and port groups of this host are missing or different in the cluster: {}",
          name_all(differences, "port group", "switch")),
      fmt::format("Delete these objects in this order: {}. Then join with {}.",
                  name_all(differences, "paravane portgroup delete", "paravane vds delete"),
                  token));
}

}  // namespace paravane::cluster
