// CompletionQueue: one completion queue of the guest, with its ring in guest memory and the state
// of its arm (the guest's request for a notification). An entry that the guest has not consumed is
// never overwritten.
//
// While the ring is full, or its memory is unmapped, completions are held back here in order, up to
// the size of the queue and a limit of the device. They are written when there is room. This is
// necessary because some programs, such as perftest's ib_send_lat -e with queues of one entry,
// consume a completion slightly too late, and their queue would otherwise overrun.
//
// If more completions arrive than can be held back, or there is no room for a long time, the queue
// overruns. It then reports an error once and accepts no further completions.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "abi/completion.h"
#include "base/instant.h"
#include "base/line.h"
#include "device/journal/kernel_journal.h"
#include "device/queues/completion_writer.h"
#include "device/user_context.h"
#include "guestmem/page_list.h"
#include "guestmem/ring_consumer.h"
#include "guestmem/ring_producer.h"
#include "state/reader.h"
#include "state/writer.h"
#include "verbs/completion.h"

namespace paravane::device {

class CompletionQueue;

// CompletionSink: receives the events of completion queues. completion_events.h implements it.
class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  // The guest can see one or more new elements. `solicited`: whether an arm for solicited
  // completions waits for one of them.
  virtual void on_completion(CompletionQueue& cq, bool solicited) = 0;
  // A completion must be held back. Returns its number, which is higher than all earlier ones;
  // nullopt: the limit is reached, or memory has run out.
  virtual std::optional<std::uint64_t> may_hold(CompletionQueue& cq) = 0;
  // `count` completions are no longer held back.
  virtual void on_released(std::size_t count) = 0;
  // Drops all completions of this queue pair that are held back now.
  virtual void forget_qp(std::uint32_t qp_handle) = 0;
  // Whether the completion with this number was dropped.
  virtual bool is_void(std::uint32_t qp_handle, std::uint64_t number) const = 0;
  // The queue has failed. `broken`: because the guest wrote an impossible index.
  virtual void on_overrun(CompletionQueue& cq, bool broken) = 0;
};

class CompletionQueue final : public verbs::CompletionQueue {
 public:
  enum class Arm : std::uint8_t { kNone, kSolicited, kAny };

  struct Spec {
    std::uint32_t handle = 0;
    UserContext* owner = nullptr;  // outlives the queue; nullptr: the guest's kernel
    std::uint32_t entries = 0;     // a power of two
  };

  // The state that late_events.h keeps for each queue.
  struct LateState {
    bool started = false;   // whether it has a budget
    bool watched = false;   // whether it is in a line or being judged
    bool rarely = false;    // whether it is in the slow line
    bool arm_seen = false;  // whether an arm was seen in the window while completions waited
    std::uint32_t budget = 0;
    Line<CompletionQueue>::Place place{};
    std::uint64_t ticket = 0;             // new each time it enters a line
    Instant due{};                        // when it is judged
    std::uint64_t consumed_at_start = 0;  // at the start of the window
    std::uint64_t words_at_start = 0;
    Instant armed_at{};                  // the time of the arm that was seen
    Instant waiting_since{};             // since when the first unconsumed completion waits
    std::uint64_t told_at = UINT64_MAX;  // consumed() when the last event was sent
    std::uint64_t told_up_to = 0;        // pushed() at that time
    std::uint64_t pushed_at_event = 0;   // when any event was sent
    std::uint64_t words_at_event = 0;
    std::uint64_t polls_at_event = 0;
    Instant refilled{};
  };

  // The state that completion_events.h keeps for a queue that holds back completions.
  struct HoldState {
    std::optional<std::uint32_t> place{};  // in its list
    Instant since{};                       // when it last wrote one, or began to hold back
  };

  // REQUIRES: `pages` hold a header page and `entries` elements; `sink` outlives the queue.
  CompletionQueue(const Spec& spec, PageList pages, CompletionSink& sink);
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  std::uint32_t handle() const { return spec_.handle; }
  UserContext* owner() const { return spec_.owner; }
  std::uint32_t context() const { return spec_.owner == nullptr ? 0 : spec_.owner->handle; }
  bool of_user() const { return spec_.owner != nullptr; }

  bool push(const verbs::Completion& completion, verbs::Reveal when) override;
  void reveal() override;

  // From now on, `journal`, which outlives the queue, is told which requests its completions are
  // for. Of a queue of the guest's kernel.
  void note_in(KernelJournal& journal) { journal_ = &journal; }
  KernelJournal* journal() const { return journal_; }
  // Goes on in the ring of a queue of another process, which is gone. The index of its first
  // completion that the guest does not see; nullopt: there is no ring. REQUIRES: nothing was
  // pushed.
  std::optional<std::uint32_t> resume();
  // Whether a completion need not be held back. Reads the guest's index. Not while it is dead.
  bool is_reachable() { return pages_.reach() == Reach::kOk; }
  bool has_room() {
    return !dead_ && !holding() && producer_.unconsumed() + hidden_ < spec_.entries;
  }

