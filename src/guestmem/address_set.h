// AddressSet: intervals of the guest's address space, merged where they touch. GuestMemory keeps
// recently unmapped ranges in one, to tell "may come back" from "never existed".
//
// Bounded: if a VMM creates more than kMaxIntervals separate holes, or memory for another runs
// out, the set forgets all of them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace paravane {

class AddressSet {
 public:
  static constexpr std::size_t kMaxIntervals = 4096;

  // Both ends belong to the interval, so the top of the address space can be
  // named. REQUIRES: first <= last.
  void add(std::uint64_t first, std::uint64_t last);
  void remove(std::uint64_t first, std::uint64_t last);

  bool contains(std::uint64_t address) const;
  bool empty() const { return intervals_.empty(); }
  std::size_t interval_count() const { return intervals_.size(); }
  void clear() { intervals_.clear(); }

 private:
  // False: there was no memory, and nothing is known any more.
  bool put(std::uint64_t first, std::uint64_t last);

  std::map<std::uint64_t, std::uint64_t> intervals_;  // first -> last
};

}  // namespace paravane
