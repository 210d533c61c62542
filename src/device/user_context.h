// UserContext: one process of the guest that has opened the device: its doorbell
// page, what it owns, and how closely its page is watched (doorbell_watch.h).

#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "abi/uar.h"
#include "base/instant.h"

namespace paravane::device {

class QueuePair;
class SharedReceiveQueue;

struct UserContext {
  std::uint32_t handle = 0;  // never 0: that means the guest's kernel
  std::uint32_t page = 0;    // index in BAR2

  std::vector<QueuePair*> queue_pairs{};                     // borrowed from the table
  std::vector<SharedReceiveQueue*> shared_receive_queues{};  // likewise
  std::unordered_set<std::uint32_t> completion_queues{};
  std::unordered_set<std::uint32_t> protection_domains{};

  // ---- doorbell_watch.h ----
  Instant last_work{};  // a request found, or a completion delivered
  Instant last_look{};
  Instant next_look{};                 // at the latest
  Instant spared_until{};              // not before
  Instant close_until{};               // until then it is looked at every turn
  std::uint64_t completion_words = 0;  // CQ words taken that were not zero
  std::uint64_t poll_words = 0;        // those of them that said POLL
  bool sweeping = false;               // stands in the line for that
  std::uint32_t sweep_at = 0;          // where the look at all queue pairs goes on
  std::uint32_t sweep_left = 0;        // how many it still has to look at
  std::uint32_t shared_at = 0;         // the same for shared receive queues
  std::uint32_t shared_left = 0;

  void note_completion_word(std::uint32_t word) {
    ++completion_words;
    if ((word & abi::kUarCqPoll) != 0) ++poll_words;
  }
};

}  // namespace paravane::device
