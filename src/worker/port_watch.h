// PortWatch watches one adapter and reports its changes as events. After each turn (time slice) of
// the adapter, PortWatch compares values that the adapter already keeps, so the data path needs no
// code for PortWatch.
//
// A guest or a VMM can cause most of these changes as often as it likes. The number of events per
// ten seconds is therefore limited, and further events are suppressed and counted. A suppressed
// change is reported later, with the state at that time, so the last event always shows the actual
// state.
//
// Worker thread only.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/counter.h"
#include "base/instant.h"
#include "base/log_limit.h"
#include "model/adapter_name.h"
#include "model/event.h"
#include "verbs/path_use.h"
#include "worker/path_name.h"

namespace paravane::worker {

struct PortWatchCounters {
  CounterSet set;
  Counter kept_back{set, "events_kept_back", "checks at which events were suppressed"};
};

class PortWatch {
 public:
  struct Sight {
    bool attached = false;       // a VMM is
    int pid = 0;                 // of it
    bool active = false;         // the guest's driver runs
    bool lost = false;           // the objects of its guest's driver ended with an engine
    bool dead = false;           // to a guest whose state was loaded without the adapter's
    bool linked = true;          // to the switch
    std::uint64_t errors = 0;    // completions with an error
    std::uint64_t refusals = 0;  // for a quota
    // Changes whenever a way through a router does that the adapter's connections use.
    std::uint64_t probe_changes = 0;
  };
  // A way through a router, as its probe has it.
  struct ProbedWay {
    std::string own_gid;
    std::string peer_gid;
    std::string gateway;  // its MAC address
    int hop_limit = 0;
    std::optional<bool> answers{};  // nullopt: it is not known yet
    std::string why{};              // as for PathReasons::why_routed()

    auto key() const { return std::tie(own_gid, peer_gid, gateway, hop_limit); }
    friend bool operator<(const ProbedWay& a, const ProbedWay& b) { return a.key() < b.key(); }
  };
  struct WayName {
    PathName name;
    std::string why{};  // it is taken
  };
  struct Speech {
    std::function<void(model::Event)> tell;  // must not wait
    std::function<WayName(const verbs::PathUse::Way&)> name;
    // Why the adapter has no path between two GIDs.
    std::function<std::string(const model::AdapterName&, const verbs::PathUse::Ends&)> why_none{};
    // All ways through routers that the adapter's connections use.
    std::function<std::vector<ProbedWay>(const model::AdapterName&)> probed_ways{};
  };

  PortWatch(model::AdapterName adapter, Speech speech);

  // What was told before this object was there. REQUIRES: nothing was looked at.
  void begin(const Sight& sight) { told_ = sight; }
  void look(const Sight& sight, const verbs::PathUse& paths, Instant now);
  // The adapter has failed, and its VMM is about to be disconnected.
  void failed(std::string_view reason, Instant now);
  // When look() can report a change that was suppressed; kNever: no change was suppressed.
  Instant next_look() const { return retry_; }

  const PortWatchCounters& counters() const { return counters_; }

 private:
  // False: the limit suppressed the event; look() reports the change later.
  bool say(LogLimit& limit, model::Event event, Instant now);
  bool look_at_vmm(const Sight& sight, Instant now);
  bool look_at_life(const Sight& sight, Instant now);
  bool look_at_port(const Sight& sight, Instant now);
  bool look_at_counts(const Sight& sight, Instant now);
  bool look_at_paths(const verbs::PathUse& paths, Instant now);
  bool say_ended(const std::vector<PathName>& ended, const verbs::PathUse& paths, Instant now);
  bool say_path(const char* type, std::string text, std::map<std::string, std::string> fields,
                Instant now);
  bool look_at_probes(const Sight& sight, Instant now);
  bool say_probe(const ProbedWay& way, bool answers, Instant now);

  const model::AdapterName adapter_;
  const std::string name_;  // of it, as text
  Speech speech_;
  LogLimit states_;
  LogLimit path_changes_;
  LogLimit errors_;
  LogLimit refusals_;
  Instant retry_ = kNever;
  Sight told_;
  std::set<PathName> told_ways_;
  std::uint64_t seen_changes_ = 0;  // of the paths
  bool ways_untold_ = false;
  std::uint64_t seen_probe_changes_ = 0;
  bool probes_untold_ = false;
  std::set<ProbedWay> unanswered_;  // that were told; at most as many as may be probed
  bool failure_told_ = false;       // of this VMM's device
  PortWatchCounters counters_;
};

}  // namespace paravane::worker
