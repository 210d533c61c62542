// What is saved of a queue pair and of a shared receive queue. objects_state.cc makes them again.

#include "device/queues/queue_pair.h"
#include "device/queues/shared_receive_queue.h"

namespace paravane::device {
namespace {

using state::Tag;

// Of a queue pair.
constexpr Tag kSendRing{1};
constexpr Tag kReceiveRing{2};  // missing if receives are shared
constexpr Tag kEngineState{3};
// Of a shared receive queue.
constexpr Tag kSharedRing{1};
constexpr Tag kLimitNow{2};
constexpr Tag kToldBroken{3};

}  // namespace

void QueuePair::save(state::Writer& out) const {
  {
    const state::Writer::Group group(out, kSendRing);
    send_.save(out);
  }
  if (receive_) {
    const state::Writer::Group group(out, kReceiveRing);
    receive_->save(out);
  }
  const state::Writer::Group group(out, kEngineState);
  engine_->save(out);
}

void QueuePair::load(state::Reader& in) {
  state::Reader send = in.group(kSendRing);
  send_.load(send);
  if (receive_) {
    state::Reader receive = in.group(kReceiveRing);
    receive_->load(receive);
  }
  state::Reader engine = in.group(kEngineState);
  engine_->load(engine);
  in.end();
}

void SharedReceiveQueue::save(state::Writer& out) const {
  {
    const state::Writer::Group group(out, kSharedRing);
    ring_.save(out);
  }
  out.number(kLimitNow, limit_);
  out.flag(kToldBroken, told_broken_);
}

void SharedReceiveQueue::load(state::Reader& in) {
  state::Reader ring = in.group(kSharedRing);
  ring_.load(ring);
  limit_ = static_cast<std::uint32_t>(in.number(kLimitNow, spec_.requests));
  told_broken_ = in.flag(kToldBroken);
  in.end();
}

}  // namespace paravane::device
