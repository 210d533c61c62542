// The table of the device's commands. Each row has the name of a command, the size of its request,
// its handler, and the way in which a failure is reported to the guest.
//
// Any thread. Source: docs/device-spec.md, section 8.

#pragma once

#include <cstdint>
#include <string_view>

#include "device/command_scope.h"

namespace paravane::device {

// How a failure is reported to the guest (docs/device-spec.md, section 2, "How failures are told").
// Drivers do not check anything else.
enum class Reply : std::uint8_t {
  kNone,     // no response; ERR is set
  kAck,      // a response with a wrong ack
  kAckErr,   // a response with the right ack and a positive err
  kRefused,  // the command is always refused; ERR is set
};

struct CommandRow {
  std::string_view name;
  std::size_t request_bytes = 0;
  Reply reply = Reply::kNone;
  CommandHandler handler = nullptr;
  CommandUndo undo = nullptr;
};

// nullptr: no command has this opcode.
const CommandRow* find_command(std::uint32_t opcode);

}  // namespace paravane::device
