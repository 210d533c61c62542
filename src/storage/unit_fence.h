// UnitFence makes sure that no task which a logical unit had before can change it any more: it
// resets the unit, and waits until the unit answers again.
//
// A write whose path has ended may still be executed by the target, at any time. If another write
// to the same block were sent by another path, and acknowledged, the first could land after it. A
// LOGICAL UNIT RESET ends all tasks of the unit (SAM-5, 7.6), whichever path they came by.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/instant.h"
#include "storage/unit_path.h"

namespace paravane::storage {

class UnitFence {
 public:
  // After a reset that failed, and after kMostTests answers other than good.
  static constexpr Duration kPause = std::chrono::seconds(1);
  static constexpr unsigned kMostTests = 16;

  // `wake`: run() has something to do.
  explicit UnitFence(std::function<void()> wake);
  ~UnitFence();
  UnitFence(const UnitFence&) = delete;
  UnitFence& operator=(const UnitFence&) = delete;

  bool is_open() const { return step_ == Step::kOpen; }
  // From now on it has to be run. What is under way counts no more.
  void close();
  // Goes on by this path. REQUIRES: !is_open(); the path works.
  void run(const UnitPath& path, Instant now);
  // When run() has to be called again, if wake does not say so before.
  Instant next_look() const {
    return step_ == Step::kClosed || step_ == Step::kToTest ? again_at_ : kNever;
  }
  // Why it was not opened at the last try; empty: it was, or there was none.
  const std::string& problem() const { return problem_; }
  std::uint64_t resets() const { return resets_; }

 private:
  enum class Step : std::uint8_t { kOpen, kClosed, kResetting, kToTest, kTesting };
  void fail(std::string why, Instant now);
  TaskDone when_done();

  const std::function<void()> wake_;
  // Shared with the answers that are awaited: those of an earlier run find another number.
  std::shared_ptr<std::uint64_t> run_ = std::make_shared<std::uint64_t>(0);
  Step step_ = Step::kClosed;
  bool has_answer_ = false;
  TaskResult answer_{};
  unsigned tests_ = 0;
  Instant again_at_ = Instant::min();
  std::string problem_;
  std::uint64_t resets_ = 0;
};

}  // namespace paravane::storage
