#include "cluster/cluster_watch.h"

#include <fmt/core.h>

#include <utility>

namespace paravane::cluster {
namespace {

using model::Event;

model::Event of_host(const char* type, model::Severity severity, const std::string& host,
                     std::string text) {
  return {.type = type, .severity = severity, .fields = {{"host", host}}, .text = std::move(text)};
}

}  // namespace

std::vector<model::Event> ClusterWatch::look(const std::string& self, const inventory::View* view,
                                             Instant now) {
  std::vector<model::Event> events;
  if (self != self_) {
    if (!self_.empty()) {
      events.push_back(of_host("cluster.left", model::Severity::kInfo, self_,
                               fmt::format("this host, {}, is no longer in the cluster", self_)));
      hosts_.clear();
      channels_.clear();
      trunks_.clear();
      has_looked_ = false;
    }
    if (!self.empty()) {
      events.push_back(of_host(
          "cluster.member", model::Severity::kInfo, self,
          fmt::format("this host is a member of a cluster; its name in the cluster is {}", self)));
    }
    self_ = self;
  }
  // Until everything was read once it looks empty.
  if (!self_.empty() && view != nullptr && !view->hosts.empty()) look_at_hosts(*view, now, events);
  return events;
}

void ClusterWatch::look_at_hosts(const inventory::View& view, Instant now,
                                 std::vector<model::Event>& events) {
  for (const auto& [name, host] : view.hosts) {
    if (name == self_ || !host.info) continue;
    const auto [found, is_new] = hosts_.try_emplace(name);
    Told& told = found->second;
    if (is_new && !has_looked_) told.good = true;
    if (told.good) continue;
    tell(told, true,
         is_new ? of_host("cluster.host_joined", model::Severity::kInfo, name,
                          fmt::format("host {} has joined the cluster", name))
                : of_host("cluster.host_back", model::Severity::kInfo, name,
                          fmt::format("host {} is back in the cluster", name)),
         now, events);
  }
  for (auto& [name, told] : hosts_) {
    const auto found = view.hosts.find(name);
    if (!told.good || (found != view.hosts.end() && found->second.info)) continue;
    tell(told, false,
         of_host("cluster.host_away", model::Severity::kWarning, name,
                 fmt::format("host {} is unreachable, or has left the cluster", name)),
         now, events);
  }
  has_looked_ = true;
}

std::vector<model::Event> ClusterWatch::on_channel(const std::string& host,
                                                   const std::string& problem, Instant now) {
  std::vector<model::Event> events;
  Told& told = channels_[host];
  const bool open = problem.empty();
  if (open == told.good) return events;
  model::Event event =
      open ? of_host("channel.open", model::Severity::kInfo, host,
                     fmt::format("there is a channel to host {}", host))
           : of_host("channel.lost", model::Severity::kWarning, host,
                     fmt::format("there is no channel to host {}: {}", host, problem));
  if (!open) event.fields["reason"] = problem;
  tell(told, open, std::move(event), now, events);
  return events;
}

std::vector<model::Event> ClusterWatch::on_trunk(const std::string& host,
                                                 const std::string& adapter,
                                                 const std::string& problem, Instant now) {
  std::vector<model::Event> events;
  Told& told = trunks_[host];
  const bool open = problem.empty();
  if (open == told.good) return events;
  model::Event event =
      open ? of_host("hca.trunk.up", model::Severity::kInfo, host,
                     fmt::format("there is a trunk to host {} over {}", host, adapter))
           : of_host(
                 "hca.trunk.down", model::Severity::kWarning, host,
                 fmt::format("there is no trunk to host {} over {}: {}", host, adapter, problem));
  event.fields["adapter"] = adapter;
  if (!open) event.fields["reason"] = problem;
  tell(told, open, std::move(event), now, events);
  return events;
}

void ClusterWatch::tell(Told& told, bool good, model::Event event, Instant now,
                        std::vector<model::Event>& events) {
  const auto kept_back = told.limit.allow(now);
  if (!kept_back) return;
  told.good = good;
  if (*kept_back > 0) event.fields["kept_back"] = std::to_string(*kept_back);
  events.push_back(std::move(event));
}

}  // namespace paravane::cluster
