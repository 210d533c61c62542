// Connects this terminal, or a pipe, to the serial console of a VM.

#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace paravane::vmm {

inline constexpr char kLeaveConsole = 0x1d;  // Ctrl-]

enum class ConsoleEnd : std::uint8_t { kLeft, kInputEnded, kVmEnded };

// Carries bytes both ways until the user leaves, or the VM ends. A terminal is raw
// meanwhile, and is as it was before afterwards; so is it when a signal ends this program,
// which waits that long. At the end of input that is no terminal, it
// goes on until the VM has said nothing for `quiet`. Errors: kIo.
Result<ConsoleEnd> carry_console(int line, int input, int output, std::chrono::milliseconds quiet);

}  // namespace paravane::vmm
