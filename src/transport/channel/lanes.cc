#include "transport/channel/lanes.h"

#include <sys/random.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/undo.h"
#include "verbs/adapter.h"

namespace paravane::transport_channel {
namespace {

constexpr std::uint32_t kPsnMask = 0xFFFFFF;

// Pieces of one queue pair: as many while the lane is half empty, else enough to keep it going.
constexpr std::uint32_t kMostOfQueuePair = 16;
constexpr std::uint32_t kFewOfQueuePair = 2;

// A peer cannot know the number of packets of an earlier life of the lane.
std::uint32_t random_psn() {
  std::uint32_t psn = 0;
  if (::getrandom(&psn, sizeof psn, 0) != sizeof psn) psn = 0;
  return psn & kPsnMask;
}

bool is_lane(std::uint32_t number) {
  return number >= 1 && number <= wire::kLanes;
}

// Of a block.
constexpr std::size_t kMostClears = 64;
// What a lane may have to say beside its Clears, or a Clear.
constexpr std::size_t kMostPerLane = sizeof(wire::LaneClosed) + sizeof(wire::LaneOpen) +
                                     sizeof(wire::LaneReady) + sizeof(wire::Clear);

template <typename Frame>
Frame clear_of(std::uint32_t number, const Lanes::Owner& owner, std::uint32_t bytes) {
  Frame frame{};
  frame.link.set(owner.link);
  frame.serial.set(owner.serial);
  frame.offset.set(owner.offset);
  frame.bytes.set(bytes);
  frame.lane.set(static_cast<std::uint8_t>(number));
  return frame;
}

}  // namespace

Lanes::~Lanes() {
  close_all();
}

// One for each VM while there are enough, so that what is recalled of one VM stops no other.
std::uint32_t Lanes::number_for(const verbs::QueuePair& qp) {
  return 1 + std::to_underlying(qp.adapter().id()) % wire::kLanes;
}

void Lanes::begin(Instant now) {
  now_ = now;
  is_begun_ = true;
  for (Lane& one : lanes_) one.opens_at = now;
  keep_alive(now);
}

Instant Lanes::next_look() const {
  Instant next = kNever;
  for (const Lane& one : lanes_) {
    next = std::min(next, one.opens_at);
    if (!one.receives.empty()) next = std::min(next, one.receives.front().since + kReceiveWithin);
  }
  return next;
}

void Lanes::keep_alive(Instant now) {
  now_ = now;
  for (std::uint32_t number = 1; number <= wire::kLanes; ++number) {
    Lane& one = lane(number);
    if (!one.receives.empty() && now - one.receives.front().since >= kReceiveWithin) close(number);
    if (now < one.opens_at) continue;
    one.opens_at = kNever;
    one.own_psn = random_psn();
    one.is_open_due = has_frames_ = true;
    connect(number);
  }
}

// As soon as both ends have said with which sequence numbers.
void Lanes::connect(std::uint32_t number) {
  Lane& one = lane(number);
  if (one.state != Lane::State::kClosed || !one.own_psn || !one.peer_psn) return;
  one.state = Lane::State::kConnecting;
  port_.connect(number, *one.own_psn, *one.peer_psn);
}

// The peer's end was closed, or has never been open.
bool Lanes::on_open(const wire::LaneOpen& frame) {
  const std::uint32_t number = frame.lane.get();
  if (!is_begun_ || !is_lane(number)) return false;
  if (lane(number).state != Lane::State::kClosed) close(number);
  lane(number).peer_psn = frame.psn.get() & kPsnMask;
  connect(number);
  return true;
}

bool Lanes::on_ready(const wire::LaneReady& frame) {
  const std::uint32_t number = frame.lane.get();
  if (!is_begun_ || !is_lane(number)) return false;
  // It may be to what was closed meanwhile.
  if (lane(number).own_psn == frame.psn.get()) lane(number).is_peer_ready = true;
  return true;
}

bool Lanes::on_closed(const wire::LaneClosed& frame) {
  const std::uint32_t number = frame.lane.get();
  if (!is_begun_ || !is_lane(number)) return false;
  close(number);
  lane(number).peer_psn.reset();
  return true;
}

void Lanes::compose(wire::BlockWriter& block) {
  has_frames_ = false;
  std::size_t clears = 0;
  for (std::uint32_t number = 1; number <= wire::kLanes; ++number) {
    Lane& one = lane(number);
    if (block.room() < kMostPerLane) {
      has_frames_ = true;
      return;
    }
    const wire::Le8 name(static_cast<std::uint8_t>(number));
    if (std::exchange(one.is_closed_due, false)) block.add(wire::LaneClosed{.lane = name});
    if (std::exchange(one.is_open_due, false) && one.own_psn) {
      block.add(wire::LaneOpen{.lane = name, .psn = Le32(*one.own_psn)});
    }
    if (std::exchange(one.is_ready_due, false) && one.peer_psn) {
      block.add(wire::LaneReady{.lane = name, .psn = Le32(*one.peer_psn)});
    }
    for (; clears < kMostClears && !one.clears_due.empty() && block.room() >= kMostPerLane;
         ++clears) {
      add_clear(number, one.clears_due.front(), block);
      one.clears_due.pop_front();
    }
    has_frames_ = has_frames_ || !one.clears_due.empty();
  }
}

void Lanes::add_clear(std::uint32_t number, const Due& due, wire::BlockWriter& block) {
  const auto add = [&](auto frame) {
    frame.number.set(due.number);
    block.add(frame);
  };
  if (due.owner.is_answer) return add(clear_of<wire::ClearAnswer>(number, due.owner, due.bytes));
  add(clear_of<wire::Clear>(number, due.owner, due.bytes));
}

void Lanes::close_all() {
  for (std::uint32_t number = 1; number <= wire::kLanes; ++number) close(number);
  is_begun_ = false;
  for (Lane& one : lanes_) one.opens_at = kNever;
}

// What it was to be connected to is not there any more, so the peer says anew.
void Lanes::close(std::uint32_t number) {
  Lane& one = lane(number);
  if (one.state == Lane::State::kClosed) return;
  const Duration took = port_.close(number);
  counters_.longest_lane_close_us.raise_to(static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
  std::erase_if(events_, [&](const LaneEvent& event) { return event.lane == number; });
  counters_.lanes_closed.add();
  const std::deque<Receive> receives = std::move(one.receives);
  const std::deque<Send> sends = std::move(one.sends);
  const bool has_failed = one.state == Lane::State::kConnecting;
  const Duration pause = has_failed ? std::min(2 * one.pause, kLongestPause) : kPause;
  one = Lane{.is_closed_due = true, .opens_at = now_ + pause, .pause = pause};
  has_frames_ = true;
  for (const Send& send : sends) send.end(false);
  for (const Receive& receive : receives) receive.lending.end();
  for (const Receive& receive : receives) receive.receiver->on_lane_closed();
}

std::optional<LaneEvent> Lanes::next_event() {
  if (events_.empty()) return port_.next_lane_event();
  const LaneEvent event = events_.front();
  events_.pop_front();
  return event;
}

Status Lanes::take_events(Instant now) {
  now_ = now;
  while (const std::optional<LaneEvent> event = next_event()) {
    Lane& one = lane(event->lane);
    switch (event->kind) {
      case LaneEvent::Kind::kConnected:
        if (one.state != Lane::State::kConnecting) break;
        one.state = Lane::State::kConnected;
        one.is_ready_due = has_frames_ = true;
        break;
      case LaneEvent::Kind::kSent: take_sent(event->lane); break;
      case LaneEvent::Kind::kReceived:
        if (Status good = take_received(*event); !good) return good;
        break;
      case LaneEvent::Kind::kFailed: close(event->lane); break;
    }
  }
  return {};
}

void Lanes::take_sent(std::uint32_t number) {
  Lane& one = lane(number);
  if (one.sends.empty()) return;
  const Send send = one.sends.front();
  one.sends.pop_front();
  send.end(true);
}

void Lanes::Send::end(bool is_there) const {
  if (lending) lending->end();
  if (sender != nullptr) sender->on_last_piece(serial, is_there);
}

void Lanes::forget(const LaneSender& sender) {
  for (Lane& one : lanes_) {
    for (Send& send : one.sends) {
      if (send.sender == &sender) send.sender = nullptr;
    }
  }
}

Status Lanes::take_received(const LaneEvent& event) {
  Lane& one = lane(event.lane);
  if (one.receives.empty()) return {};
  const Receive receive = one.receives.front();
  const bool is_void = (event.immediate & wire::kVoidPiece) != 0;
  const std::uint32_t number = one.received & ~wire::kVoidPiece;
  if ((event.immediate & ~wire::kVoidPiece) != number) {
    return fail(Errc::kInvalidArgument, "protocol: a piece was sent to another's place on a lane");
  }
  if (event.bytes != (is_void ? 0 : receive.bytes)) {
    return fail(Errc::kInvalidArgument, "protocol: a piece on a lane has another length");
  }
  ++one.received;
  one.receives.pop_front();
  receive.lending.end();
  if (!one.receives.empty()) one.receives.front().since = now_;
  if (!is_void) counters_.lane_received_bytes.add(receive.bytes);
  receive.receiver->on_piece(receive.serial, receive.bytes, is_void);
  return {};
}

bool Lanes::may_send(verbs::QueuePair& qp, const ExtentList& extents) {
  const bool any = std::ranges::any_of(
      lanes_, [](const Lane& one) { return one.state == Lane::State::kConnected; });
  return any && port_.reaches(qp.adapter(), extents);
}

// The peer has at most kLaneDepth pieces cleared, and tells of them in their order.
Lanes::Sent Lanes::judge(const Cleared& cleared) {
  const std::uint32_t number = cleared.lane;
  if (!is_begun_ || !is_lane(number)) return Sent::kInvalid;
  Lane& one = lane(number);
  if (one.state != Lane::State::kConnected) return Sent::kNo;
  if (cleared.number != (one.sent & ~wire::kVoidPiece)) return Sent::kInvalid;
  if (one.sends.size() < wire::kLaneDepth) return Sent::kYes;
  settle();  // the adapter's word on what the peer has received may stand in the queue
  return one.sends.size() < wire::kLaneDepth ? Sent::kYes : Sent::kInvalid;
}

Lanes::Sent Lanes::send(const Cleared& cleared, const Piece& piece, LaneSender* sender,
                        std::uint64_t serial) {
  if (const Sent judged = judge(cleared); judged != Sent::kYes) return judged;
  const bool fits = piece.extents.extents().size() <= port_.most_extents() &&
                    port_.reaches(piece.qp.adapter(), piece.extents);
  if (!fits) return send_void(cleared);
  const std::uint32_t number = cleared.lane;
  Lane& one = lane(number);
  const Lending lending = lend(number, piece);
  Undo undo([&] { lending.end(); });
  one.sends.push_back({.lending = lending, .sender = sender, .serial = serial});
  undo.keep();
  if (!port_.post_send(number, piece.qp.adapter().id(), piece.extents,
                       one.sent++ & ~wire::kVoidPiece)) {
    close(number);
    return Sent::kNo;
  }
  counters_.lane_sent_bytes.add(piece.extents.total_bytes());
  return Sent::kYes;
}

Lanes::Sent Lanes::send_void(const Cleared& cleared) {
  if (const Sent judged = judge(cleared); judged != Sent::kYes) return judged;
  const std::uint32_t number = cleared.lane;
  Lane& one = lane(number);
  one.sends.emplace_back();
  if (port_.post_void(number, one.sent++ | wire::kVoidPiece)) return Sent::kVoid;
  close(number);
  return Sent::kNo;
}

std::uint32_t Lanes::room_for(const verbs::QueuePair& qp, std::uint32_t under_way) const {
  const Lane& one = lane(number_for(qp));
  if (one.state != Lane::State::kConnected || !one.is_peer_ready) return 0;
  const auto used = static_cast<std::uint32_t>(one.receives.size());
  const std::uint32_t most = used < wire::kLaneDepth / 2 ? kMostOfQueuePair : kFewOfQueuePair;
  return under_way < most ? std::min(most - under_way, wire::kLaneDepth - used) : 0;
}

ExtentList Lanes::what_fits(const ExtentList& extents) const {
  ExtentList fits;
  for (const Extent& extent : extents.extents()) {
    if (fits.extents().size() == port_.most_extents()) break;
    fits.append(extent, 0, extent.size());
  }
  return fits;
}

std::uint64_t Lanes::receive(LaneReceiver& receiver, const Owner& owner, const Piece& piece) {
  const std::uint32_t number = number_for(piece.qp);
  if (!port_.reaches(piece.qp.adapter(), piece.extents)) return 0;
  Lane& one = lane(number);
  const ExtentList extents = what_fits(piece.extents);
  const auto bytes = static_cast<std::uint32_t>(extents.total_bytes());
  const Lending lending = lend(number, piece);
  Undo undo_lending([&] { lending.end(); });
  one.receives.push_back({.lending = lending,
                          .receiver = &receiver,
                          .serial = owner.serial,
                          .bytes = bytes,
                          .since = now_});
  Undo undo_receive([&] { one.receives.pop_back(); });
  one.clears_due.push_back(
      {.owner = owner, .bytes = bytes, .number = one.cleared & ~wire::kVoidPiece});
  Undo undo_clear([&] { one.clears_due.pop_back(); });
  if (port_.post_receive(number, piece.qp.adapter().id(), extents)) {
    undo_clear.keep();
    undo_receive.keep();
    undo_lending.keep();
    ++one.cleared;
    has_frames_ = true;
    return bytes;
  }
  undo_clear.keep();
  undo_receive.keep();
  undo_lending.keep();
  close(number);  // ends all three
  return 0;
}

Lanes::Lending Lanes::lend(std::uint32_t number, const Piece& piece) {
  Loans& loans = piece.qp.adapter().memory().loans();
  return {.loans = &loans, .loan = loans.lend(*this, number, piece.qp.number(), piece.keys)};
}

// What was received waits for its turn: a queue pair or a region that is about to end must not act
// on it now.
void Lanes::settle() {
  for (std::size_t i = events_.size(); i > 0; --i) {
    const LaneEvent event = events_.front();
    events_.pop_front();
    if (event.kind == LaneEvent::Kind::kSent) {
      take_sent(event.lane);
    } else {
      events_.push_back(event);
    }
  }
  while (const std::optional<LaneEvent> event = port_.next_lane_event()) {
    if (event->kind == LaneEvent::Kind::kSent) {
      take_sent(event->lane);
    } else {
      events_.push_back(*event);
    }
  }
}

void Lanes::recall(std::uint32_t number) {
  close(number);
}

}  // namespace paravane::transport_channel
