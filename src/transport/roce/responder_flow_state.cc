// ResponderFlow: what is saved of it.

#include <utility>

#include "transport/roce/responder_flow.h"
#include "verbs/types.h"

namespace paravane::transport_roce {
namespace {

using state::Reader;
using state::Tag;
using state::Writer;

constexpr Tag kExpected{1};
constexpr Tag kMessageNumber{2};
constexpr Tag kAtomics{3};
constexpr Tag kHasRefused{4};
constexpr Tag kKept{5};      // a list
constexpr Tag kArriving{6};  // may be missing
// Of an answer that is kept.
constexpr Tag kKeptFirst{1};
constexpr Tag kKeptMessage{2};
constexpr Tag kKeptOriginal{3};  // of an atomic
constexpr Tag kKeptAddress{4};   // this and what follows: of a READ
constexpr Tag kKeptKey{5};
constexpr Tag kKeptLength{6};
// Of a message that is arriving.
constexpr Tag kArrived{1};
constexpr Tag kWriteAddress{2};  // this and what follows: of a write
constexpr Tag kWriteKey{3};
constexpr Tag kWriteLength{4};

// Numbers of messages have as many bits as those of packets.
constexpr std::uint64_t kMost24Bits = verbs::Psn::kMask;
// So that they never come round.
constexpr std::uint64_t kMostExecuted = std::uint64_t{1} << 62;
// A kept answer ends at most so far before the packet that is expected: drop_old_answers().
constexpr std::uint32_t kOldestKept = 1u << 22;

std::uint32_t number24(Reader& in, Tag tag) {
  return static_cast<std::uint32_t>(in.number(tag, kMost24Bits));
}
std::uint32_t key_in(Reader& in, Tag tag) {
  return static_cast<std::uint32_t>(in.number(tag, UINT32_MAX));
}

void save_kept(const KeptAnswer& kept, Writer& out) {
  out.number(kKeptFirst, kept.first.value());
  out.number(kKeptMessage, kept.message_number);
  if (!kept.is_read) return out.number(kKeptOriginal, kept.original);
  out.number(kKeptAddress, kept.address);
  out.number(kKeptKey, kept.rkey);
  out.number(kKeptLength, kept.length);
}

// Its key is looked up when the peer asks for it again.
KeptAnswer load_kept(Reader& in, const FlowFacts& facts) {
  KeptAnswer kept;
  kept.first = verbs::Psn(number24(in, kKeptFirst));
  kept.message_number = number24(in, kKeptMessage);
  const auto original = in.number_if(kKeptOriginal);
  kept.is_read = !original;
  kept.original = original.value_or(0);
  if (kept.is_read) {
    kept.address = in.number(kKeptAddress);
    kept.rkey = key_in(in, kKeptKey);
    kept.length = in.number(kKeptLength, verbs::kMaxMessageBytes);
    kept.packets = facts.packets_of(kept.length);
  }
  in.end();
  return kept;
}

void save_arriving(const ArrivingMessage& message, Writer& out) {
  out.number(kArrived, message.arrived);
  if (!message.is_write) return;
  out.number(kWriteAddress, message.address);
  out.number(kWriteKey, message.rkey);
  out.number(kWriteLength, message.length);
}

// The queue pair judges it when it goes on.
ArrivingMessage load_arriving(Reader& in, const FlowFacts& facts) {
  ArrivingMessage message;
  message.arrived = in.number(kArrived, verbs::kMaxMessageBytes);
  const auto address = in.number_if(kWriteAddress);
  message.is_write = address.has_value();
  message.address = address.value_or(0);
  if (message.is_write) {
    message.rkey = key_in(in, kWriteKey);
    message.length = in.number(kWriteLength, verbs::kMaxMessageBytes);
  }
  in.end();
  const bool is_whole = message.arrived > 0 && message.arrived % facts.mtu == 0;
  in.expect(is_whole, "its packets are no whole ones");
  in.expect(!message.is_write || message.arrived <= message.length, "more has come than is said");
  return message;
}

}  // namespace

// What the peer was told of a gap or a missing receive may be lost with what waits to be sent, so
// it is told again.
void ResponderFlow::save(Writer& out) const {
  out.number(kExpected, state_.expected.value());
  out.number(kMessageNumber, state_.message_number);
  out.number(kAtomics, state_.atomics);
  out.flag(kHasRefused, state_.has_refused);
  for (const KeptAnswer& kept : state_.kept) {
    const Writer::Group group(out, kKept);
    save_kept(kept, out);
  }
  if (!state_.arriving || is_message_over()) return;
  const Writer::Group group(out, kArriving);
  save_arriving(*state_.arriving, out);
}

void ResponderFlow::load(Reader& in) {
  ResponderState state;
  state.expected = verbs::Psn(number24(in, kExpected));
  state.message_number = number24(in, kMessageNumber);
  state.atomics = in.number(kAtomics, kMostExecuted);
  state.has_refused = in.flag(kHasRefused);
  std::uint32_t before = verbs::Psn::kMask;
  while (auto group = in.group_if(kKept)) {
    const KeptAnswer kept = load_kept(*group, facts_);
    if (!group->good()) return;
    const std::uint32_t after = state.expected.steps_from(kept.first.plus(kept.packets));
    group->expect(after <= kOldestKept && after + kept.packets <= before,
                  "answers are kept in no order");
    if (!group->expect(state.kept.size() < max_reads_, "too many answers are kept")) return;
    before = after;
    state.kept.push_back(kept);
  }
  if (auto group = in.group_if(kArriving)) {
    state.arriving = load_arriving(*group, facts_);
    group->expect(state.arriving->is_write || qp_.responder().has_taken(), "a send has no receive");
  }
  in.end();
  if (!in.good()) return;
  state_ = std::move(state);
  loaded_at_ = qp_.stats().receives;
}

}  // namespace paravane::transport_roce
