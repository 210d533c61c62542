// Connection: one client's socket, and the order in which its requests are served.
//
// It splits the stream into requests and hands them over one at a time, in order: while a response
// is pending or still being sent, the next request waits. So a client sees its requests served and
// answered in the order in which it sent them, even if a device defers a response. QEMU relies on
// that: for a batch it waits for the last response only.
//
// A client that does not read a response, or does not complete a message, within a time limit is
// disconnected: it may be gone for good without any notice from the kernel (a socket that was sent
// through itself never closes).
//
// A turn hands over a bounded number of requests and bytes, and stops when the owner no longer
// accepts requests; the rest is processed in the next turn, by a timer that is due at once. No
// caller needs to ask whether there is work: EventLoop and TimerQueue know.
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
#include "vfio_user/message.h"
#include "vfio_user/message_stream.h"
#include "vfio_user/outbox.h"

namespace paravane::vfio_user {

class Connection {
 public:
  struct Ending {
    bool broken = false;  // the client's message was; otherwise it left, or we ended it
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
    Duration stall = std::chrono::seconds(5);  // an answer not taken, half a message
  };

  Connection(UniqueFd socket, EventLoop& loop, TimerQueue& timers, Owner& owner, Limits limits);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Errors: kIo.
  Status start();

  // `fd` (or -1) must stay open while the connection lives. REQUIRES: an answer
  // is due: on_request() is running, or hold() was called.
  void send(std::span<const std::byte> message, int fd);

  // From on_request(): an answer is owed; nothing is handed over until resume().
  void hold() { held_ = true; }
  void resume();

  // Ends it after on_request() has returned, or on the next turn.
  void close_soon(Ending ending);

 private:
  void on_event(std::uint32_t events);
  void take_turn();
  bool can_go_on() const { return !held_ && !outbox_.pending() && !ending_; }
  void hand_over_requests();
  bool hand_over_one();
  void read_more(bool& may_have_more);
  void flush();
  void watch_for_stall(const char* what);
  void moves_again();
  void go_on_next_turn();
  void go_on_later(Duration pause);
  void listen_for_input(bool wanted);
  void update_interest();
  void end_for_errno(const char* what);

  UniqueFd socket_;
  EventLoop& loop_;
  TimerQueue& timers_;
  Owner& owner_;
  const Limits limits_;

  MessageStream stream_;
  Outbox outbox_;
  TimerId next_turn_ = TimerId::kNone;
  TimerId stalled_ = TimerId::kNone;  // runs when it has stalled for too long
  std::size_t turn_bytes_ = 0;        // in and out, of this turn
  bool held_ = false;
  bool wants_input_ = true;
  std::optional<Ending> ending_;
};

}  // namespace paravane::vfio_user
