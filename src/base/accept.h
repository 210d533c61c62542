// accept_client(): accepts the next client of a listening socket.
//
// A listening socket stays readable while its client cannot be accepted, so a loop that retries at
// once would spin: the caller must pause after an error.

#pragma once

#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane {

// The client does not block. No client waiting is nullopt. Errors: kResourceExhausted (out of
// descriptors or memory; the client goes on waiting), kIo.
Result<std::optional<UniqueFd>> accept_client(int listener);

}  // namespace paravane
