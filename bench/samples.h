// Samples: one figure, measured several times.

#pragma once

#include <algorithm>
#include <vector>

namespace paravane::bench {

class Samples {
 public:
  void add(double value) { values_.insert(std::ranges::upper_bound(values_, value), value); }
  bool empty() const { return values_.empty(); }
  std::size_t count() const { return values_.size(); }
  // REQUIRES: not empty.
  double median() const { return values_[values_.size() / 2]; }
  double min() const { return values_.front(); }
  double max() const { return values_.back(); }

 private:
  std::vector<double> values_;  // ascending
};

}  // namespace paravane::bench
