// UserContext: one process of the guest that has opened the device. It has a doorbell page, the
// objects that the process has created, and the state that decides how often the page is polled
// (doorbell_watch.h).
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/uar.h"
#include "base/instant.h"
#include "base/line.h"
#include "device/holdings.h"

namespace paravane::device {

struct UserContext {
  std::uint32_t handle = 0;  // never 0, which means the guest's kernel
  std::uint32_t page = 0;    // index in BAR2
  Holdings holdings{};

  // ---- doorbell_watch.h ----
  static constexpr std::size_t kUnwatched = SIZE_MAX;
  std::size_t watch_place = kUnwatched;    // position among the contexts whose pages are polled
  Line<UserContext>::Place sweep_place{};  // place in the line of contexts that are swept
  Instant last_work{};                     // a request found, or a completion delivered
  Instant last_look{};
  Instant next_look{};                 // when to poll the page at the latest
  Instant spared_until{};              // the page is not polled before
  Instant close_until{};               // until then the page is polled every turn
  std::uint64_t completion_words = 0;  // CQ words that were read and not zero
  std::uint64_t poll_words = 0;        // those of them that contained POLL
  std::uint64_t sweep_round = 0;       // the last round in which it was swept
  std::uint32_t sweep_at = 0;          // where the check of all queue pairs continues
  std::uint32_t sweep_left = 0;        // how many queue pairs remain to be checked
  std::uint32_t shared_at = 0;         // the same for shared receive queues
  std::uint32_t shared_left = 0;
  bool shared_first = false;  // whether shared receive queues were checked first the last time

  // Whether the page is polled. It is not if doorbells are trapped or the context is being
  // destroyed.
  bool watched() const { return watch_place != kUnwatched; }

  void note_completion_word(std::uint32_t word) {
    ++completion_words;
    if ((word & abi::kUarCqPoll) != 0) ++poll_words;
  }
};

}  // namespace paravane::device
