#include "cluster/door_round.h"

#include <algorithm>
#include <future>

namespace paravane::cluster {

using authority::DoorAnswer;

std::vector<Result<DoorAnswer>> ask_doors(const std::vector<HostDoor>& doors, const AskDoor& ask) {
  std::vector<Result<DoorAnswer>> answers;
  answers.reserve(doors.size());
  for (std::size_t first = 0; first < doors.size(); first += kDoorsAtATime) {
    const std::size_t end = std::min(first + kDoorsAtATime, doors.size());
    std::vector<std::future<Result<DoorAnswer>>> round;
    for (std::size_t i = first; i < end; ++i) {
      round.push_back(std::async(std::launch::async, [&ask, &one = doors[i]] { return ask(one); }));
    }
    for (auto& answer : round) answers.push_back(answer.get());
  }
  return answers;
}

}  // namespace paravane::cluster
