#include "api/event_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace paravane::api {
namespace {

constexpr std::size_t kMaxText = 500;
constexpr std::size_t kMaxField = 255;
constexpr std::size_t kMaxFields = 16;

std::size_t size_of(const model::Event& event) {
  std::size_t bytes = sizeof(model::Event) + event.type.size() + event.text.size();
  for (const auto& [name, value] : event.fields) bytes += name.size() + value.size() + 64;
  return bytes;
}

void cut(model::Event& event) {
  event.text.resize(std::min(event.text.size(), kMaxText));
  while (event.fields.size() > kMaxFields) event.fields.erase(std::prev(event.fields.end()));
  for (auto& [name, value] : event.fields) value.resize(std::min(value.size(), kMaxField));
}

bool names_vm(const model::Event& event, const std::string& vm) {
  const auto found = event.fields.find("vm");
  return found != event.fields.end() && found->second == vm;
}

}  // namespace

void EventLog::add(model::Event event) {
  cut(event);
  {
    const std::lock_guard lock(mutex_);
    event.number = ++last_;
    event.time = clock_();
    ++totals_.by_severity.at(static_cast<std::size_t>(event.severity));
    bytes_ += size_of(event);
    events_.push_back(std::move(event));
    while (events_.size() > limits_.events || (bytes_ > limits_.bytes && events_.size() > 1)) {
      bytes_ -= size_of(events_.front());
      events_.pop_front();
      ++totals_.dropped;
    }
  }
  added_.notify_all();
}

EventPage EventLog::read(const EventQuery& query) const {
  const std::lock_guard lock(mutex_);
  return read_locked(query);
}

EventPage EventLog::read_locked(const EventQuery& query) const {
  const bool of_another = (!query.boot.empty() && query.boot != boot_) || query.after > last_;
  const std::uint64_t after = of_another ? 0 : query.after;
  const std::uint64_t oldest = last_ - events_.size() + 1;
  EventPage page{.boot = boot_, .next_after = last_};
  if (after + 1 < oldest) page.lost = oldest - 1 - after;
  const std::uint64_t first = std::max(after + 1, oldest);
  for (std::size_t i = first - oldest; i < events_.size(); ++i) {
    const model::Event& event = events_[i];
    if (query.vm && !names_vm(event, *query.vm)) continue;
    if (page.events.size() == query.most) {
      page.next_after = page.events.empty() ? after : page.events.back().number;
      break;
    }
    page.events.push_back(event);
  }
  return page;
}

EventPage EventLog::wait(const EventQuery& query, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  EventPage page = read_locked(query);
  const auto has_news = [&page] { return !page.events.empty() || page.lost > 0; };
  if (has_news() || closed_ || waiting_ >= limits_.waiters) return page;
  ++waiting_;
  const auto until = std::chrono::steady_clock::now() + patience;
  EventQuery rest = query;
  const std::uint64_t releases = releases_;
  while (!has_news() && !closed_ && releases == releases_) {
    // What was looked at and was of no interest is not looked at again.
    rest.after = page.next_after;
    rest.boot = boot_;
    if (added_.wait_until(lock, until) == std::cv_status::timeout) break;
    page = read_locked(rest);
  }
  --waiting_;
  return page;
}

void EventLog::release_readers() {
  {
    const std::lock_guard lock(mutex_);
    ++releases_;
  }
  added_.notify_all();
}

void EventLog::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  added_.notify_all();
}

EventLog::Totals EventLog::totals() const {
  const std::lock_guard lock(mutex_);
  Totals totals = totals_;
  totals.kept = events_.size();
  return totals;
}

}  // namespace paravane::api
