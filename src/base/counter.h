// Counter: counts an event, or records a maximum, at the place in the code where it happens. The
// CLI, the API and the metrics show every counter without further code.
//
// A CounterSet lists the counters of one object. Declare the counters as members after the set.
// Each counter registers itself with the set, and code that prints counters iterates over the set.
//
// Owner thread only; other threads receive copies of the values.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace paravane {

class Counter;

class CounterSet {
 public:
  CounterSet() = default;
  CounterSet(const CounterSet&) = delete;
  CounterSet& operator=(const CounterSet&) = delete;

  const std::vector<const Counter*>& all() const { return counters_; }
  // The counter of this name, if there is one, goes on from `value`.
  void go_on(std::string_view name, std::uint64_t value);

 private:
  friend class Counter;
  std::vector<const Counter*> counters_;
  std::vector<std::uint64_t*> values_;  // of them
};

class Counter {
 public:
  // `name` and `help` must be literals. Names are snake_case and unique in the
  // set; `help` is a sentence without a full stop.
  Counter(CounterSet& set, std::string_view name, std::string_view help)
      : name_(name), help_(help) {
    set.counters_.push_back(this);
    set.values_.push_back(&value_);
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  void add(std::uint64_t n = 1) { value_ += n; }
  // For "the longest" or "the most so far".
  void raise_to(std::uint64_t n) { value_ = n > value_ ? n : value_; }

  std::uint64_t value() const { return value_; }
  std::string_view name() const { return name_; }
  std::string_view help() const { return help_; }

 private:
  std::string_view name_;
  std::string_view help_;
  std::uint64_t value_ = 0;
};

inline void CounterSet::go_on(std::string_view name, std::uint64_t value) {
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    if (counters_[i]->name() == name) *values_[i] = value;
  }
}

}  // namespace paravane
