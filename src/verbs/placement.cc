#include "verbs/placement.h"

#include <utility>

#include "verbs/responder.h"

namespace paravane::verbs {

Placement& Placement::operator=(Placement&& other) noexcept {
  if (this == &other) return *this;
  if (responder_ != nullptr) give_up();
  responder_ = std::exchange(other.responder_, nullptr);
  if (responder_ != nullptr) responder_->placement_ = this;
  return *this;
}

void Placement::give_up() {
  responder_->end_placement();
}

QueuePair& Placement::queue_pair() const {
  return responder_->queue_pair();
}

Outcome Placement::extents(std::uint64_t offset, std::uint64_t length, ExtentList& out) {
  return responder_ != nullptr ? responder_->extents(offset, length, out) : kNoAnswer;
}

Outcome Placement::atomic(std::uint64_t& before) {
  return responder_ != nullptr ? responder_->atomic(before) : kNoAnswer;
}

Outcome Placement::finish() {
  if (responder_ == nullptr) return kNoAnswer;
  Responder& responder = *responder_;
  responder.end_placement();
  return responder.finish();
}

Outcome Placement::finish(const MessageEnd& end) {
  return responder_ != nullptr ? responder_->finish(end) : kNoAnswer;
}

}  // namespace paravane::verbs
