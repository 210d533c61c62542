// Recovery: what to do about a command whose answer does not come: abort it, then reset its logical
// unit, then connect anew. Each step has its time; a step that the target refuses, or that cannot
// be sent, is followed by the next one at once.
//
// A reset ends all commands of its logical unit: an owner that has begun one for a command needs no
// second one for the others.
//
// One object for each command that is watched. A plain value that decides; its owner does it. Owner
// thread only; time comes as arguments.

#pragma once

#include <chrono>
#include <cstdint>

#include "base/instant.h"
#include "srp/session.h"

namespace paravane::srp {

struct Patience {
  Duration command = std::chrono::seconds(30);
  Duration abort = std::chrono::seconds(5);
  Duration reset = std::chrono::seconds(10);
};

class Recovery {
 public:
  enum class Step : std::uint8_t {
    kNone,       // there is nothing to do (yet)
    kAbort,      // manage(kAbortTask)
    kResetLun,   // manage(kLunReset)
    kReconnect,  // end the connection, drop_all()
  };

  // `sent`: when the command was.
  Recovery(Instant sent, const Patience& patience)
      : patience_(patience), deadline_(sent + patience.command) {}

  // When due() may have something to say; kNever: after kReconnect.
  Instant deadline() const { return deadline_; }

  // The step to take now, each once.
  Step due(Instant now) { return now < deadline_ ? Step::kNone : next(now); }

  // The target has answered the step that is under way, and the command has not ended with it. An
  // answer to an earlier step changes nothing.
  Step on_managed(TaskFunction function, Instant now) {
    const Step answered = function == TaskFunction::kAbortTask ? Step::kAbort : Step::kResetLun;
    return answered == step_ ? next(now) : Step::kNone;
  }
  // The step that was due could not be sent.
  Step on_not_sent(Instant now) { return next(now); }

  // The last step that was due.
  Step step() const { return step_; }

 private:
  Step next(Instant now) {
    switch (step_) {
      case Step::kNone:
        step_ = Step::kAbort;
        deadline_ = now + patience_.abort;
        return step_;
      case Step::kAbort:
        step_ = Step::kResetLun;
        deadline_ = now + patience_.reset;
        return step_;
      case Step::kResetLun:
        step_ = Step::kReconnect;
        deadline_ = kNever;
        return step_;
      case Step::kReconnect: return Step::kNone;
    }
    return Step::kNone;
  }

  Patience patience_;
  Instant deadline_;
  Step step_ = Step::kNone;
};

}  // namespace paravane::srp
