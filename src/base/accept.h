// accept_client(): takes the next client of a listening socket.
//
// A listener stays readable while its client cannot be taken, so that a loop which only
// tries again spins: after an error it must pause.

#pragma once

#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane {

// The client does not block. No client waiting is nullopt. Errors: kResourceExhausted (out of
// descriptors or memory; the client goes on waiting), kIo.
Result<std::optional<UniqueFd>> accept_client(int listener);

}  // namespace paravane
