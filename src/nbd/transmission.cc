#include "nbd/transmission.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace paravane::nbd {

// The memory goes back first, since a device that has no client wants it back.
Transmission::~Transmission() {
  incoming_.reset();
  table_.drop_buffers();
  if (is_open_) served_.device.close(*this);
}

bool Transmission::open() {
  is_open_ = served_.device.open(*this);
  return is_open_;
}

void Transmission::begin(const Agreement& agreement, Instant now) {
  assert(is_ready_);
  geometry_ = served_.offer.geometry;
  agreement_ = agreement;
  heard_ = now;
}

void Transmission::turn(Instant now, TurnBudget& budget) {
  now_ = now;
  if (has_output() && replied_ == kNever) replied_ = now;
  send(budget);
  if (!has_output()) replied_ = kNever;
  receive(now, budget);
  // A client that has gone hears nothing, and has no use for replies.
  if (phase_ == Phase::kEnding && has_ended()) phase_ = Phase::kOver;
  check_time(now);
}

bool Transmission::can_receive() const {
  if (phase_ != Phase::kServing) return false;
  if (incoming_) return socket_.may_read();
  if (table_.is_full()) return false;
  return has_header() ? !waits_for_room_ : socket_.may_read();
}

bool Transmission::can_send() const {
  return has_output() && (socket_.may_write() || is_deaf_);
}

bool Transmission::has_ended() const {
  const bool is_answered = table_.used() == 0 && !has_output();
  return is_answered || is_deaf_ || socket_.heard_hang_up();
}

bool Transmission::has_work() const {
  switch (phase_) {
    case Phase::kServing: return can_receive() || can_send();
    case Phase::kEnding: return can_send() || has_ended();
    case Phase::kOver: return true;
  }
  return false;
}

// A client that is read is silent only if all that it has sent was read.
Instant Transmission::deadline() const {
  if (phase_ == Phase::kEnding) return has_output() ? heard_ + kSilence : kNever;
  Instant next = is_in_message() && !socket_.may_read() ? heard_ + kSilence : kNever;
  if (is_stuck() && replied_ != kNever) next = std::min(next, replied_ + kSilence);
  return next;
}

void Transmission::check_time(Instant now) {
  if (phase_ == Phase::kOver || now < deadline()) return;
  served_.counters.timeouts.add();
  const bool is_deaf = phase_ == Phase::kEnding || (is_stuck() && now >= replied_ + kSilence);
  const std::string_view why =
      is_deaf ? "does not take its replies" : "stopped in the middle of a request";
  served_.log.warn(now, "nbd {}: the client is disconnected: it {}", served_.offer.name, why);
  phase_ = Phase::kOver;
}

void Transmission::end(std::string_view problem) {
  phase_ = Phase::kEnding;
  heard_ = now_;
  if (problem.empty()) return;
  served_.counters.broken_rules.add();
  served_.log.warn(now_, "nbd {}: the client is disconnected: {}", served_.offer.name, problem);
}

void Transmission::break_off(std::string_view problem) {
  end(problem);
  phase_ = Phase::kOver;
}

void Transmission::on_done(std::uint64_t tag, BlockResult result,
                           std::unique_ptr<BlockBuffer> buffer) {
  assert(tag < RequestTable::kPlaces);
  const auto place = static_cast<Place>(tag);
  RequestTable::Entry& entry = table_.at(place);
  entry.error = error_of(result);
  entry.message = message_of(result);
  if (result != BlockResult::kDone) {
    served_.counters.failed_requests.add();
  } else if (entry.request.command == Command::kRead) {
    entry.buffer = std::move(buffer);
  }
  table_.finish(place);
}

}  // namespace paravane::nbd
