// SendWindow: the requests that a requester has taken from its ring and that are not complete yet,
// the oldest first. It has slots, of which the requester counts those in use.
//
// Most queue pairs execute their requests on the fast path and need no slot (a slot takes 700
// bytes), so the first one is allocated when a request has to wait or goes to a transport. One slot
// stays when the window is empty: nothing is allocated then on a path that carries one request at a
// time. Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "verbs/work_request.h"

namespace paravane::verbs {

// The slots of all queue pairs of an adapter, beyond one each: a guest with thousands of queue
// pairs must not make us keep thousands of windows (a slot is below 1 KiB).
inline constexpr std::uint32_t kMaxWindowSlots = 8192;

class SendWindow {
 public:
  std::size_t slots() const { return slots_ == nullptr ? 0 : slots_->size(); }
  // Those beyond the first, of which an adapter allows its queue pairs a number together.
  std::size_t extra_slots() const { return slots() > 1 ? slots() - 1 : 0; }

  // REQUIRES: number < slots().
  SendRequest& slot(std::size_t number) { return (*slots_)[number]; }
  const SendRequest& slot(std::size_t number) const { return (*slots_)[number]; }
  SendRequest& oldest() { return slot(0); }

  // Throws std::bad_alloc without a change.
  SendRequest& add_slot() {
    if (slots_ == nullptr) slots_ = std::make_unique<std::deque<SendRequest>>();
    return slots_->emplace_back();
  }
  // Forgets the oldest request. False: its slot stays, because it is the only one.
  bool drop_oldest() {
    if (slots() <= 1) return false;
    slots_->pop_front();
    return true;
  }
  // Frees all slots.
  void clear() { slots_.reset(); }

 private:
  std::unique_ptr<std::deque<SendRequest>> slots_;
};

}  // namespace paravane::verbs
