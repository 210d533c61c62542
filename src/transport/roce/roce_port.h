// RocePort is an adapter's side of the network with native RoCE endpoints: its door for frames, and
// the flows that have something to send through it.
//
// Owner thread only.

#pragma once

#include <memory>
#include <optional>

#include "base/line.h"
#include "transport/roce/counters.h"
#include "transport/roce/flood_guard.h"
#include "transport/roce/flow_facts.h"
#include "transport/roce/frame_door.h"
#include "transport/roce/outlet.h"
#include "transport/roce/roce_flow.h"
#include "transport/roce/router_probes.h"
#include "transport/roce/shared_window.h"
#include "transport/roce/watched_door.h"
#include "verbs/adapter.h"
#include "wire/roce/headers.h"

namespace paravane::transport_roce {

struct RocePort {
  // `allowance`, `probed_ways`: of all ports.
  RocePort(verbs::Adapter& its_adapter, const OwnEnd& its_end,
           const std::shared_ptr<FrameAllowance>& allowance,
           const std::shared_ptr<ProbedWays>& probed_ways)
      : adapter(its_adapter),
        own(its_end),
        shared(allowance),
        guard(*shared),
        probes(probed_ways) {}

  verbs::Adapter& adapter;
  const OwnEnd own;
  std::optional<WatchedDoor> door;  // nullopt: it is closed
  Outlet outlet;
  const std::shared_ptr<FrameAllowance> shared;
  FloodGuard guard;
  SharedWindow window;
  Line<RoceFlow> sending;
  Line<RoceFlow> waiting;  // for room in `window`
  // Flows whose timer has expired, but whose answer may stand before the door: the worker may not
  // have run for longer than the flows wait.
  Line<RoceFlow> late;
  std::uint64_t frames_read = 0;
  RouterProbes probes;
  TimerId probe_timer = TimerId::kNone;
  FrameAllowance answers;  // to probes of others
  RoceCounters counters;
};

}  // namespace paravane::transport_roce
