// HostNetwork: the adapters and VMkernel interfaces that keep a port group from being deleted, and
// a host in a switch.

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "host/host_network.h"

namespace paravane::host {
namespace {

constexpr std::size_t kMostNamed = 8;  // of those in use, in one message

// "a, b and 3 more are", "a is".
std::string subject(const std::vector<std::string>& users) {
  const std::string named =
      fmt::format("{}", fmt::join(users | std::views::take(kMostNamed), ", "));
  if (users.size() <= kMostNamed) return named + (users.size() == 1 ? " is" : " are");
  return fmt::format("{} and {} more are", named, users.size() - kMostNamed);
}

// `command`: what it takes for one of them.
std::string remedy(const std::vector<std::string>& users, std::string_view what,
                   std::string_view command) {
  return fmt::format("{} {} first: {}", what, users.size() == 1 ? "it" : "each of them", command);
}

}  // namespace

std::vector<std::string> HostNetwork::adapters_in(const std::string& port_group,
                                                  Owner owner) const {
  std::vector<std::string> users;
  for (const PortUse& use : uses_()) {
    const bool is_service = use.adapter.number == 0;
    if (use.port_group == port_group && is_service == (owner == Owner::kService)) {
      users.push_back(to_string(use.adapter));
    }
  }
  return users;
}

std::vector<std::string> HostNetwork::vmknics_in(const std::string& port_group) const {
  std::vector<std::string> users;
  for (const model::Vmknic& vmknic : vmknics()) {
    if (vmknic.port_group == port_group) users.push_back(vmknic.name);
  }
  return users;
}

std::vector<std::string> HostNetwork::adapters_elsewhere(const std::string& port_group) const {
  std::vector<std::string> users;
  if (!view_) return users;
  for (const auto& [name, host] : view_->hosts) {
    if (name == config_.host) continue;
    for (const auto& [id, adapter] : host.adapters) {
      if (adapter.port_group != port_group) continue;
      users.push_back(fmt::format("{} of host {}", to_string(id), name));
    }
  }
  return users;
}

model::ApiResult<void> HostNetwork::check_unused(const std::string& name) const {
  const auto in_use = [&name](const std::vector<std::string>& users, std::string fix) {
    return model::refuse(model::ApiErrorCode::kInUse,
                         fmt::format("{} in port group {}", subject(users), name), std::move(fix));
  };
  if (const auto users = adapters_in(name, Owner::kVm); !users.empty()) {
    return in_use(users, remedy(users, "Move",
                                "paravane vm set VM --adapter NUMBER --port-group GROUP|none"));
  }
  if (const auto users = adapters_in(name, Owner::kService); !users.empty()) {
    return in_use(users,
                  remedy(users, "Move",
                         "paravane infiniband vmhba set " + users.front() + " --port-group none"));
  }
  if (const auto users = vmknics_in(name); !users.empty()) {
    return in_use(
        users, remedy(users, "Remove", "paravane network ip interface remove -i " + users.front()));
  }
  if (const auto users = adapters_elsewhere(name); !users.empty()) {
    return in_use(users, remedy(users, "Move",
                                "paravane vm set VM --adapter NUMBER --port-group GROUP|none   # "
                                "on its host"));
  }
  return {};
}

model::ApiResult<void> HostNetwork::check_unused_on(const std::string& host,
                                                    const std::string& vds) const {
  const auto in_switch = [&](const std::string& port_group) {
    const auto group = network_.port_groups.find(port_group);
    return group != network_.port_groups.end() && group->second.vds == vds;
  };
  std::vector<std::string> users;
  const auto note = [&](const std::string& user, const std::string& port_group) {
    if (in_switch(port_group)) users.push_back(fmt::format("{} (port group {})", user, port_group));
  };
  if (host == config_.host) {
    for (const PortUse& use : uses_()) note(to_string(use.adapter), use.port_group);
    for (const model::Vmknic& vmknic : vmknics()) note(vmknic.name, vmknic.port_group);
  } else if (view_ && view_->hosts.contains(host)) {
    for (const auto& [id, adapter] : view_->hosts.at(host).adapters) {
      note(to_string(id), adapter.port_group);
    }
  }
  if (users.empty()) return {};
  return model::refuse(
      model::ApiErrorCode::kInUse,
      fmt::format("{} on switch {} at host {}", subject(users), vds, host),
      remedy(users, "Move",
             "paravane vm set VM --adapter NUMBER --port-group GROUP|none, for a VMkernel "
             "interface paravane network ip interface remove -i NAME, or for a storage adapter "
             "paravane infiniband vmhba set VMHBA --port-group GROUP|none   # on host " +
                 host));
}

}  // namespace paravane::host
