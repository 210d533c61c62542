// QpSeries chooses the queue pairs of one adapter that get time series of their own on the metrics
// page. A guest can have thousands of queue pairs, or constantly create new ones, and each would
// add series to the database that stores the metrics. The number of queue pairs with time series of
// their own is therefore limited.
//
// A queue pair with traffic gets a free slot, the busiest one first, and keeps it until it is
// destroyed. After another minute, the slot can be used again. The traffic of all other queue pairs
// is added up in one series that never decreases. Each change of a queue pair's labels (its type,
// path and its reason, and peer) also creates new series. The labels therefore change at most once
// a minute, even if the queue pair is reconnected more often.
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
  static constexpr Duration kRest = std::chrono::minutes(1);  // until a free slot is used again

  explicit QpSeries(std::size_t places) : places_(places) {}

  // Updates the choice. `all` holds all queue pairs that exist now.
  void look(std::vector<model::QpStats> all, Instant now);

  // The chosen queue pairs, in the order of their numbers.
  const std::vector<model::QpStats>& shown() const { return shown_; }
  const model::QpStats& other() const { return other_; }
  std::size_t other_count() const { return others_.size(); }

 private:
  static constexpr std::size_t kCounts = 7;
  using Counts = std::array<std::uint64_t, kCounts>;
  using Words = std::array<std::string, 5>;
  struct Holder {
    bool seen;  // this time
    Words words;
    Instant since;
  };
  static Counts counts_of(const model::QpStats& qp);
  static void show(Holder& holder, model::QpStats& qp, Instant now);
  void add_to_other(const Counts& counts, const Counts& before);

  const std::size_t places_;
  std::vector<Instant> resting_;             // free slots, and when each can be used
  std::map<std::uint32_t, Holder> holders_;  // by number
  std::map<std::uint32_t, Counts> others_;   // by number, as they were last
  std::vector<model::QpStats> shown_;
  model::QpStats other_;
};

}  // namespace paravane::metrics
