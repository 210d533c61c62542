#include "cluster/followed_generations.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "inventory/generation.h"

namespace paravane::cluster {

using authority::DoorAnswer;
using model::FollowedGeneration;

static_assert(authority::kMaxDoorGeneration == inventory::Generation::kMostNumber);

namespace {

const Result<DoorAnswer>* answer_of(const std::string& host, const std::vector<HostDoor>& doors,
                                    const std::vector<Result<DoorAnswer>>& answers) {
  const auto at = std::ranges::find(doors, host, &HostDoor::host);
  return at == doors.end() ? nullptr : &answers[static_cast<std::size_t>(at - doors.begin())];
}

}  // namespace

std::vector<FollowedGeneration> followed_generations(
    std::uint64_t own, const std::set<std::string>& members, const std::vector<HostDoor>& doors,
    const std::vector<Result<DoorAnswer>>& answers,
    const std::map<std::string, inventory::Host>& hosts) {
  std::vector<FollowedGeneration> all;
  for (const std::string& host : members) {
    FollowedGeneration one{.host = host};
    if (const Result<DoorAnswer>* answer = answer_of(host, doors, answers); answer == nullptr) {
      one.problem = "the host was not asked, because its address is unknown";
    } else if (!*answer) {
      one.problem = "the host does not answer: " + answer->error().message;
    } else {
      one.generation = (*answer)->generation;
      if (!one.generation) one.problem = "the host's release does not report its generation";
    }
    const auto seen = hosts.find(host);
    const bool is_there = seen != hosts.end() && seen->second.info;
    if (!one.generation && is_there && seen->second.info->generation != 0) {
      one.generation = seen->second.info->generation;
      one.problem.clear();
    }
    one.counts = one.generation && (*one.generation <= own || *one.generation - own <= kMostAhead);
    if (one.generation && !one.counts) {
      one.problem = "the generation is higher than is possible, and is ignored";
    }
    all.push_back(std::move(one));
  }
  return all;
}

std::uint64_t newest_that_counts(const std::vector<FollowedGeneration>& others) {
  std::uint64_t newest = 0;
  for (const FollowedGeneration& other : others) {
    if (other.counts) newest = std::max(newest, *other.generation);
  }
  return newest;
}

}  // namespace paravane::cluster
