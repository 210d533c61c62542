// CommandChannel: executes one command at a time, from the command slot to the response slot and
// vector 0.
//
// The request is copied out of the slot before the write to REQUEST is answered, since the guest
// may overwrite it afterwards. Vector 0 is raised exactly once per command that has a
// response and was accepted (ERR = 0), after the whole response is in the slot; a stray interrupt
// would complete the next command with stale bytes. A command that takes longer than a turn is
// finished in later ones; if the guest sends another command in the meantime, it has given up on
// the first, which is then undone.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <memory>

#include "base/log_limit.h"
#include "base/turn_clock.h"
#include "device/command_scope.h"
#include "device/command_table.h"
#include "device/interrupt_lines.h"
#include "device/pvrdma_device.h"

namespace paravane::device {

class CommandChannel {
 public:
  // `scope.now` and `scope.later` are filled here for each command.
  CommandChannel(const CommandScope& scope, InterruptLines& lines, const TurnClock& clock);

  // The guest wrote REQUEST. Returns the new content of ERR.
  std::uint32_t submit();

  // Goes on with a command that took longer.
  void poll();
  bool busy() const { return long_command_ != nullptr; }

  // Forgets what is under way.
  void reset() { long_command_.reset(); }

 private:
  std::uint32_t accept(const CommandRow& row);
  void finish(const Result<Progress>& outcome);
  bool deliver();
  void note_refusal(const Error& error);

  CommandScope scope_;
  InterruptLines& lines_;
  const TurnClock& clock_;
  LogLimit log_limit_;
  const CommandRow* row_ = nullptr;  // of the command under way
  Request request_;
  Response response_;
  std::unique_ptr<LongCommand> long_command_;
};

}  // namespace paravane::device
