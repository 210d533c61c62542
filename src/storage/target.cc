#include "storage/target.h"

#include <algorithm>
#include <utility>

#include "wire/infiniband/communication.h"

namespace paravane::storage {

Target::Target(Facts facts, TargetLogin::Surroundings login, std::function<std::uint32_t()> psn,
               Listener listener)
    : facts_(std::move(facts)),
      surroundings_(std::move(login)),
      psn_(std::move(psn)),
      listener_(std::move(listener)) {
  surroundings_.look_again = [this] { look_again(); };
}

Target::~Target() {
  // The login gives the scan's command back.
  login_.reset();
  scan_.reset();
  surroundings_.timers.cancel(timer_);
}

model::TargetState Target::state() const {
  if (login_ && login_->is_up()) return model::TargetState::kLoggedIn;
  if (is_refused_) return model::TargetState::kRefused;
  return was_up_ ? model::TargetState::kLost : model::TargetState::kConnecting;
}

void Target::look_again() {
  wants_scan_ = true;
  surroundings_.wake();
}

void Target::rescan(Instant now) {
  wants_scan_ = true;
  scan_at_ = login_at_ = now;
  surroundings_.wake();
}

void Target::hear(Instant now) {
  if (login_ || !was_up_) return;
  login_at_ = std::min(login_at_, now);
  surroundings_.wake();
}

void Target::set_link(bool is_up, Instant now) {
  if (std::exchange(has_link_, is_up) == is_up) return;
  if (is_up) {
    login_at_ = now;
  } else if (login_) {
    login_->end("the port of the vmhba is down", now);
    end_login(now);
  }
  surroundings_.wake();
}

void Target::pump(Instant now) {
  if (login_) {
    const bool was_up = login_->is_up();
    login_->pump(now, kMostMessages);
    if (outcome_) take_outcome(now);
    const TargetLogin::State state = login_->state();
    if (state == TargetLogin::State::kRefused || state == TargetLogin::State::kEnded) {
      end_login(now);
    } else if (login_->is_up() && (!was_up_ || !was_up)) {
      if (!std::exchange(was_up_, true) || is_refused_ || !problem_.empty()) wants_scan_ = true;
      is_refused_ = false;
    }
  }
  if (!login_ && has_link_ && now >= login_at_) begin_login(now);
  if (!login_ || !login_->is_up() || !wants_scan_ || scan_ || now < scan_at_) return;
  // A target may say again and again that its units have changed.
  if (now < rested_at_) return wake_at(rested_at_);
  begin_scan(now);
}

void Target::begin_login(Instant now) {
  TargetAddress address = facts_.address;
  if (uses_port_) {
    address.is_by_rdma = true;
    address.service = wire::infiniband::tcp_port_service(kUsualPort);
  }
  login_ = std::make_unique<TargetLogin>(address, surroundings_);
  if (Status begun = login_->begin(psn_(), now); !begun) {
    problem_ = begun.error().message;
    login_.reset();
    login_at_ = now + kLoginPause;
    wake_at(login_at_);
  }
}

void Target::end_login(Instant now) {
  problem_ = login_->problem();
  // Before the login goes: paths have it until then, also if memory lacks for this.
  listener_.units_lost(*this, problem_);
  is_refused_ = login_->state() == TargetLogin::State::kRefused;
  // The other way is tried at once, and both again later.
  const bool is_other_way = login_->is_service_unknown() && !facts_.is_named && !uses_port_;
  uses_port_ = is_other_way || (uses_port_ && !login_->is_service_unknown());
  wants_scan_ = true;
  scan_at_ = Instant::min();
  units_ = 0;
  login_at_ = is_other_way ? now : now + kLoginPause;
  wake_at(login_at_);
  login_.reset();
  scan_.reset();
  outcome_.reset();
}

void Target::begin_scan(Instant now) {
  auto scan = std::make_unique<UnitScan>(*login_, surroundings_.adapter.memory(),
                                         surroundings_.timers, [this](UnitScan::Outcome outcome) {
                                           outcome_ = std::move(outcome);
                                           surroundings_.wake();
                                         });
  if (scan->begin(now)) {
    scan_ = std::move(scan);
    wants_scan_ = false;
    return;
  }
  scan_at_ = now + kScanPause;
  wake_at(scan_at_);
}

void Target::take_outcome(Instant now) {
  const UnitScan::Outcome outcome = std::move(*std::exchange(outcome_, std::nullopt));
  scan_.reset();
  problem_ = outcome.problem;
  if (!problem_.empty()) {
    wants_scan_ = true;
    scan_at_ = now + kLoginPause;
    wake_at(scan_at_);
    return;
  }
  units_ = static_cast<std::uint32_t>(outcome.units.size());
  rested_at_ = now + kScanRest;
  // Where memory lacks in the middle, another scan follows.
  const bool wants_scan = std::exchange(wants_scan_, true);
  listener_.units_found(*this, outcome.units);
  wants_scan_ = wants_scan;
}

void Target::wake_at(Instant due) {
  surroundings_.timers.cancel(timer_);
  timer_ = surroundings_.timers.set(due, [this](Instant) {
    timer_ = TimerId::kNone;
    surroundings_.wake();
  });
}

}  // namespace paravane::storage
