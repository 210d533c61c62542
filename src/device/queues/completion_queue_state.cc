// What is saved of a completion queue.

#include <cassert>
#include <cstring>
#include <memory>

#include "device/queues/completion_queue.h"

namespace paravane::device {
namespace {

using state::Tag;

constexpr Tag kElementProducer{1};
constexpr Tag kPushed{2};
constexpr Tag kLastSolicited{3};
constexpr Tag kArm{4};
constexpr Tag kDead{5};
constexpr Tag kHeldBack{6};  // a list
constexpr Tag kLate{7};
// Of a completion that is held back.
constexpr Tag kHeldElement{1};
constexpr Tag kHeldSolicited{2};
constexpr Tag kHeldPlace{3 | state::kMayBeSkipped};  // missing: the journal is not told of it
// Of what late_events.h keeps. Times are not saved: each wait begins anew.
constexpr Tag kLateStarted{1};
constexpr Tag kLateWatched{2};
constexpr Tag kLateRarely{3};
constexpr Tag kLateArmSeen{4};
constexpr Tag kLateBudget{5};
constexpr Tag kLateConsumedAtStart{6};
constexpr Tag kLateWordsAtStart{7};
constexpr Tag kLateToldAt{8};
constexpr Tag kLateToldUpTo{9};
constexpr Tag kLatePushedAtEvent{10};
constexpr Tag kLateWordsAtEvent{11};
constexpr Tag kLatePollsAtEvent{12};

constexpr std::uint64_t kMostPlace = 1u << 20;  // beyond the indices of all rings

// A count that never comes to its end.
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 62;

void save_late(const CompletionQueue::LateState& late, state::Writer& out) {
  out.flag(kLateStarted, late.started);
  out.flag(kLateWatched, late.watched);
  out.flag(kLateRarely, late.rarely);
  out.flag(kLateArmSeen, late.arm_seen);
  out.number(kLateBudget, late.budget);
  out.number(kLateConsumedAtStart, late.consumed_at_start);
  out.number(kLateWordsAtStart, late.words_at_start);
  out.number(kLateToldAt, late.told_at);
  out.number(kLateToldUpTo, late.told_up_to);
  out.number(kLatePushedAtEvent, late.pushed_at_event);
  out.number(kLateWordsAtEvent, late.words_at_event);
  out.number(kLatePollsAtEvent, late.polls_at_event);
}

// All of it is compared with counts, or is of one bit.
void load_late(state::Reader& in, CompletionQueue::LateState& late) {
  late.started = in.flag(kLateStarted);
  late.watched = in.flag(kLateWatched);
  late.rarely = in.flag(kLateRarely);
  late.arm_seen = in.flag(kLateArmSeen);
  late.budget = static_cast<std::uint32_t>(in.number(kLateBudget, UINT32_MAX));
  late.consumed_at_start = in.number(kLateConsumedAtStart);
  late.words_at_start = in.number(kLateWordsAtStart);
  late.told_at = in.number(kLateToldAt);
  late.told_up_to = in.number(kLateToldUpTo);
  late.pushed_at_event = in.number(kLatePushedAtEvent);
  late.words_at_event = in.number(kLateWordsAtEvent);
  late.polls_at_event = in.number(kLatePollsAtEvent);
  in.end();
}

}  // namespace

void CompletionQueue::save(state::Writer& out) const {
  assert(hidden_ == 0 && taken_from_ == nullptr);
  {
    const state::Writer::Group group(out, kElementProducer);
    producer_.save(out);
  }
  out.number(kPushed, pushed_);
  out.number(kLastSolicited, last_solicited_);
  out.choice(kArm, arm_);
  out.flag(kDead, dead_);
  if (held_ != nullptr) {
    for (const Held& held : *held_) {
      if (is_void(held)) continue;
      const state::Writer::Group group(out, kHeldBack);
      out.bytes(kHeldElement, std::as_bytes(std::span(&held.cqe, 1)));
      out.flag(kHeldSolicited, held.solicited);
      if (held.place != kNoPlace) out.number(kHeldPlace, held.place);
    }
  }
  const state::Writer::Group group(out, kLate);
  save_late(late_, out);
}

void CompletionQueue::load(state::Reader& in) {
  state::Reader producer = in.group(kElementProducer);
  producer_.load(producer);
  pushed_ = in.number(kPushed, kMostElements);
  last_solicited_ = in.number(kLastSolicited, pushed_);
  arm_ = in.choice(kArm, Arm::kAny);
  dead_ = in.flag(kDead);
  in.expect(pushed_ >= producer_.unconsumed_as_seen(), "more completions wait than were written");
  in.expect(!dead_ || arm_ == Arm::kNone, "a failed queue is armed");
  while (auto group = in.group_if(kHeldBack)) {
    abi::Cqe cqe;
    group->bytes_into(kHeldElement, std::as_writable_bytes(std::span(&cqe, 1)));
    const bool solicited = group->flag(kHeldSolicited);
    const auto place = group->number_if(kHeldPlace, kMostPlace);
    group->end();
    const bool fits = !dead_ && held() < spec_.entries && group->good();
    if (!group->expect(fits && find_place(cqe, solicited,
                                          static_cast<std::uint32_t>(place.value_or(kNoPlace))),
                       "too much is held back"))
      return;
  }
  state::Reader late = in.group(kLate);
  load_late(late, late_);
  in.end();
}

}  // namespace paravane::device
