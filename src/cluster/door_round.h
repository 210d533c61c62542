// A round of other hosts' doors: several are asked at a time, so that hosts that are off cost the
// time of one.
//
// The caller's thread waits, for as long as `ask` takes for one door, per kAtATime doors.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "authority/door_message.h"
#include "base/result.h"

namespace paravane::cluster {

struct HostDoor {
  std::string host;
  std::string door;  // "192.0.2.2:28249"

  friend bool operator==(const HostDoor&, const HostDoor&) = default;
};

inline constexpr std::size_t kDoorsAtATime = 32;

using AskDoor = std::function<Result<authority::DoorAnswer>(const HostDoor&)>;
// The answers, in order. `ask` is called on threads of its own.
std::vector<Result<authority::DoorAnswer>> ask_doors(const std::vector<HostDoor>& doors,
                                                     const AskDoor& ask);

}  // namespace paravane::cluster
