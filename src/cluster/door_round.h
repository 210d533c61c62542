// Sends a request to the join endpoints of several hosts at a time, so that all unreachable hosts
// together take only the time of one.
//
// The caller's thread waits: for each kDoorsAtATime hosts, as long as one call of `ask` takes.

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
