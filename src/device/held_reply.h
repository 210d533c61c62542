// HeldReply: delays the answer to the guest's write to the register REQUEST while the command
// continues in later turns (time slices of the worker).
//
// After that write, the guest's driver waits for an interrupt. If the program receives a signal
// while the driver waits, the driver reports a timeout. The program's call then fails, although the
// device may have created the object.
//
// The driver does not wait if the interrupt has already arrived, and it cannot begin to wait before
// the write is answered. The write is therefore answered only after the response has been written
// and the interrupt raised.
//
// The delay is limited to kLongest. Until the write is answered, the vCPU stalls and no other
// access to the device is served. After kLongest, the write is answered in the next turn, even if
// the command has not ended.
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

  // Holds the answer back from now on. REQUIRES: the caller returns kLater for `token`.
  void hold(vfio_user::ReplyToken token, Instant now) { held_ = Held{token, now + kLongest}; }

  // Answers the write if that is due. Call it once per turn. `needed`: the command is still being
  // executed.
  void poll(bool needed, Instant now) {
    if (held_ && (!needed || now >= held_->until)) release();
  }

  // nullopt: no answer is held back.
  std::optional<vfio_user::ReplyToken> token() const {
    return held_ ? std::optional(held_->token) : std::nullopt;
  }

  // Answers the write now, because there is nothing to wait for any more.
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
