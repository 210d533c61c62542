// Receives the signals of this process through a file descriptor (signalfd), so that an event loop
// can wait for signals as it does for any other event.

#pragma once

#include <csignal>
#include <initializer_list>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane {

// Blocks these signals. Call it before any other thread starts, so that all threads inherit it.
void block_signals(std::initializer_list<int> numbers);

// A descriptor that is readable when one of these signals has arrived. REQUIRES: block_signals()
// for all of them. Errors: kIo.
Result<UniqueFd> open_signals(std::initializer_list<int> numbers);

// The next signal that has arrived; nullopt: no signal is waiting.
std::optional<int> next_signal(const UniqueFd& signals);

}  // namespace paravane
