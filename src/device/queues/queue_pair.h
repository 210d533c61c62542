// QueuePair: one queue pair of the guest. It consists of its pages, the rings in them, and a queue
// pair of the RDMA engine that takes work requests directly from the rings. Receives come from the
// queue pair's own ring or from a shared receive queue.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/counter.h"
#include "base/line.h"
#include "device/journal/kernel_journal.h"
#include "device/queues/completion_queue.h"
#include "device/queues/queue_geometry.h"
#include "device/queues/shared_receive_queue.h"
#include "device/queues/work_decoder.h"
#include "device/queues/work_ring.h"
#include "guestmem/page_list.h"
#include "state/reader.h"
#include "state/writer.h"
#include "verbs/queue_pair.h"
#include "verbs/work_request.h"

namespace paravane::device {

// The capacities that the guest requested when it created the queue pair. QUERY_QP returns them.
struct QueueCaps {
  std::uint32_t send_requests = 0;
  std::uint32_t receive_requests = 0;
  std::uint8_t send_sges = 0;  // <= verbs::kMaxSges
  std::uint8_t receive_sges = 0;
};

class QueuePair final : public verbs::WorkSource {
 public:
  struct Spec {
    std::uint32_t handle = 0;
    std::uint32_t context = 0;  // of its protection domain; 0: the guest's kernel
    std::uint32_t protection_domain = 0;
    verbs::QpType type = verbs::QpType::kReliableConnected;
    QueueCaps caps;
    GuestAddr directory{};  // of its pages; of one that is loaded: unknown
    bool atomics = true;    // whether atomics may be posted
    CompletionQueue* send_cq = nullptr;
    CompletionQueue* receive_cq = nullptr;
    SharedReceiveQueue* shared_receives = nullptr;  // nullptr: a ring of its own
  };

  // REQUIRES: `pages` have the layout `geometry`; `broken_rings`, the completion queues and the
  // shared receive queue outlive the queue pair.
  QueuePair(const Spec& spec, PageList pages, const QueueGeometry& geometry, Counter& broken_rings);
  ~QueuePair() override;
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  // The queue pair of the RDMA engine. It is set once.
  void set_engine(std::unique_ptr<verbs::QueuePair> engine) { engine_ = std::move(engine); }
  verbs::QueuePair& engine() const { return *engine_; }
  bool has_engine() const { return engine_ != nullptr; }

  std::uint32_t handle() const { return handle_; }
  std::uint32_t context() const { return context_; }
  verbs::QpType type() const { return type_; }
  const QueueCaps& caps() const { return caps_; }

  // The position in the list of its context, so that it can be removed in constant time.
  std::uint32_t place() const { return place_; }
  void set_place(std::size_t place) { place_ = static_cast<std::uint32_t>(place); }

  // The pages of the daemon's memory that the queue pair occupies, rounded up.
  std::uint32_t pages_kept() const { return 1 + pages_.pages_kept(); }

  // The place among the queue pairs that wait for a receive of the shared receive queue.
  Line<QueuePair>::Place& place_in_line() { return place_in_line_; }

  // Checks the producer indices without a doorbell. True: the guest has posted requests since the
  // last check, and the engine has been notified. Rings in the states RESET and INIT are never
  // read.
  bool look();

  // For the journal of the guest's kernel.
  KernelJournal::Rings rings() const {
    // Datagrams may complete their receives in another order.
    const bool in_order = receive_ && type_ == verbs::QpType::kReliableConnected;
    return {.send = &send_, .receive = in_order ? &*receive_ : nullptr};
  }

  // It is in RESET: what was posted is forgotten.
  void note_reset() {
    if (KernelJournal* journal = send_cq_.journal()) journal->stop_qp(handle_);
  }

  // What it was created with.
  Spec spec() const;
  const PageList& pages() const { return pages_; }

  // ---- Saved state (docs/state.md) ---- Of load(): what it was created with, and its pages, are
  // read before by its maker (objects_state.cc).
  void save(state::Writer& out) const;
  void load(state::Reader& in);

  // ---- verbs::WorkSource ----
  Fetch peek_send(verbs::SendRequest& out) override;
  void pass_send() override;
  Fetch take_receive(verbs::ReceiveRequest& out) override;
  Fetch take_receive_in_passing(verbs::ReceiveRequest& out) override;
  bool wait_for_receive() override;
  void restart() override;

 private:
  // What each request needs stands together.
  CompletionQueue& send_cq_;
  const WorkDecoder decoder_;
  std::uint32_t place_ = 0;
  std::unique_ptr<verbs::QueuePair> engine_;  // is destroyed before the rings
  CompletionQueue& receive_cq_;
  SharedReceiveQueue* const shared_receives_;
  const std::uint32_t handle_;
  const std::uint32_t context_;
  const QueueCaps caps_;
  const verbs::QpType type_;
  PageList pages_;
  WorkRing send_;
  std::optional<WorkRing> receive_;  // none: receives are shared
  Line<QueuePair>::Place place_in_line_;
};

}  // namespace paravane::device
