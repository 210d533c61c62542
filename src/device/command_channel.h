// CommandChannel: executes the commands of the guest's driver, one at a time. The driver puts a
// command into the command slot and writes the register REQUEST. The device puts the response into
// the response slot and then raises interrupt vector 0.
//
// The request is copied before the write to REQUEST is answered, because the guest can overwrite
// the slot afterwards. Vector 0 is raised exactly once per accepted command that has a response
// (ERR is 0), after the whole response is in the slot. An extra interrupt would complete the next
// command with stale data.
//
// A command that takes longer than a turn (time slice) of the worker continues in later turns. A
// guest that sends another command in the meantime has given up the first command, so the device
// undoes the first command.
//
// Owner thread only. Source: docs/device-spec.md, section 8.

#pragma once

#include <cstdint>
#include <memory>

#include "base/log_limit.h"
#include "base/turn_clock.h"
#include "device/command_scope.h"
#include "device/command_table.h"
#include "device/interrupt_lines.h"
#include "device/pvrdma_device.h"
#include "state/reader.h"
#include "state/writer.h"

namespace paravane::device {

class CommandChannel {
 public:
  // The channel sets `scope.now` and `scope.later` for each command.
  CommandChannel(const CommandScope& scope, InterruptLines& lines, const TurnClock& clock);

  // The guest has written the register REQUEST. Returns the new value of the register ERR.
  std::uint32_t submit();

  // Continues a command that takes more than one turn.
  void poll();
  bool busy() const { return long_command_ != nullptr || begins_again_; }

  // Drops the command that is being executed.
  void reset() {
    long_command_.reset();
    begins_again_ = false;
  }

  // (docs/state.md) The command that is being executed, which begins again after load(): it has
  // changed nothing so far. REQUIRES of save(): busy().
  void save(state::Writer& out) const;
  void load(state::Reader& in);

 private:
  std::uint32_t accept(const CommandRow& row);
  void finish(const Result<Progress>& outcome);
  bool deliver();
  void note_end() const;
  void note_refusal(const Error& error);

  CommandScope scope_;
  InterruptLines& lines_;
  const TurnClock& clock_;
  LogLimit log_limit_;
  const CommandRow* row_ = nullptr;  // of the command that is being executed
  Request request_;
  Response response_;
  std::unique_ptr<LongCommand> long_command_;
  bool begins_again_ = false;  // a command that was loaded
};

}  // namespace paravane::device
