// Figure: an answer of the benchmark: what was measured, its floor from the same
// run, and what is demanded of it.
//
// Floor and figure are measured in turns, because the machine is never quiet:
// what disturbs one disturbs its neighbour, and the ratio is taken pair by pair.

#pragma once

#include <optional>
#include <string>

#include "bench/cores.h"
#include "bench/samples.h"

namespace paravane::bench {

struct Target {
  enum class Of { kNothing, kRatio, kValue };
  enum class Sense { kAtMost, kAtLeast };
  Of of = Of::kNothing;
  Sense sense = Sense::kAtMost;
  double limit = 0;
};

struct Figure {
  std::string name;
  std::string unit;
  std::string floor_name = {};  // empty: there is none
  Target target = {};
  Samples ours = {};
  Samples floor = {};
  Samples ratio = {};                      // ours / floor, of each pair
  Distance distance = Distance::kDistant;  // of the cores, when it was measured

  double judged() const { return target.of == Target::Of::kRatio ? ratio.median() : ours.median(); }
  // nullopt: nothing is demanded.
  std::optional<bool> met() const {
    if (target.of == Target::Of::kNothing) return std::nullopt;
    return target.sense == Target::Sense::kAtMost ? judged() <= target.limit
                                                  : judged() >= target.limit;
  }

  // Both are functions that measure once.
  template <typename MeasureFloor, typename MeasureOurs>
  void measure(unsigned repetitions, MeasureFloor measure_floor, MeasureOurs measure_ours) {
    measure_floor();  // caches, pages and clocks warm up
    measure_ours();
    for (unsigned i = 0; i < repetitions; ++i) {
      const double below = measure_floor();
      add(below, measure_ours());
    }
  }
  // One pair.
  void add(double below, double above) {
    floor.add(below);
    ours.add(above);
    ratio.add(above / below);
  }
};

}  // namespace paravane::bench
