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
      switch_(switch_guid, description_of("switch"), kSwitchPorts, queue_, clock) {
  members_.reserve(kMostAdapters);
}

std::string Subnet::description_of(std::string_view node) const {
  return host_ + " " + std::string(node);
}

void Subnet::set_host(std::string host) {
  host_ = std::move(host);
  switch_.describe(description_of("switch"));
  for (const Member& member : members_)
    member.adapter->describe(description_of(member.adapter->name()));
}

std::vector<PortNumber> Subnet::free_ports(PortNumber first, PortNumber last, std::size_t most,
                                           std::span<const PortNumber> places) const {
  std::vector<PortNumber> free;
  const auto take = [&](unsigned port) {
    const auto number = static_cast<PortNumber>(port);
    if (free.size() < most && port >= first && port <= last && !switch_.is_attached(number) &&
        !kept_.contains(number) && std::ranges::find(free, number) == free.end())
      free.push_back(number);
  };
  for (const PortNumber place : places) take(place);
  for (unsigned port = first; port <= last; ++port) take(port);
  return free;
}

std::vector<PortNumber> Subnet::linked_ports(const AdapterModel& model) {
  std::vector<PortNumber> ports;
  for (PortNumber number = 1; number <= model.ports; ++number) {
    if (!model.is_ethernet(number)) ports.push_back(number);
  }
  return ports;
}

HostAdapter* Subnet::add(std::string name, const AdapterModel& model, std::uint64_t guid,
                         std::span<const PortNumber> places) {
  if (members_.size() >= kMostAdapters || find(name) != nullptr) return nullptr;
  Member member;
  const std::string description = description_of(name);
  member.adapter = std::make_unique<HostAdapter>(std::move(name), model, guid, description, queue_,
                                                 clock_, &room_);
  HostAdapter& adapter = *member.adapter;
  member.ports = linked_ports(model);
  member.switch_ports = free_ports(1, kFirstCablePort - 1, member.ports.size(), places);
  for (const PortNumber place : member.switch_ports) {
    const PortNumber number = member.ports[member.links.size()];
    member.links.push_back(std::make_unique<LocalLink>(
        LocalLink::Place{.node = adapter, .receiver = adapter, .number = number},
        LocalLink::Place{.node = switch_, .receiver = switch_, .number = place}, queue_));
  }
  // From here on nothing needs memory: the switch never has an end of a link that is gone.
  for (std::size_t i = 0; i < member.links.size(); ++i) {
    adapter.attach(member.ports[i], member.links[i]->one());
    switch_.attach(member.switch_ports[i], member.links[i]->other());
    switch_.keep_source(member.switch_ports[i]);
  }
  const auto place = std::ranges::upper_bound(members_, adapter.name(), {}, name_of);
  members_.insert(place, std::move(member));
  ++changes_;
  return &adapter;
}

void Subnet::remove(std::string_view name) {
  const auto found = std::ranges::find_if(
      members_, [name](const Member& member) { return member.adapter->name() == name; });
  if (found == members_.end()) return;
  changes_ += found->adapter->changes() + 1;
  for (const PortNumber port : found->switch_ports) switch_.detach(port);
  members_.erase(found);
}

std::optional<PortNumber> Subnet::attach_cable(std::string host, LinkEnd& end) {
  const auto kept =
      std::ranges::find(kept_, host, [](const auto& one) -> const auto& { return one.second; });
  std::vector<PortNumber> free = free_ports(kFirstCablePort, kSwitchPorts, 1);
  if (kept != kept_.end()) free = {kept->first};
  if (free.empty()) return std::nullopt;
  const PortNumber port = free.front();
  cables_[port] = std::move(host);
  kept_.erase(port);
  switch_.attach(port, end);
  switch_.let_manage(port, false);
  ++changes_;
  return port;
}

void Subnet::detach_cable(PortNumber port) {
  if (cables_.erase(port) == 0) return;
  ++changes_;
  switch_.detach(port);
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
                     .peer = member.adapter->name() + " port " + std::to_string(member.ports[i])});
  }
  for (const auto& [port, host] : cables_) all.push_back({.port = port, .peer = "host " + host});
  std::ranges::sort(all, {}, &Linked::port);
  return all;
}

