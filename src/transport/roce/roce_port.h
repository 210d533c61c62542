// RocePort is an adapter's side of the network with native RoCE endpoints: its door for frames, and
// the flows that have something to send through it.
//
// Owner thread only.

#pragma once

#include <optional>

#include "base/line.h"
#include "transport/roce/counters.h"
#include "transport/roce/flood_guard.h"
#include "transport/roce/frame_door.h"
#include "transport/roce/outlet.h"
#include "transport/roce/roce_flow.h"
#include "transport/roce/watched_door.h"
#include "verbs/adapter.h"
#include "wire/roce/headers.h"

namespace paravane::transport_roce {

struct RocePort {
  RocePort(verbs::Adapter& its_adapter, const wire::roce::MacBytes& its_mac)
      : adapter(its_adapter), mac(its_mac) {}

  verbs::Adapter& adapter;
  const wire::roce::MacBytes mac;
  std::optional<WatchedDoor> door;  // nullopt: it is closed
  Outlet outlet;
  FloodGuard guard;
  Line<RoceFlow> sending;
  RoceCounters counters;
};

}  // namespace paravane::transport_roce
