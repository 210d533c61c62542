#include "vfio_user/socket_check.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <string_view>

namespace paravane::vfio_user {
namespace {

bool option_is(int fd, int option, int wanted) {
  int value = -1;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 && value == wanted;
}

bool has_address(int fd, const std::filesystem::path& path) {
  sockaddr_un address{};
  socklen_t size = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
  if (size > sizeof address || size <= offsetof(sockaddr_un, sun_path)) return false;
  const std::size_t most = size - offsetof(sockaddr_un, sun_path);
  return std::string_view(address.sun_path, strnlen(address.sun_path, most)) == path.native();
}

}  // namespace

bool is_socket_of(const std::filesystem::path& path, int fd, SocketKind kind) {
  return option_is(fd, SO_DOMAIN, AF_UNIX) && option_is(fd, SO_TYPE, SOCK_STREAM) &&
         option_is(fd, SO_ACCEPTCONN, kind == SocketKind::kListening ? 1 : 0) &&
         has_address(fd, path);
}

}  // namespace paravane::vfio_user
