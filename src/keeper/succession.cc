#include "keeper/succession.h"

#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "base/log.h"
#include "privsep/heir_facts.h"

namespace paravane::keeper {

using privsep::Note;

Succession::Succession(SuccessionHands& hands, std::string version)
    : hands_(hands), version_(std::move(version)) {}

void Succession::on_engine_note(const Note& note, Instant now) {
  if (note.kind == Note::Kind::kUpgrade && step_ == Step::kIdle) return ask(note, now);
  if (note.kind == Note::Kind::kCannot && step_ == Step::kHandingOver) return fail_with(note.text);
  ignore("engine", note, now);
}

void Succession::on_heir_note(const Note& note, Instant now) {
  if (note.kind == Note::Kind::kHeirReady && step_ == Step::kStarting) {
    return on_ready(note.text, now);
  }
  if (note.kind == Note::Kind::kTaken && step_ == Step::kHandingOver) return on_taken(now);
  if (note.kind == Note::Kind::kCannot &&
      (step_ == Step::kStarting || step_ == Step::kHandingOver)) {
    return fail_with(note.text);
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
  if (const Status started = hands_.start_heir(); !started) {
    outcome_ = "failed " + started.error().message;
    tell_outcome(now);
  }
}

void Succession::on_ready(const std::string& text, Instant now) {
  const auto facts = privsep::parse_heir_facts(text);
  if (!facts) return fail_with(facts.error().message);
  if (only_check_) return end_heir("checked " + privsep::print(*facts));
  heirs_version_ = facts->version;
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

bool Succession::on_engine_ended() {
  if (step_ != Step::kLettingGo) {
    if (is_busy()) hands_.kill_heir();
    return false;
  }
  step_ = Step::kIdle;
  deadline_ = kNever;
  log::info("the engine was replaced: {} by {}", version_, heirs_version_);
  if (!hands_.tell_heir({.kind = Note::Kind::kGo, .text = version_})) {
    log::error("the new engine does not read what it is told");
  }
  version_ = heirs_version_;
  hands_.succeed();
  return true;
}

void Succession::on_heir_ended(const std::string& how, Instant now) {
  switch (step_) {
    case Step::kStarting:
    case Step::kHandingOver:
      outcome_ = fmt::format("failed the new engine {} before it had taken over", how);
      return tell_outcome(now);
    case Step::kEnding: return tell_outcome(now);
    case Step::kLettingGo:
      // The engine has been told to exit, and its state is lost with the heir.
      log::error("the new engine {} after it had taken over", how);
      step_ = Step::kLost;
      return;
    case Step::kLost:
    case Step::kIdle:
    case Step::kWaiting:
    case Step::kTelling: return;
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
          fmt::format("the engines were not done after {} s",
                      std::chrono::duration_cast<std::chrono::seconds>(kToHandOver).count()));
    case Step::kLettingGo:
    case Step::kLost: hands_.kill_engine(); return;
    case Step::kTelling: return tell_outcome(now);
    case Step::kIdle:
    case Step::kEnding: return;
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
