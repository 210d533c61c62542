// What is saved of a life.
//
// Stateless, any thread.

#pragma once

#include "state/reader.h"
#include "state/writer.h"
#include "verbs/life.h"

namespace paravane::verbs {

inline void save(const Life& life, state::Writer& out) {
  out.number(state::Tag{1}, life.high);
  out.number(state::Tag{2}, life.low);
}

inline Life load_life(state::Reader& in) {
  const std::uint64_t high = in.number(state::Tag{1});
  const std::uint64_t low = in.number(state::Tag{2});
  in.end();
  return {.high = high, .low = low};
}

}  // namespace paravane::verbs
