#include "vfio_user/connection.h"

#include <sys/epoll.h>

#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/memory_shortage.h"

namespace paravane::vfio_user {
namespace {

constexpr std::uint32_t kGone = EPOLLHUP | EPOLLRDHUP | EPOLLERR;
// This many bytes count as one request more: a turn has to stay short.
constexpr std::size_t kBytesPerRequest = 4096;
// What could not be read for want of memory is tried again; it has not left the socket.
constexpr Duration kMemoryPause = std::chrono::milliseconds(10);
constexpr const char* kReadsNothing = "the client does not read responses";

}  // namespace

Connection::Connection(UniqueFd socket, EventLoop& loop, TimerQueue& timers, Owner& owner,
                       Limits limits, Exchange* exchange)
    : socket_(std::move(socket)),
      loop_(loop),
      timers_(timers),
      owner_(owner),
      limits_(limits),
      exchange_(exchange) {
  if (exchange_ != nullptr) outbox_.send_by(*exchange_);
  assert(limits_.requests_per_turn > 0);
}

Connection::~Connection() {
  timers_.cancel(next_turn_);
  timers_.cancel(stalled_);
  loop_.unwatch(socket_.get());
}

Status Connection::start() {
  const Status watched =
      loop_.watch(socket_.get(), interest(), [this](std::uint32_t events) { on_event(events); });
  if (!watched) return watched;
  if (outbox_.pending()) watch_for_stall(kReadsNothing);
  // No event tells of what was done before.
  if (ending_ || stream_.has_unsettled()) go_on_next_turn();
  return {};
}

void Connection::send(std::span<const std::byte> message, int fd) {
  turn_bytes_ += message.size();
  switch (outbox_.send(socket_.get(), message, fd)) {
    case Outbox::Sent::kAll: return;
    case Outbox::Sent::kLater:
      watch_for_stall(kReadsNothing);
      update_interest();
      return;
    case Outbox::Sent::kFailed: end_for_errno("answering failed"); return;
  }
}

void Connection::resume() {
  held_ = false;
  settle();
  go_on_next_turn();
}

void Connection::close_soon(Ending ending) {
  if (!ending_) ending_ = std::move(ending);
  go_on_next_turn();
}

void Connection::on_event(std::uint32_t events) {
  if ((events & EPOLLIN) != 0) has_input_ = true;
  if ((events & kGone) != 0) is_gone_ = true;
  if (outbox_.pending()) flush();
  if (next_turn_ != TimerId::kNone) return;  // the turn comes by timer
  if (can_go_on() || ending_) {
    take_turn();
  } else if (is_gone_) {
    take_turn();
  } else {
    listen_for_input(false);
  }
}

void Connection::watch_for_stall(const char* what) {
  if (stalled_ != TimerId::kNone) return;
  stalled_ = timers_.set(owner_.now() + limits_.stall, [this, what](Instant) {
    stalled_ = TimerId::kNone;
    // Then nothing was read either: the rest may have come.
    if (!owner_.takes_requests()) return watch_for_stall(what);
    close_soon(Ending{.broken = true, .reason = what});
  });
}

void Connection::moves_again() {
  if (stalled_ != TimerId::kNone) timers_.cancel(std::exchange(stalled_, TimerId::kNone));
}

void Connection::flush() {
  switch (outbox_.flush(socket_.get())) {
    case Outbox::Sent::kAll:
      moves_again();
      update_interest();
      settle();
      return;
    case Outbox::Sent::kLater: return;
    case Outbox::Sent::kFailed: end_for_errno("answering failed"); return;
  }
}

void Connection::take_turn() {
  turn_bytes_ = 0;
  settle();
  if (can_go_on()) {
    listen_for_input(true);
    if (!runs_in_memory([this] { hand_over_requests(); })) return go_on_later(kMemoryPause);
  }
  if (!is_settled() && is_gone_ && !ending_) {
    ending_ = Ending{.broken = false, .reason = "the client closed the connection"};
  }
  if (ending_) {
    const Ending ending = *std::exchange(ending_, Ending{});
    owner_.on_ended(ending);  // this object may be gone now
    return;
  }
  if (!can_go_on()) return;
  if (has_input_ || stream_.has_next()) {
    go_on_next_turn();
  } else if (stream_.has_bytes() && owner_.takes_requests()) {
    watch_for_stall("the client sent an incomplete message");
  }
}

void Connection::hand_over_requests() {
  unsigned handed_over = 0;
  while (can_go_on() && owner_.takes_requests() &&
         handed_over + turn_bytes_ / kBytesPerRequest < limits_.requests_per_turn) {
    if (hand_over_one()) {
      ++handed_over;
    } else if (has_input_ && !ending_) {
      read_more();
    } else {
      return;
    }
  }
}

bool Connection::hand_over_one() {
  auto next = stream_.next();
  if (!next) {
    ending_ = Ending{.broken = true, .reason = next.error()};
    return false;
  }
  if (!*next) return false;
  moves_again();
  turn_bytes_ += (*next)->header.size.get();
  if (exchange_ != nullptr) exchange_->begin((*next)->header);
  owner_.on_request(**next);
  settle();
  return true;
}

// Only now, since a process that goes on after this one was killed deals with what is left.
void Connection::settle() {
  if (!is_settled() || !stream_.has_unsettled()) return;
  if (exchange_ != nullptr) exchange_->take_out();
  const bool settled = stream_.settle(socket_.get());
  if (exchange_ != nullptr) exchange_->done();
  if (settled) return;
  close_soon(Ending{.broken = false, .reason = "another process reads from its socket"});
}

void Connection::read_more() {
  switch (stream_.fill(socket_.get())) {
    case MessageStream::Fill::kMore: return;
    // The end of a client that has gone is read, too: its edge was that of the last message.
    case MessageStream::Fill::kDrained: has_input_ = is_gone_; return;
    case MessageStream::Fill::kEmpty: has_input_ = false; return;
    case MessageStream::Fill::kClosed:
      ending_ = Ending{.broken = false, .reason = "the client closed the connection"};
      return;
    case MessageStream::Fill::kFailed: end_for_errno("reading failed"); return;
  }
}

// One nanosecond: not in the round of timers that is running now.
void Connection::go_on_next_turn() {
  go_on_later(Duration(1));
}

void Connection::go_on_later(Duration pause) {
  if (next_turn_ != TimerId::kNone) return;
  next_turn_ = timers_.set(owner_.now() + pause, [this](Instant) {
    next_turn_ = TimerId::kNone;
    take_turn();
  });
}

void Connection::listen_for_input(bool wanted) {
  if (wants_input_ == wanted) return;
  wants_input_ = wanted;
  update_interest();
}

// Edge-triggered: messages that are not dealt with stay in the socket.
std::uint32_t Connection::interest() const {
  return EPOLLET | EPOLLRDHUP | (wants_input_ ? EPOLLIN : 0U) | (outbox_.pending() ? EPOLLOUT : 0U);
}

void Connection::update_interest() {
  if (!loop_.change(socket_.get(), interest())) end_for_errno("epoll failed");
}

void Connection::end_for_errno(const char* what) {
  const int error = errno;
  const bool gone = error == EPIPE || error == ECONNRESET;
  close_soon(Ending{.broken = false,
                    .reason = gone ? "the client closed the connection"
                                   : std::string(what) + ": " + std::strerror(error)});
}

}  // namespace paravane::vfio_user
