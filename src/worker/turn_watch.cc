#include "worker/turn_watch.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/memory_shortage.h"

namespace paravane::worker {

std::optional<TurnNews> TurnJudge::look(Instant now, std::uint64_t turns, bool is_due) {
  const Duration since = now - std::exchange(last_look_, now);
  if (turns != turns_ || !is_due) {
    turns_ = turns;
    const Duration lasted = std::exchange(without_, {});
    if (!std::exchange(is_held_, false)) return std::nullopt;
    return TurnNews{.is_held = false, .lasted = lasted};
  }
  // If the whole process is stopped, or the host suspended, this thread stops as well.
  without_ += is_held_ ? since : std::min(since, 2 * kTurnLook);
  if (is_held_ || without_ < limit_) return std::nullopt;
  is_held_ = true;
  return TurnNews{.is_held = true, .lasted = without_};
}

TurnWatch::TurnWatch(TurnCount& count, Duration limit, HasMessage has_message, Tell tell)
    : count_(count),
      has_message_(std::move(has_message)),
      tell_(std::move(tell)),
      judge_(limit),
      thread_([this] { run(); }) {}

TurnWatch::~TurnWatch() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ends_.notify_one();
  count_.expect();
  thread_.join();
}

void TurnWatch::run() {
  pthread_setname_np(pthread_self(), "turn-watch");
  while (wait_for_look()) {
    runs_in_memory([this] { look(std::chrono::steady_clock::now()); });
  }
}

// False: it is the end.
bool TurnWatch::wait_for_look() {
  if (!is_watching_) {
    count_.await_expectation();
    is_watching_ = true;
  }
  std::unique_lock lock(mutex_);
  return !ends_.wait_for(lock, kTurnLook, [this] { return ending_; });
}

void TurnWatch::look(Instant now) {
  const auto news = judge_.look(now, count_.turns(), is_due());
  if (news) {
    state_.is_held = news->is_held;
    if (news->is_held) ++state_.holds;
    tell_(*news);
  }
  if (is_due() || judge_.is_held()) return;
  count_.look_away();
  if (is_due()) count_.expect();
  is_watching_ = false;
}

}  // namespace paravane::worker
