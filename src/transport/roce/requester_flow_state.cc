// RequesterFlow: what is saved of it.

#include "transport/roce/requester_flow.h"

namespace paravane::transport_roce {
namespace {

using state::Reader;
using state::Tag;
using state::Writer;

constexpr Tag kUnanswered{1};
constexpr Tag kSent{2};
constexpr Tag kEnd{3};
constexpr Tag kOldest{4};  // missing: no number from kEnd on was sent

// Of requests that are under way together: has_room_for(), or one of 2 GiB in packets of 256 bytes.
constexpr std::uint32_t kMostUnderWay = 1u << 23;

}  // namespace

// The requests are saved by the queue pair, and are submitted in the order in which they were, so
// the number of the oldest says those of all.
void RequesterFlow::save(Writer& out) const {
  const bool has_requests = !requests_.empty();
  const verbs::Psn end = has_requests ? requests_.front().first : state_.end;
  out.number(kUnanswered, state_.unanswered.value());
  out.number(kSent, state_.sent.value());
  out.number(kEnd, end.value());
  if (end == state_.sent) return;
  out.number(kOldest, has_requests ? requests_.front().request->serial : state_.oldest);
}

// Whether the oldest request is the one that is meant, may_go_on() asks.
void RequesterFlow::load(Reader& in) {
  const auto number = [&in](Tag tag) {
    return verbs::Psn(static_cast<std::uint32_t>(in.number(tag, verbs::Psn::kMask)));
  };
  RequesterState state;
  state.started = true;
  state.unanswered = number(kUnanswered);
  state.sent = number(kSent);
  state.end = number(kEnd);
  if (state.end != state.sent) state.oldest = in.number(kOldest);
  in.end();
  const std::uint32_t answered = state.unanswered.steps_from(state.end);
  const std::uint32_t sent = state.sent.steps_from(state.end);
  in.expect(sent <= kMostUnderWay && answered <= sent, "packets were sent in no order");
  if (!in.good()) return;
  state_ = state;
  next_ = state.unanswered;
}

}  // namespace paravane::transport_roce
