// WorkRing: a ring of work requests that the guest posts to: either ring of a queue pair, or the
// ring of a shared receive queue. An entry is copied once, decoded by value, and passed before it
// is executed.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <span>

#include "abi/work_queue.h"
#include "base/counter.h"
#include "device/work_decoder.h"
#include "guestmem/page_list.h"
#include "guestmem/ring_consumer.h"
#include "verbs/work_request.h"

namespace paravane::device {

class WorkRing {
 public:
  using Fetch = verbs::WorkSource::Fetch;

  // REQUIRES: as RingConsumer; `broken_rings` outlives us.
  WorkRing(PageList& pages, const RingLayout& layout, Counter& broken_rings);

  // Whether there is an entry; takes nothing. A broken ring is counted, once.
  RingConsumer::Next peek();

  // The head entry, as `decoder` understands it. A receive's slot is given back at
  // once; a send's when completions are shown (ring() is what has to be published).
  Fetch take_send(const WorkDecoder& decoder, verbs::SendRequest& out);
  Fetch take_receive(const WorkDecoder& decoder, verbs::ReceiveRequest& out);
  RingConsumer& ring() { return ring_; }

  // Posted and not taken; reads the guest's index. 0 if the ring is broken or absent.
  std::uint32_t available() { return ring_.available(); }
  // The guest has posted since the last look, or has broken the ring and that was not
  // detected yet.
  bool more_posted();
  // An impossible index was seen: dead until reset().
  bool broken() const { return ring_.broken(); }

  // For a QP that leaves RESET.
  void reset();

 private:
  Reach copy_sges(std::uint32_t header_bytes, std::uint32_t count,
                  std::span<const abi::Sge> at_hand, verbs::SgeList& out);

  RingConsumer ring_;
  const std::uint32_t receive_bytes_;  // what one copy brings of a receive entry
  Counter& broken_rings_;
  // How much has ever been posted, as far as we can see.
  std::uint64_t taken_ = 0;
  std::uint64_t seen_ = 0;
  bool counted_broken_ = false;
};

}  // namespace paravane::device
