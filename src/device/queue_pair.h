// QueuePair: one QP of the guest: its pages, the rings in them, and the engine's queue pair that
// takes work from the rings. There is no other queue. Receives come from its own ring or from a
// shared receive queue.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/counter.h"
#include "base/line.h"
#include "device/completion_queue.h"
#include "device/queue_geometry.h"
#include "device/shared_receive_queue.h"
#include "device/work_decoder.h"
#include "device/work_ring.h"
#include "guestmem/page_list.h"
#include "verbs/queue_pair.h"
#include "verbs/work_request.h"

namespace paravane::device {

// What the guest asked for at creation; QUERY_QP returns it.
struct QueueCaps {
  std::uint32_t send_requests = 0;
  std::uint32_t receive_requests = 0;
  std::uint32_t send_sges = 0;
  std::uint32_t receive_sges = 0;
};

class QueuePair final : public verbs::WorkSource {
 public:
  struct Spec {
    std::uint32_t handle = 0;
    std::uint32_t context = 0;  // of its protection domain; 0: the guest's kernel
    std::uint32_t protection_domain = 0;
    verbs::QpType type = verbs::QpType::kReliableConnected;
    QueueCaps caps;
    bool atomics = true;  // may be posted
    CompletionQueue* send_cq = nullptr;
    CompletionQueue* receive_cq = nullptr;
    SharedReceiveQueue* shared_receives = nullptr;  // nullptr: a ring of its own
  };

  // REQUIRES: `pages` hold what `geometry` says; `broken_rings`, the
  // CQs and the SRQ outlive us.
  QueuePair(const Spec& spec, PageList pages, const QueueGeometry& geometry, Counter& broken_rings);
  ~QueuePair() override;
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  // The engine's half; set once.
  void set_engine(std::unique_ptr<verbs::QueuePair> engine) { engine_ = std::move(engine); }
  verbs::QueuePair& engine() const { return *engine_; }
  bool has_engine() const { return engine_ != nullptr; }

  std::uint32_t handle() const { return spec_.handle; }
  std::uint32_t context() const { return spec_.context; }
  const Spec& spec() const { return spec_; }

  // Where its context lists it, so that it leaves that list at once.
  std::size_t place() const { return place_; }
  void set_place(std::size_t place) { place_ = place; }

  // Pages of our own memory that it keeps, rounded up.
  std::uint32_t pages_kept() const { return 1 + pages_.pages_kept(); }

  // In the line of its shared receive queue.
  Line<QueuePair>::Place& place_in_line() { return place_in_line_; }

  // Looks at the producer indices without being asked. True: the guest has posted
  // since the last look, and the engine has been told. Rings in RESET and INIT
  // are never read.
  bool look();

  // ---- verbs::WorkSource ----
  Fetch take_send(verbs::SendRequest& out) override;
  Fetch take_receive(verbs::ReceiveRequest& out) override;
  bool wait_for_receive() override;
  void restart() override;

 private:
  const Spec spec_;
  const WorkDecoder decoder_;
  PageList pages_;
  WorkRing send_;
  std::optional<WorkRing> receive_;  // none: receives are shared
  std::size_t place_ = 0;
  Line<QueuePair>::Place place_in_line_;
  std::unique_ptr<verbs::QueuePair> engine_;  // last: it stops before the rings go
};

}  // namespace paravane::device
