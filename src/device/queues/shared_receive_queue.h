// SharedReceiveQueue: one shared receive queue (SRQ) of the guest. It consists of its pages, the
// ring of receives in them, and the queue pairs that take receives from the ring. A receive is
// taken only when a message needs it, so no queue pair reserves receives.
//
// Queue pairs that found the SRQ empty wait in a queue. A doorbell wakes as many of them as there
// are receives, up to a limit, and each one that takes a receive wakes the next. The cost of a
// doorbell therefore does not depend on the number of queue pairs.
//
// When fewer receives are left than the SRQ limit, the guest gets one event. The limit then has no
// effect until the guest sets it again.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/counter.h"
#include "base/line.h"
#include "base/result.h"
#include "device/queues/work_decoder.h"
#include "device/queues/work_ring.h"
#include "guestmem/page_list.h"
#include "state/reader.h"
#include "state/writer.h"
#include "verbs/work_request.h"

namespace paravane::device {

class QueuePair;

// SharedReceiveEvents: receives the asynchronous events of shared receive queues.
class SharedReceiveEvents {
 public:
  virtual ~SharedReceiveEvents() = default;
  virtual void on_limit_reached(std::uint32_t handle) = 0;
  virtual void on_shared_receive_error(std::uint32_t handle) = 0;
};

class SharedReceiveQueue {
 public:
  struct Spec {
    std::uint32_t handle = 0;
    std::uint32_t context = 0;  // of its protection domain; never the guest's kernel
    std::uint32_t protection_domain = 0;
    std::uint32_t requests = 0;  // power of two
    std::uint32_t sges = 0;
    std::uint32_t limit = 0;
  };
  using Fetch = verbs::WorkSource::Fetch;

  // REQUIRES: `pages` hold the header page and the ring; `events` and `broken_rings` outlive the
  // queue.
  SharedReceiveQueue(const Spec& spec, PageList pages, SharedReceiveEvents& events,
                     Counter& broken_rings);
  SharedReceiveQueue(const SharedReceiveQueue&) = delete;
  SharedReceiveQueue& operator=(const SharedReceiveQueue&) = delete;

  std::uint32_t handle() const { return spec_.handle; }
  std::uint32_t context() const { return spec_.context; }
  std::uint32_t protection_domain() const { return spec_.protection_domain; }
  const Spec& spec() const { return spec_; }

  // The number of queue pairs that use this queue.
  std::uint32_t users() const { return users_; }
  void add_user() { ++users_; }
  void drop_user(QueuePair& qp);

  // The SRQ limit; 0: it is off.
  std::uint32_t limit() const { return limit_; }
  // Sets the SRQ limit. If fewer receives are left already, the event is sent at once, because
  // another receive may never be taken. Errors: kOutOfRange (the limit exceeds the size of the
  // ring).
  Status set_limit(std::uint32_t limit);

  // Takes a receive for `qp`. If there is no receive, `qp` waits in line.
  Fetch take(QueuePair& qp, verbs::ReceiveRequest& out);
  // As take(), but if there is a receive, the function returns true and leaves it in the ring.
  bool wait_for_receive(QueuePair& qp);

  // A doorbell has arrived or may have been missed. True: a queue pair was woken.
  bool look();

  // The pages of the daemon's memory that the queue occupies, rounded up.
  std::uint32_t pages_kept() const { return 1 + pages_.pages_kept(); }

  // The position in the list of its context, so that it can be removed in constant time.
  std::size_t place() const { return place_; }
  void set_place(std::size_t place) { place_ = place; }

  // (docs/state.md) Without what it was created with. The queue pairs that wait in line join it
  // again by themselves.
  const PageList& pages() const { return pages_; }
  void save(state::Writer& out) const;
  void load(state::Reader& in);

 private:
  void line_up(QueuePair& qp);
  std::uint32_t wake(std::uint32_t most);
  void judge_limit();
  void note_broken();

  const Spec spec_;
  const WorkDecoder decoder_;
  PageList pages_;
  WorkRing ring_;
  SharedReceiveEvents& events_;
  std::uint32_t limit_;
  std::uint32_t users_ = 0;
  Line<QueuePair> waiting_;  // each at most once; some may have been served in the meantime
  std::size_t place_ = 0;
  bool told_broken_ = false;
};

}  // namespace paravane::device
