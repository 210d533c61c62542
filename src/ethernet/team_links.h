// TeamLinks: the ports of uplinks while make_links() is at work: which uplink of each team carries
// the frames from now on, which ports stand by on their parking bridges, and which could not be
// taken off the bridge of their switch.
//
// Two uplinks of a team on one bridge would be a loop, so none is put on a bridge from which
// another could not be taken. One thread at a time.

#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "ethernet/link_report.h"
#include "ethernet/links.h"
#include "ethernet/seen_links.h"
#include "ethernet/switch_links.h"
#include "ethernet/uplink_team.h"

namespace paravane::ethernet {

// An uplink that is on this host.
struct FoundUplink {
  const WantedPort* wanted = nullptr;
  const Link* nic = nullptr;
};
using BridgeIndexes = std::map<std::string, int>;  // of bridges that are good, by name

class TeamLinks {
 public:
  // All outlive us, and are as they are now when a function is called.
  TeamLinks(const WantedLinks& wanted, const SeenLinks& seen,
            const std::vector<FoundUplink>& uplinks, const BridgeIndexes& bridges)
      : wanted_(wanted), seen_(seen), uplinks_(uplinks), bridges_(bridges) {}

  // For each team, when bridges and uplinks have been found. Fills MadeLinks::active and takeovers.
  void choose(MadeLinks& made, LinkReport& report);
  // Tells of each uplink of no team that has no link.
  void look_for_links(LinkReport& report) const;
  // Tells the network where the addresses of the VMs are from now on: while the new uplink is still
  // on its parking bridge, where no VM hears it.
  void announce(const Takeover& takeover, Links& links, LinkReport& report) const;

  // ---- Since choose() ----
  bool is_parked(const WantedPort& port) const { return parked_.contains(port.name); }
  // On which the port is to be.
  const std::string& bridge_of(const WantedPort& port) const;
  bool is_on(const Link& link, const std::string& bridge) const;
  // A port that is parked could not be taken off its bridge. REQUIRES: it is of a team.
  void set_stuck(const WantedPort& port);
  // Whether another uplink of the port's team could not be taken off the bridge.
  bool is_in_the_way(const WantedPort& port) const;

 private:
  // A port of a team's uplink, where it is there.
  struct Port {
    const WantedPort* wanted = nullptr;
    const Link* link = nullptr;  // nullptr: it is not there, or not for us
  };
  Port find_port(const std::string& name) const;
  TeamCandidate look_at(const WantedTeam::Member& member) const;
  // Of one that is down until now, the link is not known yet.
  bool is_up(const WantedTeam::Member& member) const;
  void choose_of(const WantedTeam& team, MadeLinks& made, LinkReport& report);
  Status announce_through(const Port& port, Links& links) const;
  // nullptr: it is of none.
  const WantedTeam* team_of(const std::string& port) const;

  using Names = std::set<std::string, std::less<>>;
  const WantedLinks& wanted_;
  const SeenLinks& seen_;
  const std::vector<FoundUplink>& uplinks_;
  const BridgeIndexes& bridges_;
  Names parked_;  // ports of uplinks that stand by
  Names stuck_;   // teams, one of whose uplinks cannot be taken off its bridge
};

}  // namespace paravane::ethernet
