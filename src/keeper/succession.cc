#include "keeper/succession.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "privsep/heir_facts.h"

namespace paravane::keeper {

using privsep::Note;

Succession::Succession(SuccessionHands& hands, std::string version)
    : hands_(hands), version_(std::move(version)) {}

Succession::Saved Succession::saved() const {
  return {.version = version_,
          .earliest = earliest_,
          .recoveries = recoveries_,
          .last_recovery = last_recovery_};
}

void Succession::resume(const Saved& saved, Instant now) {
  version_ = saved.version;
  earliest_ = std::min(saved.earliest, now + kApart);
  recoveries_ = std::min(saved.recoveries, kMostRecoveries);
  last_recovery_ = std::min(saved.last_recovery, now);
}

void Succession::on_engine_note(const Note& note, Instant now) {
  if (note.kind == Note::Kind::kUpgrade && step_ == Step::kIdle) return ask(note, now);
  if (note.kind == Note::Kind::kCannot && step_ == Step::kHandingOver) return fail_with(note.text);
  ignore("engine", note, now);
}

void Succession::on_heir_note(const Note& note, Instant now) {
  if (note.kind == Note::Kind::kHeirReady && step_ == Step::kStarting) {
    return on_ready(note.text, now);
  }
  if (note.kind == Note::Kind::kHeirReady && step_ == Step::kReviving) {
    return on_ready_to_recover(note.text, now);
  }
  if (note.kind == Note::Kind::kTaken && step_ == Step::kRecovering) {
    // Of one that has ended, the news comes, and the next one is started.
    if (hands_.is_heir_alive()) serve_with_heir();
    return;
  }
  if (note.kind == Note::Kind::kTaken && step_ == Step::kHandingOver) return on_taken(now);
  if (note.kind == Note::Kind::kCannot &&
      (step_ == Step::kStarting || step_ == Step::kHandingOver)) {
    return fail_with(note.text);
  }
  if (note.kind == Note::Kind::kCannot &&
      (step_ == Step::kReviving || step_ == Step::kRecovering)) {
    log::error("the new engine cannot serve: {}", note.text);
    return hands_.kill_heir();  // the news of its end comes
  }
  ignore("new engine", note, now);
}

void Succession::ask(const Note& note, Instant now) {
  only_check_ = note.text == "check";
  if (now >= earliest_) return begin(now);
  step_ = Step::kWaiting;
  deadline_ = earliest_;
}

void Succession::begin(Instant now) {
  earliest_ = now + kApart;
  step_ = Step::kStarting;
  deadline_ = now + kToStart;
  if (const Status started = hands_.start_heir(nullptr); !started) {
    outcome_ = "failed " + started.error().message;
    tell_outcome(now);
  }
}

void Succession::on_ready(const std::string& text, Instant now) {
  const auto facts = privsep::parse_heir_facts(text);
  if (!facts) return fail_with(facts.error().message);
  if (only_check_) return end_heir("checked " + privsep::print(*facts));
  heirs_version_ = facts->version;
  heirs_record_ = facts->keeper_record;
  step_ = Step::kHandingOver;
  deadline_ = now + kToHandOver;
  if (!hands_.give_estate_line({.kind = Note::Kind::kHandOver, .text = privsep::print(*facts)})) {
    fail_with("the engine does not read what it is told");
  }
}

void Succession::on_taken(Instant now) {
  if (!hands_.is_heir_alive()) return;  // the news of its end comes, and nothing is lost
  // From here on the upgrade can only succeed.
  step_ = Step::kLettingGo;
  deadline_ = now + kToLetGo;
  // One that does not read is ended all the same.
  static_cast<void>(hands_.tell_engine({.kind = Note::Kind::kLetGo, .text = {}}));
}

bool Succession::on_engine_ended(const Crash& crash, bool may_go_on, Instant now) {
  switch (step_) {
    case Step::kLettingGo:
      log::info("the engine was replaced: {} by {}", version_, heirs_version_);
      serve_with_heir();
      hands_.replace_keeper(heirs_record_);
      return true;
    case Step::kLost: may_go_on = true; break;  // it was told to exit
    case Step::kStarting:
    case Step::kHandingOver:
    case Step::kEnding:
      // One at a time: the next engine is started when the heir has ended.
      if (may_go_on) crash_ = crash;
      step_ = Step::kEnding;
      deadline_ = kNever;
      hands_.kill_heir();
      return may_go_on;
    case Step::kIdle:
    case Step::kWaiting:
    case Step::kTelling:
    case Step::kReviving:
    case Step::kRecovering:
    case Step::kOver: break;
  }
  if (!may_go_on) return false;
  crash_ = crash;
  revive(now);
  return true;
}

// The heir is the engine now.
void Succession::serve_with_heir() {
  step_ = Step::kIdle;
  crash_.reset();
  deadline_ = kNever;
  if (!hands_.tell_heir({.kind = Note::Kind::kGo, .text = version_})) {
    log::error("the new engine does not read what it is told");
  }
  version_ = heirs_version_;
  hands_.succeed();
}

void Succession::revive(Instant now) {
  recoveries_ = recoveries_ > 0 && now - last_recovery_ < kInARow ? recoveries_ + 1 : 1;
  last_recovery_ = now;
  step_ = Step::kReviving;
  deadline_ = now + kToStart;
  if (recoveries_ > kMostRecoveries) {
    log::error(
        "{} new engines in a row have ended; giving up: the daemon ends, and its VMs have no "
        "adapter until they are shut down and started again. The lines above say how the engines "
        "ended",
        kMostRecoveries);
    step_ = Step::kOver;
  } else if (const Status started = hands_.start_heir(&*crash_); !started) {
    log::error("cannot start a new engine: {}", started.error().message);
    step_ = Step::kOver;
  }
}

void Succession::on_ready_to_recover(const std::string& text, Instant now) {
  const auto facts = privsep::parse_heir_facts(text);
  heirs_version_ = facts ? facts->version : "?";
  step_ = Step::kRecovering;
  deadline_ = now + kToStart;
  if (hands_.give_what_is_held()) return;
  log::error("what was kept of the engine is lost: the holder has ended");
  hands_.kill_heir();
}

void Succession::on_heir_ended(const std::string& how, Instant now) {
  switch (step_) {
    case Step::kStarting:
    case Step::kHandingOver:
      outcome_ = fmt::format("failed the new engine {} before it had taken over", how);
      return tell_outcome(now);
    case Step::kEnding:
      if (!crash_) return tell_outcome(now);
      return revive(now);  // the engine has ended, too
    case Step::kReviving:
    case Step::kRecovering:
      log::error("the new engine {} before it could serve", how);
      return revive(now);
    case Step::kLettingGo:
      // The engine has been told to exit, and the state of its VMs is lost with the heir.
      log::error("the new engine {} after it had taken over", how);
      step_ = Step::kLost;
      return;
    case Step::kLost:
    case Step::kIdle:
    case Step::kWaiting:
    case Step::kTelling:
    case Step::kOver: return;
  }
}

void Succession::give_up(const std::string& reason, Instant now) {
  if (step_ == Step::kWaiting) {
    outcome_ = "failed " + reason;
    tell_outcome(now);
  }
  if (step_ == Step::kStarting || step_ == Step::kHandingOver) fail_with(reason);
}

void Succession::step(Instant now) {
  if (now < deadline_) return;
  deadline_ = kNever;
  switch (step_) {
    case Step::kWaiting: return begin(now);
    case Step::kStarting:
      return fail_with(
          fmt::format("the new engine was not ready after {} s",
                      std::chrono::duration_cast<std::chrono::seconds>(kToStart).count()));
    case Step::kHandingOver:
      return fail_with(
          fmt::format("{} {} s", privsep::kOutOfTime,
                      std::chrono::duration_cast<std::chrono::seconds>(kToHandOver).count()));
    case Step::kReviving:
    case Step::kRecovering:
      log::error("the new engine was not ready in time");
      return hands_.kill_heir();
    case Step::kLettingGo:
    case Step::kLost: hands_.kill_engine(); return;
    case Step::kTelling: return tell_outcome(now);
    case Step::kIdle:
    case Step::kEnding:
    case Step::kOver: return;
  }
}

void Succession::end_heir(std::string outcome) {
  outcome_ = std::move(outcome);
  step_ = Step::kEnding;
  deadline_ = kNever;
  hands_.kill_heir();
}

void Succession::fail_with(const std::string& cause) {
  end_heir("failed " + cause);
}

// An engine that is held does not read, and would wait for this note for ever.
void Succession::tell_outcome(Instant now) {
  const bool told = hands_.tell_engine({.kind = Note::Kind::kResume, .text = outcome_});
  step_ = told ? Step::kIdle : Step::kTelling;
  deadline_ = told ? kNever : now + kTellAgain;
}

void Succession::ignore(const char* sender, const Note& note, Instant now) {
  ignored_.warn(now, "upgrade: the {} said {} in the wrong step; ignored", sender,
                static_cast<int>(note.kind));
}

}  // namespace paravane::keeper
