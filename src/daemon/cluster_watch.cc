#include "daemon/cluster_watch.h"

#include <fmt/format.h>

namespace paravane::daemon {
namespace {

using control::Event;
using control::Severity;

Event of_host(const char* type, Severity severity, const std::string& host, std::string text) {
  return {.type = type, .severity = severity, .fields = {{"host", host}}, .text = std::move(text)};
}

}  // namespace

std::vector<Event> ClusterWatch::look(const std::string& self, const inventory::View* view) {
  std::vector<Event> events;
  if (self != self_) {
    if (!self_.empty()) {
      events.push_back(of_host("cluster.left", Severity::kInfo, self_,
                               fmt::format("this host, {}, is in the cluster no more", self_)));
      present_.clear();
      channels_.clear();
      has_looked_ = false;
    }
    if (!self.empty()) {
      events.push_back(of_host("cluster.member", Severity::kInfo, self,
                               fmt::format("this host is {} in a cluster", self)));
    }
    self_ = self;
  }
  // Until everything was read once it looks empty.
  if (!self_.empty() && view != nullptr && !view->hosts.empty()) look_at_hosts(*view, events);
  return events;
}

void ClusterWatch::look_at_hosts(const inventory::View& view, std::vector<Event>& events) {
  for (const auto& [name, host] : view.hosts) {
    if (name == self_ || !host.info) continue;
    const auto known = present_.find(name);
    if (known == present_.end()) {
      present_.emplace(name, true);
      if (!has_looked_) continue;
      events.push_back(of_host("cluster.host_joined", Severity::kInfo, name,
                               fmt::format("host {} is in the cluster", name)));
    } else if (!known->second) {
      known->second = true;
      events.push_back(of_host("cluster.host_back", Severity::kInfo, name,
                               fmt::format("host {} is back", name)));
    }
  }
  for (auto& [name, present] : present_) {
    const auto found = view.hosts.find(name);
    if (!present || (found != view.hosts.end() && found->second.info)) continue;
    present = false;
    events.push_back(of_host("cluster.host_away", Severity::kWarning, name,
                             fmt::format("host {} is away, or has left the cluster", name)));
  }
  has_looked_ = true;
}

std::vector<Event> ClusterWatch::on_channel(const std::string& host, const std::string& problem,
                                            Instant now) {
  Channel& channel = channels_[host];
  const bool open = problem.empty();
  if (open == channel.open) return {};
  const auto kept_back = channel.limit.allow(now);
  if (!kept_back) return {};
  channel.open = open;
  Event event = open ? of_host("channel.open", Severity::kInfo, host,
                               fmt::format("there is a channel to host {}", host))
                     : of_host("channel.lost", Severity::kWarning, host,
                               fmt::format("there is no channel to host {}: {}", host, problem));
  if (!open) event.fields["reason"] = problem;
  if (*kept_back > 0) event.fields["kept_back"] = std::to_string(*kept_back);
  return {std::move(event)};
}

}  // namespace paravane::daemon
