// DoneMemory is what a responder remembers of the requests of its peer that it has executed. A
// request whose answer was lost comes again, perhaps over another transport, because the path to
// the peer has changed. It is answered again then, and not executed again (IBTA 9.7.5.1.3).
//
// A requester numbers its requests; a number that is higher than all that were executed is new.
// Transports without such numbers (transport/roce has those of packets) do not use it, except for
// atomics.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "state/reader.h"
#include "state/writer.h"
#include "verbs/life.h"

namespace paravane::verbs {

class DoneMemory {
 public:
  struct Atomic {
    std::uint64_t serial;
    std::uint64_t before;
  };

  // The requests that follow come from this connection of the peer. What was executed for another
  // is forgotten.
  void meet(const Life& peer) {
    if (peer == peer_) return;
    *this = {};
    peer_ = peer;
  }

  bool has(std::uint64_t serial) const { return serial != 0 && serial <= last_; }
  // The number of the last request that was executed; 0: none.
  std::uint64_t last() const { return last_; }
  void note(std::uint64_t serial) { last_ = std::max(last_, serial); }

  // An atomic is answered again with what its word had before. nullptr: it is not known.
  const Atomic* find_atomic(std::uint64_t serial) const {
    const auto known = std::ranges::find(atomics_, serial, &Atomic::serial);
    return known != atomics_.end() ? &*known : nullptr;
  }
  // Makes room for keep_atomic(), which cannot fail then. Throws std::bad_alloc without a change.
  void reserve_atomics(std::size_t most) { atomics_.reserve(most); }
  // Keeps the newest `most` of them.
  void keep_atomic(const Atomic& atomic, std::size_t most) {
    if (atomics_.size() >= most) atomics_.erase(atomics_.begin());
    atomics_.push_back(atomic);
  }

  // (docs/state.md) Of load(): `most` atomics.
  void save(state::Writer& out) const;
  void load(state::Reader& in, std::size_t most);

 private:
  Life peer_;
  std::uint64_t last_ = 0;
  std::vector<Atomic> atomics_;  // the newest last
};

}  // namespace paravane::verbs
