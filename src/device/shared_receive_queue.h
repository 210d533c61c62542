// SharedReceiveQueue: one SRQ of the guest: its pages, the ring of receives in them, and the queue
// pairs that take from it. A receive is taken only when a message needs it, so no queue pair keeps
// receives from the others.
//
// Queue pairs whose peer found the SRQ empty wait in a queue. A doorbell wakes as many as there
// are receives, up to a limit, and each that takes one wakes the next: the cost of a doorbell does
// not grow with the number of queue pairs, and each has its turn.
//
// The SRQ limit: when fewer receives are left than the limit, one event notifies the guest, and
// the limit is off until it is set again.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/counter.h"
#include "base/line.h"
#include "base/result.h"
#include "device/work_decoder.h"
#include "device/work_ring.h"
#include "guestmem/page_list.h"
#include "verbs/work_request.h"

namespace paravane::device {

class QueuePair;

// Asynchronous events of shared receive queues.
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

  // REQUIRES: `pages` hold the header page and the ring; the others outlive us.
  SharedReceiveQueue(const Spec& spec, PageList pages, SharedReceiveEvents& events,
                     Counter& broken_rings);
  SharedReceiveQueue(const SharedReceiveQueue&) = delete;
  SharedReceiveQueue& operator=(const SharedReceiveQueue&) = delete;

  std::uint32_t handle() const { return spec_.handle; }
  std::uint32_t context() const { return spec_.context; }
  std::uint32_t protection_domain() const { return spec_.protection_domain; }
  const Spec& spec() const { return spec_; }

  // Queue pairs that it serves.
  std::uint32_t users() const { return users_; }
  void add_user() { ++users_; }
  void drop_user(QueuePair& qp);

  // 0: off.
  std::uint32_t limit() const { return limit_; }
  // Says so at once if fewer are left already: nothing may ever be taken again.
  // Errors: kOutOfRange (above the ring's size: it could never be refilled).
  Status set_limit(std::uint32_t limit);

  // For `qp`, which waits in line if there is none.
  Fetch take(QueuePair& qp, verbs::ReceiveRequest& out);
  // As take(), but true leaves the receive where it is.
  bool wait_for_receive(QueuePair& qp);

  // A doorbell, or the suspicion of one. True: a queue pair was woken.
  bool look();

  // Pages of our own memory that it keeps, rounded up.
  std::uint32_t pages_kept() const { return 1 + pages_.pages_kept(); }

  // Where its context lists it, so that it leaves that list at once.
  std::size_t place() const { return place_; }
  void set_place(std::size_t place) { place_ = place; }

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
  Line<QueuePair> waiting_;  // each once; some may have been served meanwhile
  std::size_t place_ = 0;
  bool told_broken_ = false;
};

}  // namespace paravane::device
