// Collects which generation of the configuration each other host reports, when an operator makes
// all hosts follow this host: the next generation must be higher than all of them. A value that is
// too high to be possible is ignored, so a member that lies cannot use up the numbers.
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

// How far another host can be ahead of this one, and be believed. Each change since the copy was
// made counts 1, and each `restore --accept` 2^20: this is 4,096 of those. Numbers end at 2^53
// (inventory::Generation), where no host could read a change any more. A member that says the most
// that is believed takes 2^32 of them, and only when an operator accepts: that is possible two
// million times.
inline constexpr std::uint64_t kMostAhead = std::uint64_t{1} << 32;

// Of each of `members`, in their order. `own`: this host's generation. `answers` of `doors`, in
// order. `hosts`: as the inventory shows them, for those that do not say it at their doors.
std::vector<model::FollowedGeneration> followed_generations(
    std::uint64_t own, const std::set<std::string>& members, const std::vector<HostDoor>& doors,
    const std::vector<Result<authority::DoorAnswer>>& answers,
    const std::map<std::string, inventory::Host>& hosts);

// 0: no number counts.
std::uint64_t newest_that_counts(const std::vector<model::FollowedGeneration>& others);

}  // namespace paravane::cluster
