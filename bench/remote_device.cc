#include "bench/remote_device.h"

#include <algorithm>

#include "bench/question.h"

namespace paravane::bench {

void RemoteDevice::read_bar(unsigned bar, std::uint64_t offset, std::span<std::byte> out) {
  if (std::this_thread::get_id() == worker_) {
    device_.read_bar(bar, offset, out);
    return;
  }
  demand(out.size() <= sizeof(CallSlot::Call::value), "a register access is too wide");
  CallSlot::Call call{.kind = CallSlot::Kind::kRead,
                      .bar = bar,
                      .offset = offset,
                      .size = static_cast<std::uint32_t>(out.size())};
  ++crossings_;
  slot_.run(call);
  std::ranges::copy(call.bytes(), out.begin());
}

vfio_user::Answer RemoteDevice::write_bar(unsigned bar, std::uint64_t offset,
                                          std::span<const std::byte> in, bool posted,
                                          vfio_user::ReplyToken token) {
  if (std::this_thread::get_id() == worker_) {
    return device_.write_bar(bar, offset, in, posted, token);
  }
  demand(in.size() <= sizeof(CallSlot::Call::value), "a register access is too wide");
  CallSlot::Call call{.kind = CallSlot::Kind::kWrite,
                      .bar = bar,
                      .offset = offset,
                      .size = static_cast<std::uint32_t>(in.size())};
  std::ranges::copy(in, call.bytes().begin());
  ++crossings_;
  slot_.run(call);
  return vfio_user::Answer::kNow;
}

void RemoteDevice::serve() {
  CallSlot::Call& call = slot_.take();
  if (call.kind == CallSlot::Kind::kRead) {
    device_.read_bar(call.bar, call.offset, call.bytes());
  } else if (device_.write_bar(call.bar, call.offset, call.bytes(), false, kCrossing) ==
             vfio_user::Answer::kLater) {
    unanswered_ = true;
    return;
  }
  slot_.finish();
}

bool RemoteDevice::on_answer(vfio_user::ReplyToken token) {
  if (token != kCrossing || !unanswered_) return false;
  unanswered_ = false;
  slot_.finish();
  return true;
}

}  // namespace paravane::bench
