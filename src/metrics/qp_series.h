// QpSeries: which queue pairs of one adapter have time series of their own, so that a
// guest with thousands of them, or with new ones all the time, does not fill the
// database of whoever collects them.
//
// A queue pair that has carried something gets a place while one is free, the busiest
// first, and keeps it until it is destroyed; its place is free again a minute later. What
// all others do while they are looked at is added up, so that the sum never goes back.
// What a queue pair is (its type, path and peer) makes a series, too: one that is connected
// anew all the time shows as what it was until a minute has passed.
//
// One thread at a time.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/instant.h"
#include "model/stats.h"

namespace paravane::metrics {

class QpSeries {
 public:
  static constexpr Duration kRest = std::chrono::minutes(1);  // of a place

  explicit QpSeries(std::size_t places) : places_(places) {}

  // All queue pairs there are now.
  void look(std::vector<model::QpStats> all, Instant now);

  // By their numbers.
  const std::vector<model::QpStats>& shown() const { return shown_; }
  const model::QpStats& other() const { return other_; }
  std::size_t other_count() const { return others_.size(); }

 private:
  static constexpr std::size_t kCounts = 7;
  using Counts = std::array<std::uint64_t, kCounts>;
  using Words = std::array<std::string, 4>;
  struct Holder {
    bool seen;  // this time
    Words words;
    Instant since;
  };
  static Counts counts_of(const model::QpStats& qp);
  static void show(Holder& holder, model::QpStats& qp, Instant now);
  void add_to_other(const Counts& counts, const Counts& before);

  const std::size_t places_;
  std::vector<Instant> resting_;             // places that are free from then on
  std::map<std::uint32_t, Holder> holders_;  // by number
  std::map<std::uint32_t, Counts> others_;   // by number, as they were last
  std::vector<model::QpStats> shown_;
  model::QpStats other_;
};

}  // namespace paravane::metrics
