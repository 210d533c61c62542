#include "daemon/gap.h"

#include <chrono>

namespace paravane::daemon {
namespace {

using std::chrono::duration_cast;

std::string microseconds(Instant from, Instant to) {
  if (from <= Instant{} || to < from) return "0";
  return std::to_string(duration_cast<std::chrono::microseconds>(to - from).count());
}

}  // namespace

Duration Gap::length() const {
  return frozen <= Instant{} || begun < frozen ? Duration{} : begun - frozen;
}

std::map<std::string, std::string> Gap::fields() const {
  return {
      {"gap_ms", std::to_string(duration_cast<std::chrono::milliseconds>(length()).count())},
      {"saving_us", microseconds(frozen, first)},
      {"passing_us", microseconds(first, all)},
      {"loading_us", microseconds(all, taken)},
      {"ending_us", microseconds(taken, go)},
      {"beginning_us", microseconds(go, begun)},
      {"state_bytes", std::to_string(state_bytes)},
  };
}

}  // namespace paravane::daemon
