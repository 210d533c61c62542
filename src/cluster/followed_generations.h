// Collects the generation (version number) of the configuration that each other host follows. The
// collected values are needed when an operator decides that all hosts must follow the configuration
// of this host. The next generation must then be higher than the generation of every other host.
//
// A value that is too high to be possible is ignored, so a member that lies cannot use up the
// numbers.
//
// Stateless, any thread.

#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "authority/door_message.h"
#include "base/result.h"
#include "cluster/door_round.h"
#include "inventory/view.h"
#include "model/cluster.h"

namespace paravane::cluster {

// The largest lead over this host that is believed of another host. Each change of the
// configuration adds 1 to the generation, and each `restore --accept` adds 2^20, so this lead
// corresponds to 4,096 of the latter. Generations end at 2^53 (inventory::Generation), because no
// host could read a change after that. A member that reports the largest value that is believed
// uses up 2^32 numbers each time an operator accepts, so that is possible two million times.
inline constexpr std::uint64_t kMostAhead = std::uint64_t{1} << 32;

// Returns an entry for each of `members`, in their order. `own`: the generation of this host.
// `answers`: the responses from `doors`, in the same order. `hosts`: the hosts in the inventory,
// for those whose responses do not report a generation.
std::vector<model::FollowedGeneration> followed_generations(
    std::uint64_t own, const std::set<std::string>& members, const std::vector<HostDoor>& doors,
    const std::vector<Result<authority::DoorAnswer>>& answers,
    const std::map<std::string, inventory::Host>& hosts);

// The highest generation that is believed; 0: no generation is believed.
std::uint64_t newest_that_counts(const std::vector<model::FollowedGeneration>& others);

}  // namespace paravane::cluster
