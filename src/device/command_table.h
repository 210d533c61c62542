// The commands of the device, one row each.

#pragma once

#include <cstdint>
#include <string_view>

#include "device/command_scope.h"

namespace paravane::device {

// How a failure is told to the guest (docs/device-spec.md, "Failures"): drivers
// look at nothing else.
enum class Reply : std::uint8_t {
  kNone,     // no response: ERR
  kAck,      // a response with a wrong ack
  kAckErr,   // a response with the right ack and a positive err
  kRefused,  // never done: ERR, whatever it asks for
};

struct CommandRow {
  std::string_view name;
  std::size_t request_bytes = 0;
  Reply reply = Reply::kNone;
  CommandHandler handler = nullptr;
  CommandUndo undo = nullptr;
};

// nullptr: no such command.
const CommandRow* find_command(std::uint32_t opcode);

}  // namespace paravane::device
