// LostQueues: what is left of the queues of a guest's kernel, after the process that served them
// was killed. All requests without a completion, and those that are posted from now on, complete in
// error: flushed, as those of queue pairs in ERR do, and datagrams with IB_WC_FATAL_ERR. With that,
// what the kernel has under way ends, and its driver can be unloaded.
//
// The driver's commands fail, all but those with which a kernel drains and destroys its queues:
// what is destroyed is not touched any more, since its memory may be anybody's.
//
// It finds the queues in the journal of the process before (kernel_journal.h), a slice in each
// turn, and keeps the journal true, so that a further process can take its place. A queue whose
// memory is not shown is looked for again after the VMM has changed the map.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/instant.h"
#include "device/command_scope.h"
#include "device/interrupt_lines.h"
#include "device/journal/kernel_journal.h"
#include "device/notifier.h"
#include "device/queues/completion_queue.h"
#include "device/shared_region.h"
#include "device/turn_effort.h"
#include "guestmem/guest_memory.h"
#include "guestmem/page_list.h"
#include "verbs/transport.h"

namespace paravane::device {

class LostQueues final : private CompletionSink {
 public:
  struct Parts {
    const DeviceConfig& config;
    KernelJournal& journal;
    GuestMemory& memory;
    const SharedRegion& region;
    InterruptLines& lines;
    Notifier& notifier;  // whose rings go on where the guest is
    TurnEffort& effort;
    DeviceCounters& counters;
  };
  // All of them outlive it. REQUIRES: KernelJournal::go_on() was called.
  explicit LostQueues(const Parts& parts);
  ~LostQueues();  // in as many steps as there are queues
  LostQueues(const LostQueues&) = delete;
  LostQueues& operator=(const LostQueues&) = delete;

  // Completes what is posted. At least one request, and more as far as the turn's effort and
  // `budget` allow.
  void poll(Instant now, verbs::Budget& budget);
  bool has_work() const { return is_finding() || is_sweeping_; }
  // When poll() is due without work; kNever: not before look().
  Instant next_look() const { return has_waiting_ ? next_try_ : kNever; }

  // The kernel may have posted something.
  void look();
  // Looks for what was not found, and has the guest look at each completion queue.
  void search_again();
  // The driver has written the register REQUEST. Returns the new value of the register ERR.
  std::uint32_t submit();

  // Nothing of the guest is touched from now on; only bury() may follow.
  void close() { is_closed_ = true; }
  bool is_closed() const { return is_closed_; }
  // Destroys at least one queue, and more as long as the turn's effort allows. True: none is left.
  bool bury();

 private:
  struct Cq;
  struct Qp;
  enum class Flushed : std::uint8_t { kSome, kNothing, kWaits };
  enum class Search : std::uint8_t { kEnded, kGoesOn };

  // ---- CompletionSink ----
  void on_completion(CompletionQueue& cq, bool) override { notifier_.completion(cq.handle()); }
  // Nothing is completed without room for it.
  std::optional<std::uint64_t> may_hold(CompletionQueue&) override { return std::nullopt; }
  void on_released(std::size_t) override {}
  void forget_qp(std::uint32_t) override {}
  bool is_void(std::uint32_t, std::uint64_t) const override { return false; }
  void on_overrun(CompletionQueue&, bool) override {}

  bool is_finding() const {
    return next_cq_ < journal_.cqs_end() || next_qp_ < journal_.qps_end() || may_find_missing();
  }
  bool may_find_missing() const { return is_missing_ && memory_.generation() != searched_map_; }
  void find_some();
  Search find_cq(std::uint32_t handle);
  Search find_qp(std::uint32_t handle);
  Search read_pages(GuestAddr directory, std::uint64_t pages);
  Search miss();
  Search pass();
  Cq* found_cq(std::uint32_t handle) const;
  void sweep(Instant now, const verbs::Budget& budget);
  Flushed flush(Qp& qp);
  Flushed flush_send(Qp& qp);
  Flushed flush_receive(Qp& qp);
  std::uint32_t execute(const Request& request);
  std::uint32_t modify_qp(const Request& request);
  bool destroy_qp(std::uint32_t handle);
  bool destroy_cq(std::uint32_t handle);
  void bury_qp(Qp& qp);
  void bury_cq(Cq& cq);

  const DeviceConfig& config_;
  KernelJournal& journal_;
  GuestMemory& memory_;
  const SharedRegion& region_;
  InterruptLines& lines_;
  Notifier& notifier_;
  TurnEffort& effort_;
  DeviceCounters& counters_;
  std::map<std::uint32_t, std::unique_ptr<Cq>> cqs_;
  std::map<std::uint32_t, std::unique_ptr<Qp>> qps_;  // end before the completion queues
  // The handles of the next ones that are to be found.
  std::uint32_t next_cq_ = 0;
  std::uint32_t next_qp_ = 0;
  std::optional<PageListBuilder> reading_;  // of the next one
  PageList pages_;                          // of the next one, when they were read
  bool is_missing_ = false;                 // a queue, in the map of this generation or later
  std::uint64_t searched_map_ = 0;
  // The queue pairs are looked at in rotation, until none of them has anything.
  bool is_sweeping_ = false;
  std::uint32_t next_swept_ = 0;  // its handle
  std::size_t idle_ = 0;          // how many had nothing, one after the other
  bool has_waiting_ = false;      // for room in a completion queue, or for memory
  Instant next_try_{};
  bool is_closed_ = false;
};

}  // namespace paravane::device
