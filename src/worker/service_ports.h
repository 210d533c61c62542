// ServicePorts: the adapters of host services on one worker, and the RoCE ports through which they
// reach native endpoints. A port stays when its adapter is made anew under the same name.
//
// Worker thread only.

#pragma once

#include <functional>
#include <map>
#include <memory>

#include "base/turn_clock.h"
#include "fabric/directory.h"
#include "model/adapter_name.h"
#include "neighbour/resolver.h"
#include "transport/roce/roce_transport.h"
#include "transport/roce/tap_door.h"
#include "verbs/adapter.h"
#include "worker/roce_tenant.h"
#include "worker/service_door.h"

namespace paravane::worker {

class ServicePorts {
 public:
  struct Network {
    transport_roce::RoceTransport& roce;
    RoceTenant& tenant;
    fabric::Directory& directory;
    const TurnClock& clock;
  };
  // Another program has deleted the interface of a port, which is closed now.
  using OnLost = std::function<void(const model::AdapterName&)>;
  // What the network refers to outlives it.
  ServicePorts(const Network& network, OnLost on_lost)
      : network_(network), on_lost_(std::move(on_lost)) {}

  bool has(const model::AdapterName& name) const;
  std::map<verbs::AdapterId, model::AdapterName> names() const;
  // The adapter has a place in the directory.
  void add(verbs::AdapterId id, const model::AdapterName& name);
  // `resolver`: knows the Ethernet of its port; outlives the attachment. nullptr: the adapter
  // reaches no native endpoints.
  void attach(verbs::Adapter& adapter, neighbour::Resolver* resolver);
  void detach(verbs::Adapter& adapter);
  void remove(verbs::AdapterId id) { places_.erase(id); }

  // Of an adapter that is there, or comes later. Errors: as EventLoop::watch().
  Status open(const model::AdapterName& name, std::unique_ptr<transport_roce::TapDoor> tap);
  // A name without a port is no error.
  void close(const model::AdapterName& name);

 private:
  struct Place {
    model::AdapterName name;
    verbs::Adapter* adapter = nullptr;  // nullptr: it is not attached
    neighbour::Resolver* resolver = nullptr;
  };
  Place* find(const model::AdapterName& name);
  Status connect(Place& place, ServiceDoor& door);
  void disconnect(const Place& place, ServiceDoor& door);

  const Network network_;
  const OnLost on_lost_;
  std::map<verbs::AdapterId, Place> places_;
  std::map<model::AdapterName, std::unique_ptr<ServiceDoor>> doors_;
};

}  // namespace paravane::worker
