// Connection: one client of a server, from its handshake to its end.
//
// A handshake has kHandshakeTime, less the time for which it waits for the device: a client before
// may have requests under way. Owner thread only. A turn is bounded by its budget and waits for
// nothing. Throws std::bad_alloc: the connection is of no use then.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/event_loop.h"
#include "base/instant.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "nbd/client_socket.h"
#include "nbd/handshake.h"
#include "nbd/served_device.h"
#include "nbd/transmission.h"
#include "nbd/turn_budget.h"

namespace paravane::nbd {

class Connection {
 public:
  static constexpr std::chrono::seconds kHandshakeTime{10};

  // `served` and `loop` outlive us.
  Connection(UniqueFd socket, ServedDevice& served, EventLoop& loop, Instant now);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Errors: kIo.
  Status watch();

  void turn(Instant now, TurnBudget& budget);
  bool has_work() const;
  Instant deadline() const;
  // We can be destroyed.
  bool is_over() const { return is_over_; }
  // Whether it has the device but gives it up soon, since its client has gone or goes.
  bool is_leaving() const;
  void look() { socket_.look(); }
  // When the client that has the device has sent something; none has before its handshake is done.
  Instant last_heard() const { return handshake_ ? Instant{} : transmission_->last_heard(); }
  // Ends it at once.
  void break_off() { is_over_ = true; }

 private:
  void turn_of_handshake(Instant now, TurnBudget& budget);
  bool send_replies(TurnBudget& budget);
  bool receive_message(TurnBudget& budget);
  bool ask_for_device(Instant now);
  void deny(Instant now);
  void end_handshake(Instant now);
  bool can_ask() const;

  ClientSocket socket_;
  ServedDevice& served_;
  EventLoop& loop_;
  std::unique_ptr<Handshake> handshake_;        // null: it is done
  Instant deadline_;                            // of the handshake
  std::vector<std::byte> in_;                   // the message that is being read
  std::size_t received_ = 0;                    // of it
  std::size_t sent_ = 0;                        // of the handshake's replies
  std::unique_ptr<Transmission> transmission_;  // from when the device was opened
  bool is_over_ = false;
};

}  // namespace paravane::nbd
