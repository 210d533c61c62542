// EventLog: keeps the most recent events of this host in order. A reader can request all events
// after a given number, and can wait for the next event.
//
// The log is limited to a number of events and a total size. When a limit is reached, the oldest
// events are dropped. A reader that has missed events receives the number of missed events.
//
// Each start of the daemon begins a new log with a new boot id. Readers use the boot id to notice
// that the numbers have started again.
//
// Any thread. add() never waits for a reader.

#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "model/event.h"

namespace paravane::api {

struct EventLogLimits {
  std::size_t events = 10'000;
  std::size_t bytes = std::size_t{8} * 1024 * 1024;
  std::size_t waiters = 2;  // readers that wait at the same time; others do not wait
};

// A reader's request.
struct EventQuery {
  std::uint64_t after = 0;          // only events with higher numbers
  std::string boot{};               // the log that `after` refers to; empty: this log
  std::optional<std::string> vm{};  // only events about this VM
  std::size_t most = 500;
};

struct EventPage {
  std::string boot{};                  // the run of the daemon that the numbers belong to
  std::uint64_t next_after = 0;        // `after` of the next query
  std::uint64_t lost = 0;              // requested events that were dropped, of any VM
  std::vector<model::Event> events{};  // in order

  friend bool operator==(const EventPage&, const EventPage&) = default;
};

class EventLog {
 public:
  using Clock = std::function<std::chrono::system_clock::time_point()>;

  // `boot` identifies this run of the daemon.
  explicit EventLog(std::string boot, EventLogLimits limits = {},
                    Clock clock = std::chrono::system_clock::now)
      : boot_(std::move(boot)), limits_(limits), clock_(std::move(clock)) {}

  // Adds an event, and sets its number and time. Texts that are too long are shortened.
  void add(model::Event event);

  // Returns the requested events. A query with the boot id of another log starts from the beginning
  // of this one.
  EventPage read(const EventQuery& query) const;
  // The same, but waits up to `patience` for the first matching event. Does not wait if the maximum
  // number of readers is already waiting.
  EventPage wait(const EventQuery& query, std::chrono::milliseconds patience);
  // Makes the readers that wait now return.
  void release_readers();
  // Makes waiting readers return. Later readers do not wait.
  void close();

  const std::string& boot() const { return boot_; }

  struct Totals {
    std::array<std::uint64_t, model::kSeverities> by_severity{};
    std::uint64_t dropped = 0;  // the oldest events, dropped to make room
    std::size_t kept = 0;
  };
  Totals totals() const;

 private:
  EventPage read_locked(const EventQuery& query) const;

  const std::string boot_;
  const EventLogLimits limits_;
  const Clock clock_;
  mutable std::mutex mutex_;  // guards all members below
  std::condition_variable added_;
  std::deque<model::Event> events_;
  std::size_t bytes_ = 0;
  std::uint64_t last_ = 0;  // the last number
  std::size_t waiting_ = 0;
  bool closed_ = false;
  std::uint64_t releases_ = 0;
  Totals totals_;
};

}  // namespace paravane::api
