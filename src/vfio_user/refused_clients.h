// RefusedClients holds clients that connected while the server was serving another client.
//
// Closing such a connection at once would make QEMU 11.1 abort, because an assertion in QEMU fails.
// Instead, each client gets an error in response to its first request and is then expected to close
// the connection. QEMU does so and prints the reason. A client that does not close its connection
// is disconnected after kPatience. If there are more than kMost clients, the oldest is disconnected
// at once.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>

#include "base/event_loop.h"
#include "base/timers.h"
#include "base/turn_clock.h"
#include "base/unique_fd.h"
#include "vfio_user/connection.h"

namespace paravane::vfio_user {

class RefusedClients {
 public:
  static constexpr std::size_t kMost = 8;
  static constexpr Duration kPatience = std::chrono::seconds(2);

  RefusedClients(EventLoop& loop, TimerQueue& timers, const TurnClock& clock);
  ~RefusedClients();
  RefusedClients(const RefusedClients&) = delete;
  RefusedClients& operator=(const RefusedClients&) = delete;

  // Errors: kIo.
  Status add(UniqueFd socket);
  // Disconnects all.
  void clear();
  std::size_t size() const { return clients_.size(); }

 private:
  class Client;

  EventLoop& loop_;
  TimerQueue& timers_;
  const TurnClock& clock_;
  std::list<std::unique_ptr<Client>> clients_;  // the oldest first
};

}  // namespace paravane::vfio_user
