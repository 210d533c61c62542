// How much processor time can one guest take in one turn of the worker?
//
// Each figure is the longest turn of one hostile scenario (testing/hostile_turns.h) at the
// numbers that the default quotas allow: device and guest share a thread here, and what is
// counted is that thread's processor time from the guest's message to the end of the
// device's turn. What a turn touches is bounded exactly, by the test TurnLength.

#include <algorithm>

#include "bench/question.h"
#include "testing/hostile_turns.h"

namespace paravane::bench {
namespace {

constexpr unsigned kRepetitions = 5;
constexpr double kMost = 20;  // ms

}  // namespace

Figures long_turns(const Settings& settings) {
  Figures figures;
  for (const fake::HostileTurns& scenario : fake::hostile_turns()) {
    Figure figure{.name = scenario.name,
                  .unit = "ms",
                  .target = {Target::Of::kValue, Target::Sense::kAtMost, kMost}};
    for (unsigned i = 0; i < std::min(settings.repetitions, kRepetitions); ++i) {
      figure.ours.add(scenario.run(1).processor_seconds * 1e3);
    }
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace paravane::bench
