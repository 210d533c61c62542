// AddressSet: a set of intervals of a guest's address space, in which adjacent intervals are
// merged. GuestMemory records recently unmapped ranges in such a set. The set distinguishes an
// address that was unmapped recently, and will probably be mapped again, from an address that was
// never mapped.
//
// The set is bounded. If a VMM creates more than kMaxIntervals separate intervals, or if memory for
// another interval runs out, the set forgets all of them.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "state/reader.h"
#include "state/writer.h"

namespace paravane {

class AddressSet {
 public:
  static constexpr std::size_t kMaxIntervals = 4096;

  // Both addresses belong to the interval, so an interval can reach the top of the address space.
  // REQUIRES: first <= last.
  void add(std::uint64_t first, std::uint64_t last);
  void remove(std::uint64_t first, std::uint64_t last);

  bool contains(std::uint64_t address) const;
  bool empty() const { return intervals_.empty(); }
  std::size_t interval_count() const { return intervals_.size(); }
  void clear() { intervals_.clear(); }

  void save(state::Writer& out) const;
  // Adds to what the set has.
  void load(state::Reader& in);

 private:
  // False: memory ran out, and the set has been cleared.
  bool put(std::uint64_t first, std::uint64_t last);

  std::map<std::uint64_t, std::uint64_t> intervals_;  // first -> last
};

}  // namespace paravane
