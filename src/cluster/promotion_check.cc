#include "cluster/promotion_check.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "cluster/wall_clocks.h"

namespace paravane::cluster {

using authority::DoorAnswer;
using authority::Seconds;
using model::ApiErrorCode;
using model::refuse;

namespace {

constexpr std::chrono::hours kMadeAhead{1};
constexpr std::size_t kMostNames = 8;

std::string print_names(const std::set<std::string>& names) {
  const std::vector<std::string> first(
      names.begin(),
      std::next(names.begin(), static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNames))));
  const std::string rest =
      names.size() > first.size() ? fmt::format(" and {} more", names.size() - first.size()) : "";
  return fmt::format("{}{}", fmt::join(first, ", "), rest);
}

model::ApiResult<void> check_unseen(const std::string& authority, const std::set<std::string>& by) {
  if (by.empty()) return {};
  return refuse(
      ApiErrorCode::kDenied,
      fmt::format(
          "host {} is the authority and still runs: it is seen by {}, which this host can reach",
          authority, print_names(by)),
      fmt::format("Stop the daemon of host {}, or repair this host's connection to it. A daemon "
                  "that has just stopped is still seen for up to 15 seconds.",
                  authority));
}

}  // namespace

model::ApiResult<void> check_own_clock(const authority::Validity& certificate, Seconds made,
                                       Seconds now) {
  if (!certificate.covers(now)) {
    return refuse(
        ApiErrorCode::kDenied,
        fmt::format("this host's clock shows {}, but its certificate is valid from {} until {}",
                    print_time(now), print_time(certificate.from), print_time(certificate.until)),
        std::string(kSetClock) +
            " If the clock is right, promote another host, or use paravane cluster restore.");
  }
  if (made <= now + kMadeAhead) return {};
  return refuse(ApiErrorCode::kDenied,
                fmt::format("this host's clock shows {}, but the backup was made later, at {}",
                            print_time(now), print_time(made)),
                kSetClock);
}

model::ApiResult<void> check_answers(const std::string& authority,
                                     const std::vector<HostDoor>& doors,
                                     const std::vector<Result<DoorAnswer>>& answers, Seconds now) {
  std::set<std::string> seen_by;
  std::set<std::string> apart;
  Seconds theirs{};  // of the first of those
  std::size_t clocks = 0;
  for (std::size_t i = 0; i < doors.size(); ++i) {
    if (!answers[i]) continue;
    if (answers[i]->sees == authority) seen_by.insert(doors[i].host);
    if (!answers[i]->clock_s) continue;
    ++clocks;
    const Seconds clock{std::chrono::seconds(*answers[i]->clock_s)};
    if (!are_apart(clock, now)) continue;
    if (apart.empty()) theirs = clock;
    apart.insert(doors[i].host);
  }
  if (auto unseen = check_unseen(authority, seen_by); !unseen) return unseen;
  if (2 * apart.size() <= clocks) return {};
  return refuse(
      ApiErrorCode::kDenied,
      fmt::format(
          "this host's clock shows {}, but {} of the {} hosts that answered have clocks that "
          "differ from it by more than five minutes ({}); for example, one of them shows {}",
          print_time(now), apart.size(), clocks, print_names(apart), print_time(theirs)),
      kSetClock);
}

}  // namespace paravane::cluster
