// accept_client(): accepts the next client of a listening socket.
//
// The socket stays readable while its client cannot be accepted, so a loop that retries immediately
// would spin. The caller must pause after an error.
//
// Any thread.

#pragma once

#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane {

// The returned socket is non-blocking. nullopt: no client is waiting. Errors: kResourceExhausted
// (out of descriptors or memory; the client continues to wait), kIo.
Result<std::optional<UniqueFd>> accept_client(int listener);

}  // namespace paravane
