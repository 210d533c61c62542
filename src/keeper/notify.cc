#include "keeper/notify.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/unique_fd.h"

namespace paravane::keeper {
namespace {

constexpr std::uint64_t kMostSeconds = 365UL * 24 * 3600;  // a longer limit is no watchdog

// 0: it is no number.
std::uint64_t read_number(std::string_view text) {
  std::uint64_t number = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  return error == std::errc() && end == last ? number : 0;
}

}  // namespace

Duration watchdog_limit(const char* usec, const char* pid, pid_t self) {
  if (usec == nullptr) return {};
  if (pid != nullptr && read_number(pid) != static_cast<std::uint64_t>(self)) return {};
  const std::uint64_t limit = read_number(usec);
  if (limit > kMostSeconds * 1'000'000) return {};
  return std::chrono::microseconds(limit);
}

void Notifier::send(const std::string& message, int flags) const {
  sockaddr_un address{};
  if (address_.empty() || address_.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  address_.copy(address.sun_path, address_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // an abstract socket
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (!fd || ::sendto(fd.get(), message.data(), message.size(), MSG_NOSIGNAL | flags, generic,
                      length) < 0) {
    log_.warn(std::chrono::steady_clock::now(), "cannot notify the service manager: {}",
              std::strerror(errno));
  }
}

}  // namespace paravane::keeper
