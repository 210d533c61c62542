// HeldReply: the answer to the guest's write of REQUEST, kept back while the command
// that it sent goes on in later turns.
//
// The guest's driver waits for a response interruptibly, and takes a signal for a
// time-out: the program's call fails, and what the device has made stays until its
// context ends. But it looks at signals only when the response's interrupt has not come
// before the wait begins; and the wait begins after the write of REQUEST and a read of
// ERR have been answered. So the write is answered when the response is there and its
// vector has been raised, as with commands that take no longer than a turn.
//
// Not for long: the vCPU stands still meanwhile, with it a VMM that handles accesses
// under one lock, and no other access to this device is heard. After kLongest the answer
// goes out with the device's next turn, whatever the command does.
//
// Owner thread only.

#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "base/instant.h"
#include "device/pvrdma_device.h"
#include "vfio_user/pci_device.h"

namespace paravane::device {

class HeldReply {
 public:
  static constexpr Duration kLongest = std::chrono::milliseconds(10);

  void set_answer(PvrdmaDevice::AnswerFunction answer) { answer_ = std::move(answer); }

  // The caller returns kLater for `token`.
  void hold(vfio_user::ReplyToken token, Instant now) { held_ = Held{token, now + kLongest}; }

  // Once a turn. `needed`: the command still goes on.
  void poll(bool needed, Instant now) {
    if (held_ && (!needed || now >= held_->until)) release();
  }

  // Whatever there was to wait for has gone.
  void release() {
    if (const auto held = std::exchange(held_, std::nullopt)) answer_(held->token);
  }

 private:
  struct Held {
    vfio_user::ReplyToken token;
    Instant until;
  };
  std::optional<Held> held_;
  PvrdmaDevice::AnswerFunction answer_;
};

}  // namespace paravane::device
