// Reads the signals of a process from a descriptor.

#pragma once

#include <csignal>
#include <initializer_list>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane {

// Before any thread is made, so that none of them gets these.
void block_signals(std::initializer_list<int> numbers);

// Readable when one of these has come. REQUIRES: they are blocked. Errors: kIo.
Result<UniqueFd> open_signals(std::initializer_list<int> numbers);

// The next that has come; nullopt: none now.
std::optional<int> next_signal(const UniqueFd& signals);

}  // namespace paravane
