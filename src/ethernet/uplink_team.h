// choose_uplink(): chooses which uplink of a team carries the frames of a switch, by vSphere's
// explicit failover order with failback: the first that has a link, so the first of all as soon as
// it has one again. If none has a link, all stays as it is.
//
// A pure function; any thread.

#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace paravane::ethernet {

// An uplink of a team, as it is now.
struct TeamCandidate {
  bool is_usable = false;    // it is on this host, and no other program uses it
  bool has_link = false;     // it is up and connected
  bool carries_now = false;  // it is on the switch's bridge
};

// The position of the uplink among `team`, which is in failover order; nullopt: none is usable.
std::optional<std::size_t> choose_uplink(std::span<const TeamCandidate> team);

}  // namespace paravane::ethernet
