#include "cluster/door_round.h"

#include <algorithm>
#include <future>
#include <system_error>

namespace paravane::cluster {

using authority::DoorAnswer;

namespace {

// Without a thread for it, on the caller's: it is asked later, and takes longer.
std::future<Result<DoorAnswer>> ask_apart(const HostDoor& at, const AskDoor& ask) {
  const auto one = [&ask, &at] { return ask(at); };
  try {
    return std::async(std::launch::async, one);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, one);
  }
}

}  // namespace

std::vector<Result<DoorAnswer>> ask_doors(const std::vector<HostDoor>& doors, const AskDoor& ask) {
  std::vector<Result<DoorAnswer>> answers;
  answers.reserve(doors.size());
  for (std::size_t first = 0; first < doors.size(); first += kDoorsAtATime) {
    const std::size_t end = std::min(first + kDoorsAtATime, doors.size());
    std::vector<std::future<Result<DoorAnswer>>> round;
    for (std::size_t i = first; i < end; ++i) {
      round.push_back(ask_apart(doors[i], ask));
    }
    for (auto& answer : round) answers.push_back(answer.get());
  }
  return answers;
}

}  // namespace paravane::cluster
