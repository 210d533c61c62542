// Connects the user's terminal, or a pipe, to the serial console of a VM.

#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace paravane::vmm {

inline constexpr char kLeaveConsole = 0x1d;  // Ctrl-]

enum class ConsoleEnd : std::uint8_t { kLeft, kInputEnded, kVmEnded };

// Copies bytes in both directions until the user leaves or the VM ends. A terminal is in raw mode
// meanwhile and is restored afterwards, even if a signal ends this program. If the input is not a
// terminal and ends, copying continues until the VM has written nothing for `quiet`. Errors: kIo.
Result<ConsoleEnd> carry_console(int line, int input, int output, std::chrono::milliseconds quiet);

}  // namespace paravane::vmm
