#include "base/timers.h"

#include <utility>

#include "base/memory_shortage.h"

namespace paravane {

TimerId TimerQueue::set(Instant due, Callback callback) {
  const std::uint64_t id = next_id_++;
  heap_.push(Entry{.due = due, .id = id});  // without a callback it is a cancelled one
  callbacks_.emplace(id, std::move(callback));
  return TimerId{id};
}

void TimerQueue::cancel(TimerId id) {
  callbacks_.erase(static_cast<std::uint64_t>(id));
  // Cancelled entries stay in the heap until they surface; rebuild when they
  // are most of it, so that set-and-cancel for ever does not grow it.
  if (heap_.size() <= 64 || heap_.size() <= 2 * callbacks_.size()) return;
  runs_in_memory([this] {  // or at the next one
    std::vector<Entry> live;
    live.reserve(callbacks_.size());
    for (; !heap_.empty(); heap_.pop()) {
      if (callbacks_.contains(heap_.top().id)) live.push_back(heap_.top());
    }
    heap_ = decltype(heap_)(std::greater<>(), std::move(live));
  });
}

std::size_t TimerQueue::run_due(Instant now, std::size_t limit) {
  std::size_t ran = 0;
  while (ran < limit) {
    drop_cancelled();
    if (heap_.empty() || heap_.top().due > now) break;
    const std::uint64_t id = heap_.top().id;
    heap_.pop();
    auto node = callbacks_.extract(id);
    node.mapped()(now);
    ++ran;
  }
  return ran;
}

Instant TimerQueue::next_deadline() {
  drop_cancelled();
  return heap_.empty() ? kNever : heap_.top().due;
}

void TimerQueue::drop_cancelled() {
  while (!heap_.empty() && !callbacks_.contains(heap_.top().id)) heap_.pop();
}

}  // namespace paravane
