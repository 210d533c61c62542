// listen_at(): makes a listening UNIX socket at a path. It replaces a socket file that remains from
// a process that was killed, but not a socket on which another process listens.
//
// Any thread.

#pragma once

#include <filesystem>

#include "base/result.h"
#include "base/socket_access.h"
#include "base/unique_fd.h"

namespace paravane {

// `type`: SOCK_STREAM or SOCK_SEQPACKET. The socket is non-blocking, and no client can connect
// before its file has the mode and the group. Errors: kBadState (another process listens there),
// kInvalidArgument (the path is too long for a socket), kIo; each with the path, the cause and the
// remedy.
Result<UniqueFd> listen_at(const std::filesystem::path& path, int type, const SocketAccess& access);

}  // namespace paravane