  // The ring is being destroyed. A turn that a failed allocation cut short may have left it here.
  void forget_taken(const RingConsumer& ring) {
    if (taken_from_ == &ring) taken_from_ = nullptr;
  }
  // Entries of this ring of requests were taken. Their slots are returned to the guest before it
  // sees any completion of this turn. REQUIRES: reveal() follows in the same turn.
  void publish_before_reveal(RingConsumer& ring) {
    if (taken_from_ == &ring) return;
    publish_taken();
    taken_from_ = &ring;
  }

  // ---- Arming ----
  Arm arm() const { return arm_; }
  void set_arm(bool solicited_only);
  void disarm() { arm_ = Arm::kNone; }
  bool would_fire(bool solicited) const {
    return arm_ == Arm::kAny || (arm_ == Arm::kSolicited && solicited);
  }
  // Whether the queue already holds an unconsumed completion that the arm waits for.
  bool holds_what_arm_waits_for();

  // ---- Position ----
  // The number of elements that the guest has not consumed. Reads the guest's index. A failed queue
  // counts as empty.
  std::uint32_t unconsumed();
  // The number of elements that the guest has consumed since creation. It changes exactly when
  // cons_head changes.
  std::uint64_t consumed() { return pushed_ - unconsumed(); }
  // The same, with only one read of the guest's index; nullopt: the queue is empty.
  std::optional<std::uint64_t> position_of_unconsumed() {
    const std::uint32_t waiting = unconsumed();
    return waiting == 0 ? std::nullopt : std::optional(pushed_ - waiting);
  }

  std::uint64_t pushed() const { return pushed_; }

  // ---- Held back ----
  bool holding() const { return held_ != nullptr; }
  std::size_t held() const { return holding() ? held_->size() : 0; }
  // Writes as many completions as fit, but at most `most`, and drops those of destroyed queue
  // pairs. Returns how many completions are no longer held back.
  std::uint32_t retry_held(std::uint32_t most);
  // The queue has waited too long for room, and fails.
  void give_up();

  // The queue pairs that use this queue. A queue in use is not destroyed.
  void add_user() { ++users_; }
  void drop_user() { --users_; }
  std::uint32_t users() const { return users_; }

  // The place in the list of its owner's queues.
  Line<CompletionQueue>::Place& place() { return place_; }
  // The pages of the daemon's memory that the queue occupies, rounded up.
  std::uint32_t pages_kept() const;

  bool dead() const { return dead_; }

  // (docs/state.md) Without its handle, owner and size. REQUIRES of save(): nothing is hidden, as
  // after reveal().
  const PageList& pages() const { return pages_; }
  std::uint32_t entries() const { return spec_.entries; }
  void save(state::Writer& out) const;
  void load(state::Reader& in);

  LateState& late() { return late_; }
  HoldState& hold_state() { return hold_state_; }

 private:
  // Where the ring of its request is when the request is done, for the journal.
  static constexpr std::uint32_t kNoPlace = UINT32_MAX;
  struct Held {
    abi::Cqe cqe;
    bool solicited;
    std::uint32_t place;
    std::uint64_t number;
  };
  bool is_void(const Held& held) const {
    return sink_.is_void(static_cast<std::uint32_t>(held.cqe.qp.get()), held.number);
  }
  Reader reader() const { return of_user() ? Reader::kUser : Reader::kKernel; }
  void publish_taken();
  void drop_void();
  void drop_first();
  std::uint32_t place_of(const verbs::Completion& completion) const;
  RingProducer::Push add(const abi::Cqe& cqe, bool solicited, std::uint32_t place);
  void note(const abi::Cqe& cqe, std::uint32_t place);
  bool hold(const abi::Cqe& cqe, bool solicited, std::uint32_t place);
  bool find_place(const abi::Cqe& cqe, bool solicited, std::uint32_t place);
  void die(bool broken);

  const Spec spec_;
  PageList pages_;
  // What each completion needs stands together.
  RingProducer producer_;
  CompletionSink& sink_;
  RingConsumer* taken_from_ = nullptr;
  KernelJournal* journal_ = nullptr;
  // Held back; null: none, as nearly always, and an empty queue would take 600 bytes.
  std::unique_ptr<std::deque<Held>> held_;
  std::uint64_t pushed_ = 0;
  std::uint64_t hidden_ = 0;          // written, not revealed yet
  std::uint64_t last_solicited_ = 0;  // elements up to the last solicited one; 0: none
  std::uint32_t users_ = 0;
  Arm arm_ = Arm::kNone;
  bool dead_ = false;
  LateState late_;
  Line<CompletionQueue>::Place place_;
  HoldState hold_state_;
};

}  // namespace paravane::device
