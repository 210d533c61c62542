#include "storage/unit_fence.h"

#include <utility>

#include "scsi/request.h"

namespace paravane::storage {

UnitFence::UnitFence(std::function<void()> wake) : wake_(std::move(wake)) {}

UnitFence::~UnitFence() {
  ++*run_;
}

void UnitFence::close() {
  ++*run_;
  step_ = Step::kClosed;
  has_answer_ = false;
  again_at_ = Instant::min();
}

TaskDone UnitFence::when_done() {
  return [this, run = run_, number = *run_](const TaskResult& result) {
    if (*run != number) return;
    answer_ = result;
    has_answer_ = true;
    wake_();
  };
}

void UnitFence::run(const UnitPath& path, Instant now) {
  if (std::exchange(has_answer_, false)) {
    if (step_ == Step::kResetting) {
      if (!answer_.is_good()) return fail("the target does not reset the logical unit", now);
      tests_ = 0;
      again_at_ = Instant::min();
      step_ = Step::kToTest;
    } else if (step_ == Step::kTesting) {
      // Unit attentions tell of the reset; each answer takes one away.
      const bool is_over = answer_.kind == TaskResult::Kind::kGood;
      if (!is_over && answer_.kind != TaskResult::Kind::kSense &&
          answer_.kind != TaskResult::Kind::kBusy) {
        return fail("the logical unit does not answer after its reset", now);
      }
      step_ = is_over ? Step::kOpen : Step::kToTest;
      if (!is_over && ++tests_ >= kMostTests) {
        // It was reset: another reset would only put off that it is ready.
        tests_ = 0;
        problem_ = "the logical unit is not ready after its reset";
        again_at_ = now + kPause;
      }
      if (is_over) problem_.clear();
    }
  }
  if (now < again_at_) return;
  if (step_ == Step::kClosed) {
    ++*run_;
    ++resets_;
    step_ = Step::kResetting;
    path.tasks->reset_unit(path.lun, when_done());
  } else if (step_ == Step::kToTest) {
    step_ = Step::kTesting;
    path.tasks->execute({.lun = path.lun, .request = scsi::test_unit_ready(), .payload = {}},
                        when_done());
  }
}

void UnitFence::fail(std::string why, Instant now) {
  problem_ = std::move(why);
  step_ = Step::kClosed;
  again_at_ = now + kPause;
}

}  // namespace paravane::storage
