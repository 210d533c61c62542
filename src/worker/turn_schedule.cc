#include "worker/turn_schedule.h"

#include <algorithm>

#include "base/memory_shortage.h"

namespace paravane::worker {
namespace {

// A tenant pays for all the time that it used; a turn is bounded to some milliseconds of work. One
// that took longer than this was not the tenant's doing: the machine was suspended, or the process
// stopped.
constexpr Duration kMaxDebt = std::chrono::seconds(1);

// A turn from here on is charged by processor time, which is read so often: less often than
// it costs anything.
constexpr Duration kLong = std::chrono::milliseconds(2);
constexpr Duration kReadProcessorTime = std::chrono::milliseconds(1);

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
  turn_clock_.now = now;
  if (processor_time_ && now - processor_read_at_ >= kReadProcessorTime) read_processor_time();
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
  const Instant begin = turn_clock_.now;  // reading the clock costs as much as a short turn
  bool worked = true;
  const bool had_memory = runs_in_memory([&] { worked = entry.tenant->turn(begin, budget); });
  turn_clock_.now = clock_();
  const Duration used = turn_clock_.now - begin;
  entry.credit = std::max(entry.credit - charge_for(used), -kMaxDebt);
  TurnCounters& counters = entry.tenant->turn_counters();
  if (worked) counters.turns.add();
  if (!had_memory) counters.broken_off.add();
  counters.longest_turn_us.raise_to(whole_us(used));
  entry.tenant->add_busy(used);
  return worked;
}

void TurnSchedule::read_processor_time() {
  processor_read_ = processor_time_();
  processor_read_at_ = turn_clock_.now;
}

// At most kReadProcessorTime and a round too much: what came between the last reading and
// this turn.
Duration TurnSchedule::charge_for(Duration used) {
  if (used < kLong || !processor_time_) return used;
  const Duration before = processor_read_;
  read_processor_time();
  return std::min(used, processor_read_ - before);
}

Instant TurnSchedule::next_look(Instant now) {
  Instant next = kNever;
  for (const Entry& entry : entries_) {
    if (entry.tenant->has_work()) return now;
    next = std::min(next, entry.tenant->next_look());
  }
  return next;
}

}  // namespace paravane::worker
