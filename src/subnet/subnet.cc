#include "subnet/subnet.h"

#include <algorithm>
#include <string>
#include <utility>

namespace paravane::subnet {

Subnet::Subnet(std::string host, std::uint64_t switch_guid, const TurnClock& clock)
    : host_(std::move(host)),
      clock_(clock),
      switch_(switch_guid, host_ + " switch", kSwitchPorts, queue_, clock) {}

PortNumber Subnet::free_port() const {
  for (unsigned port = 1; port <= kSwitchPorts; ++port) {
    if (!switch_.is_attached(static_cast<PortNumber>(port))) return static_cast<PortNumber>(port);
  }
  return 0;
}

HostAdapter* Subnet::add(std::string name, const AdapterModel& model, std::uint64_t guid) {
  if (members_.size() >= kMostAdapters || find(name) != nullptr) return nullptr;
  Member member;
  const std::string description = host_ + " " + name;
  member.adapter =
      std::make_unique<HostAdapter>(std::move(name), model, guid, description, queue_, clock_);
  HostAdapter& adapter = *member.adapter;
  for (PortNumber number = 1; number <= model.ports; ++number) {
    const PortNumber place = free_port();
    if (place == 0) break;
    auto link = std::make_unique<LocalLink>(
        LocalLink::Place{.node = adapter, .receiver = adapter, .number = number},
        LocalLink::Place{.node = switch_, .receiver = switch_, .number = place}, queue_);
    adapter.attach(number, link->one());
    switch_.attach(place, link->other());
    member.switch_ports.push_back(place);
    member.links.push_back(std::move(link));
  }
  members_.push_back(std::move(member));
  std::ranges::sort(members_, {}, [](const Member& one) { return one.adapter->name(); });
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
