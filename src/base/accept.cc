#include "base/accept.h"

#include <sys/socket.h>

#include <cerrno>

namespace paravane {

Result<std::optional<UniqueFd>> accept_client(int listener) {
  UniqueFd client(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (client) return client;
  switch (errno) {
    case EAGAIN:
    case EINTR:
    case ECONNABORTED: return std::nullopt;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS: return fail_by_system(Errc::kResourceExhausted, {}, errno);
    default: return fail_by_system(Errc::kIo, {}, errno);
  }
}

}  // namespace paravane
