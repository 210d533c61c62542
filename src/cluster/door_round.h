// Sends a request to the join endpoints of many hosts. A join endpoint is the listener through
// which other hosts query a host. Up to kDoorsAtATime requests are sent in parallel, so several
// unreachable hosts take no longer than one.
//
// The function blocks until all requests have ended. For each group of kDoorsAtATime hosts, this
// takes as long as the slowest call of the callback `ask`, which sends one request.

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
// Returns the responses in the order of `doors`. `ask` is called on separate threads.
std::vector<Result<authority::DoorAnswer>> ask_doors(const std::vector<HostDoor>& doors,
                                                     const AskDoor& ask);

}  // namespace paravane::cluster
