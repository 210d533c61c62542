// Life identifies one use of a queue pair, from when it leaves RESET until it is reset. It is 128
// random bits and a count, so no other queue pair has it, of whatever adapter, host and time. It
// stays with the queue pair, so a peer recognizes the same connection when the path to it changes.
//
// Plain value.

#pragma once

#include <cstdint>

namespace paravane::verbs {

struct Life {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  bool is_known() const { return high != 0 || low != 0; }
  friend bool operator==(const Life&, const Life&) = default;
};

}  // namespace paravane::verbs
