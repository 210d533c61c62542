#include "keeper/notify.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>

#include "base/unique_fd.h"

namespace paravane::keeper {

void Notifier::send(const std::string& message) const {
  sockaddr_un address{};
  if (address_.empty() || address_.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  address_.copy(address.sun_path, address_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // an abstract socket
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (!fd ||
      ::sendto(fd.get(), message.data(), message.size(), MSG_NOSIGNAL, generic, length) < 0) {
    log_.warn(std::chrono::steady_clock::now(), "cannot notify the service manager: {}",
              std::strerror(errno));
  }
}

}  // namespace paravane::keeper
