#include "nbd/connection.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

namespace paravane::nbd {

Connection::Connection(UniqueFd socket, ServedDevice& served, EventLoop& loop, Instant now)
    : socket_(std::move(socket)),
      served_(served),
      loop_(loop),
      handshake_(std::make_unique<Handshake>(served.offer)),
      deadline_(now + kHandshakeTime) {}

Connection::~Connection() {
  loop_.unwatch(socket_.fd());
  transmission_.reset();
  if (served_.user == this) served_.user = nullptr;
}

Status Connection::watch() {
  return loop_.watch(socket_.fd(), ClientSocket::watched_events(),
                     [this](std::uint32_t events) { socket_.heard(events); });
}

void Connection::turn(Instant now, TurnBudget& budget) {
  if (handshake_) turn_of_handshake(now, budget);
  if (handshake_ || is_over_) return;
  transmission_->turn(now, budget);
  if (transmission_->is_over()) is_over_ = true;
}

bool Connection::has_work() const {
  if (is_over_) return true;
  if (!handshake_) return transmission_->has_work();
  if (sent_ < handshake_->out().size()) return socket_.may_write();
  switch (handshake_->state()) {
    case Handshake::State::kTalking: return socket_.may_read();
    case Handshake::State::kAsking: return can_ask() || socket_.heard_hang_up();
    case Handshake::State::kDone:
    case Handshake::State::kOver: return true;
  }
  return false;
}

Instant Connection::deadline() const {
  if (!handshake_) return transmission_->deadline();
  return handshake_->state() == Handshake::State::kAsking ? kNever : deadline_;
}

bool Connection::is_leaving() const {
  return is_over_ || socket_.is_hung_up() || (!handshake_ && transmission_->is_ending());
}

// ---- The handshake ----

void Connection::turn_of_handshake(Instant now, TurnBudget& budget) {
  bool goes_on = true;
  while (goes_on && !is_over_ && !budget.is_spent()) {
    if (!send_replies(budget)) break;
    switch (handshake_->state()) {
      case Handshake::State::kTalking: goes_on = receive_message(budget); break;
      case Handshake::State::kAsking: goes_on = ask_for_device(now); break;
      case Handshake::State::kDone:
        transmission_->begin(handshake_->agreement(), now);
        handshake_.reset();
        in_ = {};
        return;
      case Handshake::State::kOver: end_handshake(now); return;
    }
  }
  if (is_over_ || now < deadline()) return;
  served_.counters.timeouts.add();
  served_.log.warn(now, "nbd {}: a client is disconnected: its handshake takes too long",
                   served_.offer.name);
  is_over_ = true;
}

// False: not all was sent.
bool Connection::send_replies(TurnBudget& budget) {
  std::vector<std::byte>& out = handshake_->out();
  while (sent_ < out.size()) {
    if (!socket_.may_write()) return false;
    const IoResult result = socket_.write_bytes(std::span(out).subspan(sent_));
    budget.spend(result.bytes);
    if (result.kind == IoResult::Kind::kWouldBlock) return false;
    if (result.kind != IoResult::Kind::kMoved) {
      is_over_ = true;
      return false;
    }
    sent_ += result.bytes;
  }
  out.clear();
  sent_ = 0;
  return true;
}

// No more than the message is read: what follows the last one belongs to the transmission.
bool Connection::receive_message(TurnBudget& budget) {
  if (!socket_.may_read()) return false;
  in_.resize(handshake_->wanted());
  const IoResult result = socket_.read_bytes(std::span(in_).subspan(received_));
  budget.spend(result.bytes);
  if (result.kind == IoResult::Kind::kWouldBlock) return false;
  if (result.kind != IoResult::Kind::kMoved) {
    is_over_ = true;
    return false;
  }
  received_ += result.bytes;
  if (received_ < in_.size()) return true;
  received_ = 0;
  served_.offer.geometry = served_.device.geometry();
  const unsigned refused = handshake_->refused_options();
  handshake_->take(in_);
  served_.counters.refused_options.add(handshake_->refused_options() - refused);
  return true;
}

// Whether a question about the device has an answer: not while its last client is going.
bool Connection::can_ask() const {
  return transmission_ ? transmission_->is_ready()
                       : served_.user == nullptr || !served_.user->is_leaving();
}

bool Connection::ask_for_device(Instant now) {
  if (!can_ask()) {
    is_over_ = socket_.heard_hang_up();
    return false;
  }
  if (!transmission_) {
    if (served_.user != nullptr) {
      deny(now);
      return true;
    }
    transmission_ = std::make_unique<Transmission>(socket_, served_);
    if (!transmission_->open()) {
      transmission_.reset();
      deny(now);
      return true;
    }
    served_.user = this;
    return true;
  }
  served_.offer.geometry = served_.device.geometry();
  served_.counters.opened.add();
  deadline_ = now + kHandshakeTime;  // to take the answer
  handshake_->grant();
  return true;
}

void Connection::deny(Instant now) {
  served_.counters.in_use.add();
  served_.log.warn(now, "nbd {}: a client was refused: another program uses the device",
                   served_.offer.name);
  handshake_->deny(
      fmt::format("{} is in use: another program is connected to it", served_.offer.name));
}

void Connection::end_handshake(Instant now) {
  is_over_ = true;
  const std::string_view problem = handshake_->problem();
  if (problem.empty()) return;
  if (handshake_->has_broken_rules()) served_.counters.broken_rules.add();
  served_.log.warn(now, "nbd {}: a client is disconnected: {}", served_.offer.name, problem);
}

}  // namespace paravane::nbd
