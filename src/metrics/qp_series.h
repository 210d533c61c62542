// QpSeries: selects the queue pairs of one adapter that have time series of their own, so that a
// guest with thousands of them, or with new ones all the time, does not fill the database that
// stores the metrics.
//
// A queue pair with traffic gets a slot while one is free, the busiest first, and keeps it until
// it is destroyed; the slot is free again a minute later. The traffic of all others is added up,
// so the sum never decreases. The description of a queue pair (its type, path and peer) also forms
// a series: a queue pair that is reconnected all the time keeps its old description until a minute
// has passed.
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
