// accept_client(): accepts the next client of a listening socket.
//
// If a client cannot be accepted, the socket stays readable, so a loop that retries immediately
// would never sleep. The caller must pause after an error.
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
