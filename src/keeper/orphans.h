// Orphans: what an engine leaves behind. It becomes a child of the keeper. It is the process that
// releases the engine's memory (daemon/memory_releaser.h), and it ends a moment after the engine,
// unless the engine was taken over and has given the line away that tells it to: then it would keep
// the memory of all guests mapped.
//
// One thread. Reads no clock.

#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <span>

#include "base/instant.h"

namespace paravane::keeper {

// In a list of processes. Neither that process nor another can change it.
inline constexpr const char* kReleasersName = "paravane-memory";

// Has what descendants leave behind become children of this process, wherever it runs: a container
// may have no other process that takes note of their end. The setting outlives execve().
void adopt_orphans();

class Orphans {
 public:
  // To release 350 GiB of guests' memory takes that long. With more, the signal hastens nothing.
  static constexpr Duration kMayStay = std::chrono::seconds(30);

  // Takes note of the ends of children that are not among `ours`. One of `ours` that has ended
  // delays the rest until the next call. Kills a releaser that has stayed since a call kMayStay
  // ago; other children may have been there before this program was, and are left alone.
  void look(std::span<const pid_t> ours, Instant now);
  Instant next_look() const;

 private:
  void look_for_releasers(std::span<const pid_t> ours, Instant now);

  std::map<pid_t, Instant> releasers_;  // until when each may stay; kNever: it was killed
};

}  // namespace paravane::keeper
