#include "subnet_host/link_watch.h"

#include <algorithm>
#include <utility>

#include "subnet_host/port_status.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::subnet_host {
namespace {

using Of = LinkNews::Of;

// A link that goes down may be up again before a turn is over.
constexpr const char* kTrainedAnew =
    "its link was trained anew, and no subnet manager has set it up since";

std::string reason_of(Of of, const subnet::Port* port) {
  if (of == Of::kManager || port == nullptr) return {};
  return of == Of::kPort && !port->is_down() ? kTrainedAnew : problem_of(*port);
}

}  // namespace

LinkWatch::Places LinkWatch::places_of(const subnet::Subnet& subnet) {
  Places places;
  for (const subnet::HostAdapter* adapter : subnet.adapters()) {
    for (subnet::PortNumber port = 1; port <= adapter->ports(); ++port) {
      if (adapter->model().is_ethernet(port)) continue;
      for (const Of of : {Of::kPort, Of::kManager})
        places[{.of = of, .name = adapter->name(), .port = port}] = adapter->port(port);
    }
  }
  for (const auto& [port, host] : subnet.cables())
    places[{.of = Of::kCable, .name = host, .port = 0}] = subnet.the_switch().port(port);
  return places;
}

bool LinkWatch::is_up(const Place& place, const subnet::Port& port) {
  switch (place.of) {
    case Of::kPort: return port.is_active();
    case Of::kManager: return (port.capabilities() & wire::infiniband::capability::kIsManager) != 0;
    case Of::kCable: return !port.is_down();
  }
  return false;
}

std::vector<LinkNews> LinkWatch::states_of(const subnet::Subnet& subnet) {
  std::vector<LinkNews> states;
  for (const auto& [place, port] : places_of(subnet))
    states.push_back(
        {.of = place.of, .name = place.name, .port = place.port, .is_up = is_up(place, *port)});
  return states;
}

void LinkWatch::adopt(const subnet::Subnet& subnet, const subnet::SubnetImage& left, Instant now) {
  watched_.clear();
  for (const auto& [place, port] : places_of(subnet)) {
    Watched& watched = watched_[place];
    watched.is_up = watched.was_told_up = is_up(place, *port);
  }
  for (const subnet::AdapterImage& adapter : left.adapters) {
    for (std::size_t i = 0; i < adapter.ports.size(); ++i) {
      const Place place{
          .of = Of::kManager, .name = adapter.name, .port = static_cast<subnet::PortNumber>(i + 1)};
      const std::uint32_t capabilities = adapter.ports[i].port.info.capabilities.get();
      const auto found = watched_.find(place);
      if (found == watched_.end() || (capabilities & wire::infiniband::capability::kIsManager) == 0)
        continue;
      found->second.was_told_up = true;
      found->second.retry = now + kManagersReturn;
    }
  }
  next_ = now;
}

void LinkWatch::look(const subnet::Subnet& subnet, Instant now) {
  if (subnet.changes() == seen_changes_ && now < next_) return;
  next_ = now;  // as long as not all is told
  const Places there = places_of(subnet);
  forget_gone(there, now);
  for (const auto& [place, port] : there) judge(place, port, watched_[place], now);
  Instant next = kNever;
  for (const auto& [place, watched] : watched_) next = std::min(next, watched.retry);
  seen_changes_ = subnet.changes();
  next_ = next;
}

// What is known of a cable stays, so that one that is pulled out and in has one limit.
void LinkWatch::forget_gone(const Places& there, Instant now) {
  for (auto it = watched_.begin(); it != watched_.end();) {
    auto& [place, watched] = *it;
    if (!there.contains(place) && place.of != Of::kCable) {
      it = watched_.erase(it);
      continue;
    }
    if (!there.contains(place)) judge(place, nullptr, watched, now);
    ++it;
  }
}

void LinkWatch::judge(const Place& place, const subnet::Port* port, Watched& watched, Instant now) {
  const bool up = port != nullptr && is_up(place, *port);
  const bool has_changed = std::exchange(watched.is_up, up) != up;
  if (up == watched.was_told_up) {
    watched.retry = kNever;
    return;
  }
  if (!has_changed && now < watched.retry) return;
  watched.retry = std::min(watched.retry, now);  // what finds no memory is tried again
  LinkNews news{.of = place.of, .name = place.name, .port = place.port, .is_up = up};
  if (!up) news.reason = reason_of(place.of, port);
  const auto kept_back = watched.limit.allow(now);
  if (!kept_back) {
    watched.retry = now + kWindow;
    return;
  }
  news.kept_back = *kept_back;
  if (tell_) tell_(news);
  watched.was_told_up = up;
  watched.retry = kNever;
}

}  // namespace paravane::subnet_host
