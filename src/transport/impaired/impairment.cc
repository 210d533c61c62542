#include "transport/impaired/impairment.h"

#include <algorithm>

namespace paravane::transport_impaired {
namespace {

// SplitMix64: one step turns counters into numbers without a pattern.
std::uint64_t scramble(std::uint64_t value) {
  value += 0x9E37'79B9'7F4A'7C15;
  value = (value ^ (value >> 30)) * 0xBF58'476D'1CE4'E5B9;
  value = (value ^ (value >> 27)) * 0x94D0'49BB'1331'11EB;
  return value ^ (value >> 31);
}

// Each question has draws of its own: what is asked of one share does not change
// which messages another one hits.
enum class Question : std::uint64_t { kLoss = 1, kReorder = 2, kReceiver = 3, kAnswer = 4 };

bool hits(std::uint32_t share, std::uint64_t seed, const MessageNumber& number, Question question) {
  const std::uint64_t asked = scramble(seed ^ scramble(static_cast<std::uint64_t>(question)));
  const std::uint64_t draw = scramble(scramble(asked ^ number.sender) ^ number.message);
  return draw % kPartsPerMillion < share;
}

}  // namespace

Fate fate_of(const Impairment& impairment, const MessageNumber& number) {
  const auto hit = [&](std::uint32_t share, Question question) {
    return share > 0 && hits(share, impairment.seed, number, question);
  };
  return {.lost = hit(impairment.loss, Question::kLoss),
          .answer_lost = hit(impairment.loss, Question::kAnswer),
          .receiver_not_ready = hit(impairment.rnr, Question::kReceiver),
          .overtaken = hit(impairment.reorder, Question::kReorder)};
}

Duration hold_of(const Impairment& impairment, const Fate& fate) {
  if (!fate.overtaken) return impairment.delay;
  return impairment.delay + std::max(impairment.delay, kLeastReorder);
}

}  // namespace paravane::transport_impaired
