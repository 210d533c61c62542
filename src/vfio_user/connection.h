// Connection reads requests from one client's socket and sends the responses.
//
// It passes the requests to its owner one at a time, in order. While a response is pending or is
// being sent, the next request waits. A client therefore gets its responses in the order of its
// requests, even if a device defers a response. QEMU relies on this order, because it waits only
// for the last response to a batch of requests.
//
// A client that does not read a response, or does not complete a message, within a time limit is
// disconnected. It is possible that the kernel never reports that such a client has ended. For
// example, a socket that was sent through itself never closes.
//
// In each turn (time slice) of the worker, a Connection passes on a bounded number of requests and
// bytes, and stops when the owner accepts no more. It then sets a timer that is due at once, and
// continues in the next turn. Callers therefore do not need to check whether there is work.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/event_loop.h"
#include "base/instant.h"
#include "base/timers.h"
#include "base/unique_fd.h"
#include "state/reader.h"
#include "state/writer.h"
#include "vfio_user/exchange.h"
#include "vfio_user/message.h"
#include "vfio_user/message_stream.h"
#include "vfio_user/outbox.h"

namespace paravane::vfio_user {

class Connection {
 public:
  struct Ending {
    bool broken = false;  // true: because of an invalid message of the client
    std::string reason;
  };

  // Must outlive the connection.
  class Owner {
   public:
    virtual ~Owner() = default;
    // May call send(), hold() and close_soon(); never destroys the connection.
    virtual void on_request(Request& request) = 0;
    // The last call; may destroy the connection.
    virtual void on_ended(const Ending& ending) = 0;
    virtual Instant now() const = 0;
    // False: the next request waits for a later turn.
    virtual bool takes_requests() const { return true; }
  };

  struct Limits {
    unsigned requests_per_turn = 64;
    Duration stall = std::chrono::seconds(5);  // for reading a response or completing a message
  };

  // `exchange`: outlives the connection; null: what it does dies with the process.
  Connection(UniqueFd socket, EventLoop& loop, TimerQueue& timers, Owner& owner, Limits limits,
             Exchange* exchange);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Nothing is read or sent before the next turn. Errors: kIo.
  Status start();

  int socket() const { return socket_.get(); }
  // Where it stands in the socket, what is to be sent, and whether the connection is ending. That
  // hold() was called is not saved, and time limits start anew. `lent`: see Outbox.
  void save(state::Writer& out, std::span<const int> lent) const;
  // REQUIRES: not started.
  void load(state::Reader& in, std::span<const int> lent);
  // What another process needs to go on if this one is killed: which request is in hand, and with
  // what it is being answered. REQUIRES: there is an exchange.
  void keep(state::Writer& out, std::span<const std::byte> answer) const;
  // Goes on after a process that was killed. REQUIRES: not started; there is an exchange, and it is
  // that of the process.
  void go_on(state::Reader& in);
  bool is_sending() const { return outbox_.pending(); }
  bool is_ending() const { return ending_.has_value(); }

  // Sends the response. `fd` (or -1) must stay open while the connection exists. REQUIRES: a
  // response is pending, because on_request() is running or hold() was called.
  void send(std::span<const std::byte> message, int fd);

  // Called from on_request(): the response comes later, and no request is handed over until
  // resume().
  void hold() { held_ = true; }
  void resume();

  // Ends the connection after on_request() has returned, or in the next turn.
  void close_soon(Ending ending);

 private:
  void on_event(std::uint32_t events);
  void take_turn();
  // The request that was handed over last is dealt with.
  bool is_settled() const { return !held_ && !outbox_.pending(); }
  bool can_go_on() const { return is_settled() && !ending_; }
  void hand_over_requests();
  bool hand_over_one();
  void read_more();
  void settle();
  void flush();
  void watch_for_stall(const char* what);
  void moves_again();
  void go_on_next_turn();
  void go_on_later(Duration pause);
  void listen_for_input(bool wanted);
  std::uint32_t interest() const;
  void update_interest();
  void end_for_errno(const char* what);

  UniqueFd socket_;
  EventLoop& loop_;
  TimerQueue& timers_;
  Owner& owner_;
  const Limits limits_;
  Exchange* const exchange_;

  MessageStream stream_;
  Outbox outbox_;
  TimerId next_turn_ = TimerId::kNone;
  TimerId stalled_ = TimerId::kNone;  // runs when it has stalled for too long
  std::size_t turn_bytes_ = 0;        // in and out, of this turn
  bool held_ = false;
  bool has_input_ = true;  // the socket may have bytes that were not looked at
  bool is_gone_ = false;   // the client has closed its side
  bool wants_input_ = true;
  std::optional<Ending> ending_;
};

}  // namespace paravane::vfio_user
