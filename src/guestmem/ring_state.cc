// What is saved of rings.

#include "guestmem/ring_consumer.h"
#include "guestmem/ring_producer.h"
#include "state/reader.h"
#include "state/writer.h"

namespace paravane {
namespace {

using state::Tag;

constexpr Tag kHead{1};  // of the next entry that is read, or of the guest's last
constexpr Tag kTail{2};
constexpr Tag kPublished{3};  // of a consumer
constexpr Tag kBroken{4};
constexpr Tag kWasAbsent{5};  // of a consumer

std::uint32_t index_in(state::Reader& in, Tag tag, RingIndex ring) {
  return static_cast<std::uint32_t>(in.number(tag, ring.period() - 1));
}

}  // namespace

void RingConsumer::save(state::Writer& out) const {
  out.number(kHead, head_);
  out.number(kTail, tail_);
  out.number(kPublished, published_);
  out.flag(kBroken, broken_);
  out.flag(kWasAbsent, was_absent_);
}

void RingConsumer::load(state::Reader& in) {
  head_ = index_in(in, kHead, index());
  tail_ = index_in(in, kTail, index());
  published_ = index_in(in, kPublished, index());
  broken_ = in.flag(kBroken);
  was_absent_ = in.flag(kWasAbsent);
  in.end();
  in.expect(index().used(tail_, head_) <= index().depth(), "the indices of a ring do not fit");
}

void RingProducer::save(state::Writer& out) const {
  out.number(kHead, head_);
  out.number(kTail, published_);
  out.flag(kBroken, broken_);
}

void RingProducer::load(state::Reader& in) {
  head_ = index_in(in, kHead, index());
  published_ = tail_ = index_in(in, kTail, index());
  broken_ = in.flag(kBroken);
  in.end();
  in.expect(index().used(tail_, head_) <= index().depth(), "the indices of a ring do not fit");
}

}  // namespace paravane
