// WorkRing: a ring to which the guest posts work requests. It is the send ring or receive ring of a
// queue pair, or the ring of a shared receive queue. Each entry is copied once and decoded from the
// copy. The ring advances past the entry before the request is executed.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <span>

#include "abi/work_queue.h"
#include "base/counter.h"
#include "device/queues/work_decoder.h"
#include "guestmem/page_list.h"
#include "guestmem/ring_consumer.h"
#include "state/reader.h"
#include "state/writer.h"
#include "verbs/work_request.h"

namespace paravane::device {

class WorkRing {
 public:
  using Fetch = verbs::WorkSource::Fetch;

  // REQUIRES: as for RingConsumer; `broken_rings` outlives the ring.
  WorkRing(PageList& pages, const RingLayout& layout, Counter& broken_rings);

  // Whether there is an entry, without taking it. A broken ring is counted once.
  RingConsumer::Next peek();

  // Copies the head entry and decodes it with `decoder`.
  Fetch peek_send(const WorkDecoder& decoder, verbs::SendRequest& out);
  // Takes the entry that peek_send() has read. Its slot is returned to the guest when completions
  // become visible, by publishing ring().
  void pass_send();
  // Takes the head entry and decodes it. Its slot is returned to the guest by publishing ring().
  Fetch take_receive(const WorkDecoder& decoder, verbs::ReceiveRequest& out);
  RingConsumer& ring() { return ring_; }

  // The number of entries that were posted and not taken. Reads the guest's index. 0 if the ring is
  // broken or absent.
  std::uint32_t available() { return ring_.available(); }
  // Whether the guest has posted entries since the last check, or has broken the ring without that
  // having been detected.
  bool more_posted();
  // Whether an impossible index was read. The ring then stays unusable until reset().
  bool broken() const { return ring_.broken(); }

  // Call this when a queue pair leaves the state RESET.
  void reset();

  // As RingConsumer has them.
  bool resume(std::uint32_t head) { return ring_.resume(head); }
  std::uint32_t index_before(std::uint32_t behind) const { return ring_.index_before(behind); }

  // (docs/state.md) After load(), all entries that were posted count as not seen.
  void save(state::Writer& out) const { ring_.save(out); }
  void load(state::Reader& in) {
    ring_.load(in);
    counted_broken_ = ring_.broken();
  }

 private:
  Reach copy_sges(std::uint32_t header_bytes, std::uint32_t count,
                  std::span<const abi::Sge> at_hand, verbs::SgeList& out);

  RingConsumer ring_;
  // The total numbers of entries, modulo 2^32, that were taken, and that were seen to be posted.
  std::uint32_t taken_ = 0;
  std::uint32_t seen_ = 0;
  const std::uint32_t receive_bytes_;  // the bytes of a receive entry that one copy reads
  bool counted_broken_ = false;
  Counter& broken_rings_;
};

}  // namespace paravane::device
