#include "subnet/subnet.h"

#include <algorithm>
#include <string>
#include <utility>

namespace paravane::subnet {

const std::string& Subnet::name_of(const Member& member) {
  return member.adapter->name();
}

Subnet::Subnet(std::string host, std::uint64_t switch_guid, const TurnClock& clock)
    : host_(std::move(host)),
      clock_(clock),
      switch_(switch_guid, host_ + " switch", kSwitchPorts, queue_, clock) {
  members_.reserve(kMostAdapters);
}

std::vector<PortNumber> Subnet::free_ports(std::size_t most) const {
  std::vector<PortNumber> free;
  for (unsigned port = 1; port <= kSwitchPorts && free.size() < most; ++port) {
    if (!switch_.is_attached(static_cast<PortNumber>(port)))
      free.push_back(static_cast<PortNumber>(port));
  }
  return free;
}

HostAdapter* Subnet::add(std::string name, const AdapterModel& model, std::uint64_t guid) {
  if (members_.size() >= kMostAdapters || find(name) != nullptr) return nullptr;
  Member member;
  const std::string description = host_ + " " + name;
  member.adapter = std::make_unique<HostAdapter>(std::move(name), model, guid, description, queue_,
                                                 clock_, &room_);
  HostAdapter& adapter = *member.adapter;
  member.switch_ports = free_ports(model.ports);
  for (const PortNumber place : member.switch_ports) {
    const auto number = static_cast<PortNumber>(member.links.size() + 1);
    member.links.push_back(std::make_unique<LocalLink>(
        LocalLink::Place{.node = adapter, .receiver = adapter, .number = number},
        LocalLink::Place{.node = switch_, .receiver = switch_, .number = place}, queue_));
  }
  // From here on nothing needs memory: the switch never has an end of a link that is gone.
  for (std::size_t i = 0; i < member.links.size(); ++i) {
    adapter.attach(static_cast<PortNumber>(i + 1), member.links[i]->one());
    switch_.attach(member.switch_ports[i], member.links[i]->other());
  }
  const auto place = std::ranges::upper_bound(members_, adapter.name(), {}, name_of);
  members_.insert(place, std::move(member));
  return &adapter;
}

void Subnet::remove(std::string_view name) {
  const auto found = std::ranges::find_if(
      members_, [name](const Member& member) { return member.adapter->name() == name; });
  if (found == members_.end()) return;
  for (const PortNumber port : found->switch_ports) switch_.detach(port);
  members_.erase(found);
}

HostAdapter* Subnet::find(std::string_view name) {
  const auto found = std::ranges::find_if(
      members_, [name](const Member& member) { return member.adapter->name() == name; });
  return found == members_.end() ? nullptr : found->adapter.get();
}

std::vector<HostAdapter*> Subnet::adapters() const {
  std::vector<HostAdapter*> all;
  all.reserve(members_.size());
  for (const Member& member : members_) all.push_back(member.adapter.get());
  return all;
}

std::vector<Subnet::Linked> Subnet::links() const {
  std::vector<Linked> all;
  for (const Member& member : members_) {
    for (std::size_t i = 0; i < member.switch_ports.size(); ++i)
      all.push_back({.port = member.switch_ports[i],
                     .peer = member.adapter->name() + " port " + std::to_string(i + 1)});
  }
  std::ranges::sort(all, {}, &Linked::port);
  return all;
}

bool Subnet::turn() {
  for (const Member& member : members_) {
    for (const auto& link : member.links) link->judge();
  }
  queue_.deliver(kPacketsPerTurn);
  switch_.on_time(clock_.now);
  for (const Member& member : members_) member.adapter->on_time(clock_.now);
  // An order may come without a packet that follows: its answer is lost with the link.
  const bool is_link_due = std::ranges::any_of(members_, [](const Member& member) {
    return std::ranges::any_of(member.links, [](const auto& link) { return link->is_due(); });
  });
  return is_link_due || !queue_.empty();
}

Instant Subnet::next_deadline() const {
  Instant next = switch_.next_deadline();
  for (const Member& member : members_) next = std::min(next, member.adapter->next_deadline());
  return next;
}

}  // namespace paravane::subnet
