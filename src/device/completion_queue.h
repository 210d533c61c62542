// CompletionQueue: one CQ of the guest: its ring, and whether the guest has armed it. An entry
// that the guest has not consumed is never overwritten.
//
// While the ring is full or its memory unmapped, completions are held back here, in order, up to
// the queue's own size and the device's limit (completion_events.h), and written when there is
// room. A program that takes one completion per event (perftest's ib_send_lat -e, with queues of
// one entry) lags by one step at times, and would lose its queue otherwise. One completion beyond
// that, or no room for a long time, is an overrun: the queue reports itself once and accepts
// nothing more.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "abi/completion.h"
#include "base/instant.h"
#include "base/line.h"
#include "device/completion_writer.h"
#include "device/user_context.h"
#include "guestmem/page_list.h"
#include "guestmem/ring_consumer.h"
#include "guestmem/ring_producer.h"
#include "verbs/completion.h"

namespace paravane::device {

class CompletionQueue;

// Receives notifications about a queue: completion_events.h.
class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  // The guest sees one or more new elements. `solicited`: also one that a solicited
  // arm waits for.
  virtual void on_completion(CompletionQueue& cq, bool solicited) = 0;
  // One completion is to be held back. Returns its number, which is above those of all
  // others before; nullopt: there is no room for it.
  virtual std::optional<std::uint64_t> may_hold(CompletionQueue& cq) = 0;
  // So many are held back no more.
  virtual void on_released(std::size_t count) = 0;
  // No completion of this queue pair that is held back now appears any more.
  virtual void forget_qp(std::uint32_t qp_handle) = 0;
  // Whether that is so of the completion with this number.
  virtual bool is_void(std::uint32_t qp_handle, std::uint64_t number) const = 0;
  // The queue is dead. `broken`: for an impossible index of the guest's.
  virtual void on_overrun(CompletionQueue& cq, bool broken) = 0;
};

class CompletionQueue final : public verbs::CompletionQueue {
 public:
  enum class Arm : std::uint8_t { kNone, kSolicited, kAny };

  struct Spec {
    std::uint32_t handle = 0;
    UserContext* owner = nullptr;  // outlives the queue; none: the guest's kernel
    std::uint32_t entries = 0;     // a power of two
  };

  // What late_events.h keeps per queue.
  struct LateState {
    bool started = false;  // has a budget
    bool watched = false;  // stands in one of the lines, or is being judged
    Line<CompletionQueue>::Place place{};
    bool rarely = false;                  // in the slow one
    std::uint64_t ticket = 0;             // of that place: a new one each time
    Instant due{};                        // it is judged
    std::uint64_t consumed_at_start = 0;  // of the window
    std::uint64_t words_at_start = 0;
    bool arm_seen = false;               // in this window, while something waited
    Instant armed_at{};                  // then
    Instant waiting_since{};             // first unconsumed completion of this position
    std::uint64_t told_at = UINT64_MAX;  // consumed() when the last event was sent
    std::uint64_t told_up_to = 0;        // pushed() then
    std::uint64_t pushed_at_event = 0;   // when any event was sent
    std::uint64_t words_at_event = 0;
    std::uint64_t polls_at_event = 0;
    std::uint32_t budget = 0;
    Instant refilled{};
  };

  // What completion_events.h keeps of a queue that holds some back.
  struct HoldState {
    std::optional<std::size_t> place{};  // in its list
    Instant since{};                     // it got rid of one, or began
  };

  // REQUIRES: `pages` hold a header page and `entries` elements; `sink` outlives us.
  CompletionQueue(const Spec& spec, PageList pages, CompletionSink& sink);
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  std::uint32_t handle() const { return spec_.handle; }
  UserContext* owner() const { return spec_.owner; }
  std::uint32_t context() const { return spec_.owner == nullptr ? 0 : spec_.owner->handle; }
  bool of_user() const { return spec_.owner != nullptr; }

  bool push(const verbs::Completion& completion, verbs::Reveal when) override;
  void reveal() override;

  // Entries of this send queue were taken: the guest gets their slots back before it
  // sees any completion that we have now or get later in this turn. REQUIRES:
  // reveal() follows in the same turn.
  void publish_before_reveal(RingConsumer& ring) { taken_from_ = &ring; }

  // ---- Arming ----
  Arm arm() const { return arm_; }
  void set_arm(bool solicited_only);
  void disarm() { arm_ = Arm::kNone; }
  bool would_fire(bool solicited) const {
    return arm_ == Arm::kAny || (arm_ == Arm::kSolicited && solicited);
  }
  // Whether completions that the arm waits for lie unconsumed already.
  bool holds_what_arm_waits_for();

  // ---- Position ----
  // Reads the guest's index. A dead queue counts as empty.
  std::uint32_t unconsumed();
  // Elements that the guest has consumed since creation: moves when and only when
  // cons_head does.
  std::uint64_t consumed() { return pushed_ - unconsumed(); }
  // The same, while the queue holds something, by a single look; nullopt: empty.
  std::optional<std::uint64_t> position_of_unconsumed() {
    const std::uint32_t waiting = unconsumed();
    return waiting == 0 ? std::nullopt : std::optional(pushed_ - waiting);
  }

  std::uint64_t pushed() const { return pushed_; }

  // ---- Held back ----
  bool holding() const { return !held_.empty(); }
  std::size_t held() const { return held_.size(); }
  // Writes what there is room for, `most` at most; returns how many are held no more:
  // those of queue pairs that have gone are dropped.
  std::uint32_t retry_held(std::uint32_t most);
  // The queue waited too long for room.
  void give_up();

  // Queue pairs that use it; a queue in use is not destroyed.
  void add_user() { ++users_; }
  void drop_user() { --users_; }
  std::uint32_t users() const { return users_; }

  // Among those of its owner.
  Line<CompletionQueue>::Place& place() { return place_; }
  // Pages of our own memory that it keeps, rounded up.
  std::uint32_t pages_kept() const;

  bool dead() const { return dead_; }
  LateState& late() { return late_; }
  HoldState& hold_state() { return hold_state_; }

 private:
  struct Held {
    abi::Cqe cqe;
    bool solicited;
    std::uint64_t number;
  };
  bool is_void(const Held& held) const {
    return sink_.is_void(static_cast<std::uint32_t>(held.cqe.qp.get()), held.number);
  }
  void drop_void();
  RingProducer::Push add(const abi::Cqe& cqe, bool solicited);
  bool hold(const abi::Cqe& cqe, bool solicited);
  void die(bool broken);

  const Spec spec_;
  const Reader reader_;
  PageList pages_;
  RingProducer producer_;
  CompletionSink& sink_;
  RingConsumer* taken_from_ = nullptr;
  std::deque<Held> held_;
  Line<CompletionQueue>::Place place_;
  LateState late_;
  HoldState hold_state_;
  std::uint64_t pushed_ = 0;
  std::uint64_t hidden_ = 0;          // written, not revealed yet
  std::uint64_t last_solicited_ = 0;  // how many there were with the last one; 0: none
  std::uint32_t users_ = 0;
  Arm arm_ = Arm::kNone;
  bool dead_ = false;
};

}  // namespace paravane::device
