// Server: serves a block device to programs of the host by NBD, as a VM's QEMU uses it for a disk
// (the NBD project's document, proto.md). One client has the device at a time; others may ask what
// it is, and are told that it is in use.
//
// The socket's mode decides which programs may connect; what they send is hostile all the same, and
// bounded in bytes and in time. Refusals are answered in the protocol, counted, and logged at a
// limited rate.
//
// Owner thread only. It has no clock and waits for nothing: the owner runs the event loop and gives
// turns.

#pragma once

#include <cstddef>
#include <list>
#include <string>

#include "base/doorway.h"
#include "base/event_loop.h"
#include "base/instant.h"
#include "base/result.h"
#include "base/timers.h"
#include "base/turn_clock.h"
#include "base/unique_fd.h"
#include "nbd/block_device.h"
#include "nbd/connection.h"
#include "nbd/served_device.h"
#include "nbd/server_counters.h"
#include "nbd/turn_budget.h"

namespace paravane::nbd {

class Server {
 public:
  static constexpr std::size_t kMostConnections = 8;

  // `description`: for a person that asks what the device is; may be empty. All else outlives us.
  Server(BlockDevice& device, std::string description, EventLoop& loop, const TurnClock& clock);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // `listening`: a listening, non-blocking stream socket. Errors: kIo.
  Status open(UniqueFd listening);

  // Whether there is something to do now, and if not, when a turn is needed though nothing happens;
  // kNever: never.
  bool has_work() const;
  Instant next_look();
  // False: there was nothing to do. The budget may be exceeded by what one request moves, and by a
  // little for each handshake.
  bool turn(Instant now, TurnBudget& budget);

  // For an owner whose event loop looks seldom: the next turn looks at the socket of the client
  // that has the device.
  void look_at_socket();
  // When that client has sent something last, or soon before; the epoch: no client.
  Instant last_heard() const;

  std::size_t connections() const { return connections_.size(); }
  bool is_in_use() const { return served_.user != nullptr; }
  const ServerCounters& counters() const { return served_.counters; }

 private:
  using Connections = std::list<Connection>;

  void on_client(UniqueFd client);
  void take_client(UniqueFd client);
  void give_turn(Connection& connection, Instant now, TurnBudget& budget);

  EventLoop& loop_;
  const TurnClock& clock_;
  ServedDevice served_;
  Connections connections_;
  TimerQueue timers_;  // of doorway_
  Doorway doorway_;
};

}  // namespace paravane::nbd
