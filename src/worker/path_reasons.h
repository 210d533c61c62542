// PathReasons explains to an operator why connections use their paths and not better ones. The
// order of paths, the best first, is local, hca, tcp, roce. What is explained is the state at the
// time of the question.
//
// No reason has a number that grows, such as a time: a reason is also a label of metrics.
//
// Worker thread only.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "device/pvrdma_device.h"
#include "fabric/directory.h"
#include "transport/roce/router_probe.h"
#include "verbs/path_use.h"
#include "worker/trunks.h"

namespace paravane::worker {

// How another host is reached.
struct HostReport {
  std::string name;
  std::string problem;  // why there is no channel; empty: there is one
  // Its release is known, and answers no probes of routers.
  bool lacks_probe = false;
  TrunkReport trunk{};
};

class PathReasons {
 public:
  struct Facts {
    std::function<HostReport(verbs::HostId)> host;
    // Why an adapter reaches no native endpoints; empty: its RoCE port is being opened.
    std::function<std::string(verbs::AdapterId)> roce;
    // What the probe of the router says that this connection's packets go through.
    std::function<transport_roce::ProbeReport(verbs::AdapterId, const device::QueuePairView&)>
        probe{};
    // Why long messages of an adapter to that host are copied on the path hca; empty: they are not.
    std::function<std::string(verbs::AdapterId, verbs::HostId)> copies{};
  };

  // `directory` outlives the object.
  PathReasons(const fabric::Directory& directory, Facts facts)
      : directory_(directory), facts_(std::move(facts)) {}

  HostReport host(verbs::HostId id) const { return facts_.host(id); }
  // Empty for a queue pair that is not connected.
  std::string why(verbs::AdapterId adapter, const device::QueuePairView& qp) const;
  // Of a path that connections use, perhaps to several peers. `host`: as in verbs::Path.
  std::string why_path(std::string_view path, verbs::HostId host) const;
  // Why an adapter has no path between two GIDs.
  std::string why_none(verbs::AdapterId adapter, const verbs::PathUse::Ends& ends) const;
  // Of a way through a router from that adapter. Empty: it leads through none any more.
  std::string why_routed(verbs::AdapterId adapter, const transport_roce::ProbeReport& probe) const;

 private:
  std::string why_roce(verbs::AdapterId adapter, const device::QueuePairView& qp) const;
  std::string why_routed(const fabric::Directory::Crossing& crossing,
                         const transport_roce::ProbeReport& probe) const;
  std::string why_not_roce(verbs::AdapterId adapter) const;

  const fabric::Directory& directory_;
  Facts facts_;
};

}  // namespace paravane::worker
