#include "worker/service_ports.h"

#include <algorithm>
#include <utility>

#include "base/undo.h"

namespace paravane::worker {

bool ServicePorts::has(const model::AdapterName& name) const {
  return std::ranges::any_of(places_,
                             [&name](const auto& entry) { return entry.second.name == name; });
}

std::map<verbs::AdapterId, model::AdapterName> ServicePorts::names() const {
  std::map<verbs::AdapterId, model::AdapterName> names;
  for (const auto& [id, place] : places_) names.emplace(id, place.name);
  return names;
}

ServicePorts::Place* ServicePorts::find(const model::AdapterName& name) {
  const auto found = std::ranges::find_if(
      places_, [&name](const auto& entry) { return entry.second.name == name; });
  return found == places_.end() ? nullptr : &found->second;
}

void ServicePorts::add(verbs::AdapterId id, const model::AdapterName& name) {
  places_.emplace(id, Place{.name = name});
}

void ServicePorts::attach(verbs::Adapter& adapter, neighbour::Resolver* resolver) {
  Place& place = places_.at(adapter.id());
  place.adapter = &adapter;
  place.resolver = resolver;
  const auto door = doors_.find(place.name);
  if (door == doors_.end() || connect(place, *door->second)) return;
  doors_.erase(door);
  if (on_lost_) on_lost_(place.name);
}

void ServicePorts::detach(verbs::Adapter& adapter) {
  Place& place = places_.at(adapter.id());
  if (const auto door = doors_.find(place.name); door != doors_.end()) {
    disconnect(place, *door->second);
  }
  place.adapter = nullptr;
  place.resolver = nullptr;
}

Status ServicePorts::open(const model::AdapterName& name,
                          std::unique_ptr<transport_roce::TapDoor> tap) {
  close(name);
  const auto door =
      doors_.emplace(name, std::make_unique<ServiceDoor>(std::move(tap), network_.clock)).first;
  Undo forget([&] { doors_.erase(door); });
  if (Place* place = find(name); place != nullptr && place->adapter != nullptr) {
    if (Status connected = connect(*place, *door->second); !connected) return connected;
  }
  forget.keep();
  return {};
}

void ServicePorts::close(const model::AdapterName& name) {
  const auto door = doors_.find(name);
  if (door == doors_.end()) return;
  if (const Place* place = find(name); place != nullptr && place->adapter != nullptr) {
    disconnect(*place, *door->second);
  }
  doors_.erase(door);
}

Status ServicePorts::connect(Place& place, ServiceDoor& door) {
  if (place.resolver == nullptr) return {};
  Status watched = network_.tenant.watch(place.adapter->id(), door.fd(), [this, name = place.name] {
    close(name);
    if (on_lost_) on_lost_(name);
  });
  if (!watched) return watched;
  Undo leave([&] { disconnect(place, door); });
  network_.roce.attach(*place.adapter, place.resolver->station().mac, door);
  network_.directory.set_native(place.adapter->id(), &network_.roce);
  door.use(place.resolver);
  leave.keep();
  return {};
}

void ServicePorts::disconnect(const Place& place, ServiceDoor& door) {
  if (place.resolver == nullptr) return;
  door.use(nullptr);
  network_.directory.set_native(place.adapter->id(), nullptr);
  network_.roce.detach(*place.adapter);
  network_.tenant.unwatch(door.fd());
}

}  // namespace paravane::worker
