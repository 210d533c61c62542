// Sealed files: bytes in memory for another program that this one executes. Nothing can change them
// any more.
//
// Stateless, any thread.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::keeper {

// `name`: for people that look at the process. Errors: kIo.
Result<UniqueFd> make_sealed_file(const char* name, std::span<const std::byte> bytes);

// Errors: kInvalidArgument (no sealed file, or more than `most` bytes), kIo.
Result<std::vector<std::byte>> read_sealed_file(int fd, std::size_t most);

}  // namespace paravane::keeper
