#include "ethernet/uplink_team.h"

#include <algorithm>
#include <iterator>

namespace paravane::ethernet {

std::optional<std::size_t> choose_uplink(std::span<const TeamCandidate> team) {
  const auto first = [team](bool TeamCandidate::* wanted) -> std::optional<std::size_t> {
    const auto found = std::ranges::find_if(
        team, [wanted](const TeamCandidate& one) { return one.is_usable && one.*wanted; });
    if (found == team.end()) return std::nullopt;
    return static_cast<std::size_t>(std::distance(team.begin(), found));
  };
  if (const auto linked = first(&TeamCandidate::has_link)) return linked;
  if (const auto carrying = first(&TeamCandidate::carries_now)) return carrying;
  return first(&TeamCandidate::is_usable);
}

}  // namespace paravane::ethernet
