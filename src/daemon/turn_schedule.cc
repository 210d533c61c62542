#include "daemon/turn_schedule.h"

#include <algorithm>

namespace paravane::daemon {
namespace {

// Who used time pays all of it; a turn is bounded to some milliseconds of work. One that
// took longer than this was not the tenant's doing: the machine was suspended, or the
// process stopped.
constexpr Duration kMaxDebt = std::chrono::seconds(1);

std::uint64_t whole_us(Duration duration) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
}

}  // namespace

void TurnSchedule::add(Tenant& tenant) {
  entries_.push_back({.tenant = &tenant, .credit = limits_.share});
}

void TurnSchedule::remove(Tenant& tenant) {
  std::erase_if(entries_, [&tenant](const Entry& entry) { return entry.tenant == &tenant; });
  first_ = 0;
}

bool TurnSchedule::round() {
  const Instant now = clock_();
  time_ = now;
  for (Entry& entry : entries_) entry.tenant->set_now(now);
  bool worked = false;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[(first_ + i) % entries_.size()];
    entry.credit = std::min(entry.credit + limits_.share, limits_.share);
    if (!entry.tenant->has_work() && entry.tenant->next_look() > now) continue;
    if (entry.credit <= Duration::zero()) {
      entry.tenant->turn_counters().put_off.add();
      worked = true;
      continue;
    }
    worked = give_turn(entry) || worked;
  }
  if (!entries_.empty()) first_ = (first_ + 1) % entries_.size();
  return worked;
}

bool TurnSchedule::give_turn(Entry& entry) {
  verbs::Budget budget{.bytes = limits_.bytes, .operations = limits_.operations};
  const Instant begin = time_;  // reading the clock costs as much as a short turn
  const bool worked = entry.tenant->turn(begin, budget);
  time_ = clock_();
  const Duration used = time_ - begin;
  entry.credit = std::max(entry.credit - used, -kMaxDebt);
  TurnCounters& counters = entry.tenant->turn_counters();
  if (worked) counters.turns.add();
  counters.longest_turn_us.raise_to(whole_us(used));
  entry.tenant->add_busy(used);
  return worked;
}

Instant TurnSchedule::next_look(Instant now) {
  Instant next = kNever;
  for (const Entry& entry : entries_) {
    if (entry.tenant->has_work()) return now;
    next = std::min(next, entry.tenant->next_look());
  }
  return next;
}

}  // namespace paravane::daemon
