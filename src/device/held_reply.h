// HeldReply: delays the response to the guest's write of REQUEST while the command continues in
// later turns.
//
// The guest's driver waits for a response interruptibly, and treats a signal as a timeout: the
// program's call fails, and what the device has created stays until its context ends. But it
// checks for signals only if the response's interrupt has not arrived before the wait begins, and
// the wait begins after the write of REQUEST and a read of ERR have been answered. So the write is
// answered when the response is in place and its vector has been raised, as for commands that fit
// into a turn.
//
// The delay is limited: the vCPU stalls for as long, and with it a VMM that handles accesses under
// one lock, and no other access to this device is served. After kLongest, the response is sent in
// the device's next turn, whatever the state of the command.
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
