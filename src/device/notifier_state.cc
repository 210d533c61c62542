// What is saved of the notifier and its two rings.

#include <algorithm>

#include "device/activation.h"
#include "device/notifier.h"

namespace paravane::device {
namespace {

using state::Tag;

// Of the notifier.
constexpr Tag kGateOpen{1};
constexpr Tag kCompletionChannel{2};
constexpr Tag kAsyncChannel{3};
// Of a channel.
constexpr Tag kReminds{1};
constexpr Tag kChannelPages{2};
constexpr Tag kChannelRing{3};
// Of a ring.
constexpr Tag kNoticeProducer{1};
constexpr Tag kRingBroken{2};
constexpr Tag kNotice{3};  // a list
constexpr Tag kNoticeType{1};
constexpr Tag kNoticeHandle{2};

Notice completion_notice(std::uint8_t, std::uint32_t handle) {
  return {.element = handle, .about = Notice::About::kCompletionQueue, .type = 0, .handle = handle};
}

Notice event_notice(std::uint8_t type, std::uint32_t handle) {
  return async_notice(abi::AsyncEventType{type}, handle);
}

}  // namespace

void NotificationRing::save(state::Writer& out) const {
  {
    const state::Writer::Group group(out, kNoticeProducer);
    producer_.save(out);
  }
  out.flag(kRingBroken, broken_);
  for (const Waiting& waiting : waiting_) {
    if (is_void(waiting)) continue;
    const state::Writer::Group group(out, kNotice);
    out.number(kNoticeType, waiting.notice.type);
    out.number(kNoticeHandle, waiting.notice.handle);
  }
}

// Notices come in as from put(), so that what waits is bounded in the same way.
void NotificationRing::load(state::Reader& in, std::uint32_t end, MakeNotice make) {
  state::Reader producer = in.group(kNoticeProducer);
  producer_.load(producer);
  broken_ = in.flag(kRingBroken);
  while (auto group = in.group_if(kNotice)) {
    const auto type = static_cast<std::uint8_t>(group->number(kNoticeType, kTypes - 1));
    const auto handle = static_cast<std::uint32_t>(group->number(kNoticeHandle, end - 1));
    group->end();
    if (!group->expect(!broken_, "notices wait for a broken ring") || !group->good()) return;
    keep(make(type, handle));
  }
  in.end();
}

void Notifier::save(state::Writer& out) const {
  out.flag(kGateOpen, gate_open_);
  {
    const state::Writer::Group group(out, kCompletionChannel);
    save(completion_, out);
  }
  const state::Writer::Group group(out, kAsyncChannel);
  save(async_, out);
}

void Notifier::save(const Channel& channel, state::Writer& out) {
  out.flag(kReminds, channel.timer != TimerId::kNone);
  {
    const state::Writer::Group group(out, kChannelPages);
    channel.ring->pages().save(out);
  }
  const state::Writer::Group group(out, kChannelRing);
  channel.ring->save(out);
}

void Notifier::load(state::Reader& in, GuestMemory& memory, std::uint32_t end) {
  stop();
  gate_open_ = in.flag(kGateOpen);
  state::Reader completion = in.group(kCompletionChannel);
  load(completion_, completion, memory, end);
  state::Reader async = in.group(kAsyncChannel);
  load(async_, async, memory, end);
  in.end();
}

void Notifier::load(Channel& channel, state::Reader& in, GuestMemory& memory, std::uint32_t end) {
  const bool is_async = channel.vector == abi::kVectorAsync;
  const bool reminds = in.flag(kReminds);
  state::Reader in_pages = in.group(kChannelPages);
  PageList pages = PageList::load(in_pages, memory, Rights::kReadWrite);
  const std::uint64_t count = pages.size_bytes() / kPageBytes;
  if (!in.expect(count >= kMinRingPages && count <= kMaxRingPagesOfDevice,
                 "a device ring of that size cannot be") ||
      !in.good()) {
    return;
  }
  channel.ring = std::make_unique<NotificationRing>(
      std::move(pages), is_async ? sizeof(abi::AsyncEvent) : sizeof(abi::CompletionNotice));
  state::Reader ring = in.group(kChannelRing);
  channel.ring->load(ring, end, is_async ? event_notice : completion_notice);
  in.end();
  channel.cut = !channel.ring->idle();
  if (in.good() && reminds) remind_later(channel, clock_.now, kFirstReminder);
}

}  // namespace paravane::device