std::optional<PortNumber> Subnet::switch_port_of(std::string_view adapter, PortNumber port) const {
  for (const Member& member : members_) {
    if (name_of(member) != adapter) continue;
    const auto linked = std::ranges::find(member.ports, port);
    if (linked == member.ports.end()) return std::nullopt;
    return member.switch_ports[static_cast<std::size_t>(linked - member.ports.begin())];
  }
  return std::nullopt;
}

std::map<PortNumber, std::string> Subnet::cables() const {
  std::map<PortNumber, std::string> all = cables_;
  all.insert(kept_.begin(), kept_.end());
  return all;
}

std::uint64_t Subnet::changes() const {
  std::uint64_t all = changes_ + switch_.changes();
  for (const Member& member : members_) all += member.adapter->changes();
  return all;
}

// ---- From one engine to the next ----

SubnetImage Subnet::image() const {
  SubnetImage image{.the_switch = switch_.image()};
  for (const Member& member : members_) {
    AdapterImage& adapter = image.adapters.emplace_back(member.adapter->image());
    for (std::size_t i = 0; i < member.ports.size(); ++i)
      adapter.ports[member.ports[i] - 1U].switch_port = member.switch_ports[i];
  }
  for (const auto& [port, host] : cables_) {
    if (!switch_.port(port)->is_down()) image.cables.push_back({.port = port, .host = host});
  }
  return image;
}

HostAdapter* Subnet::add_at_places(const AdapterWish& wish, const AdapterImage& image) {
  if (image.ports.size() != wish.model.ports) return nullptr;
  std::vector<PortNumber> places;
  for (const PortNumber port : linked_ports(wish.model))
    places.push_back(image.ports[port - 1U].switch_port);
  if (free_ports(1, kFirstCablePort - 1, places.size(), places) != places) return nullptr;
  HostAdapter* adapter = add(wish.name, wish.model, wish.guid, places);
  if (adapter == nullptr || adapter->can_be(image)) return adapter;
  remove(wish.name);
  return nullptr;
}

void Subnet::keep_cables(const SubnetImage& image) {
  for (const SubnetImage::Cable& cable : image.cables) {
    const bool is_of_cables = cable.port >= kFirstCablePort && cable.port <= kSwitchPorts;
    if (is_of_cables &&
        std::ranges::count(image.cables, cable.host, &SubnetImage::Cable::host) == 1)
      kept_.emplace(cable.port, cable.host);
  }
  kept_until_ = clock_.now + kKeepsCables;
}

void Subnet::drop_kept() {
  while (!kept_.empty()) {
    switch_.port(kept_.begin()->first)->link_down();  // first: what finds no memory is tried again
    kept_.erase(kept_.begin());
  }
}

std::vector<std::string> Subnet::adopt(const SubnetImage& image,
                                       const std::vector<AdapterWish>& wishes) {
  if (!switch_.can_be(image.the_switch)) return {"the switch is another, or cannot be so"};
  std::vector<std::string> anew;
  PortMask keeps{};
  std::vector<std::pair<HostAdapter*, const AdapterImage*>> adopted;
  for (const AdapterWish& wish : wishes) {
    const auto of_it = std::ranges::find(image.adapters, wish.name, &AdapterImage::name);
    HostAdapter* adapter = of_it == image.adapters.end() ? nullptr : add_at_places(wish, *of_it);
    if (adapter == nullptr) {
      anew.push_back(of_it == image.adapters.end() ? wish.name + " was not there"
                                                   : wish.name + " is another, or cannot be so");
      continue;
    }
    adopted.emplace_back(adapter, &*of_it);
    for (const PortNumber number : linked_ports(wish.model))
      add_port(keeps, of_it->ports[number - 1U].switch_port);
  }
  keep_cables(image);
  for (const auto& [port, host] : kept_) add_port(keeps, port);
  switch_.adopt(image.the_switch, keeps);
  for (const auto& [adapter, of_it] : adopted) adapter->adopt(*of_it);
  return anew;
}

bool Subnet::turn() {
  for (const Member& member : members_) {
    for (const auto& link : member.links) link->judge();
  }
  if (clock_.now >= kept_until_) drop_kept();
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
  if (!kept_.empty()) next = std::min(next, kept_until_);
  for (const Member& member : members_) next = std::min(next, member.adapter->next_deadline());
  return next;
}

}  // namespace paravane::subnet
