#include "keeper/engine_watch.h"

#include <algorithm>
#include <utility>

namespace paravane::keeper {

EngineWatch::EngineWatch(Duration limit, Duration longest_change)
    : limit_(limit == Duration{} ? limit : std::max(limit, kLeast)),
      longest_change_(longest_change) {}

bool EngineWatch::on_turns(Instant now) {
  if (life_ != Life::kServing || is_killed_ || limit_ == Duration{}) return false;
  overdue_ = {};
  next_ = now + every() + look();
  if (now - fed_ < every() / 2) return false;
  fed_ = now;
  return true;
}

EngineWatch::Act EngineWatch::step(Instant now, Life life) {
  if (limit_ == Duration{}) return Act::kNothing;
  if (life != std::exchange(life_, life)) return enter(now, life);
  if (now < next_) return Act::kNothing;
  switch (life) {
    case Life::kServing: return serve(now);
    case Life::kChanging: return change(now);
    case Life::kAway: break;
  }
  return Act::kNothing;
}

EngineWatch::Act EngineWatch::enter(Instant now, Life life) {
  is_killed_ = false;
  overdue_ = {};
  next_ = kNever;
  switch (life) {
    case Life::kServing: next_ = now + every() + look(); return Act::kDemand;
    case Life::kChanging: changing_until_ = now + longest_change_; return change(now);
    case Life::kAway: break;
  }
  return Act::kNothing;
}

EngineWatch::Act EngineWatch::change(Instant now) {
  next_ = kNever;
  if (now > changing_until_) return Act::kNothing;
  next_ = now + every();
  fed_ = now;
  return Act::kFeed;
}

// An engine that did not read the demand gets it again.
EngineWatch::Act EngineWatch::serve(Instant now) {
  // If this process did not run, the engine may not have run either.
  const Duration since = overdue_ == Duration{} ? look() : now - last_look_;
  last_look_ = now;
  overdue_ += std::min(since, 2 * look());
  next_ = now + look();
  if (overdue_ < limit_ / 2) return Act::kDemand;
  is_killed_ = true;
  next_ = kNever;
  return Act::kKill;
}

}  // namespace paravane::keeper
