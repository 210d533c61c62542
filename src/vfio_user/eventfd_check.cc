#include "vfio_user/eventfd_check.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace paravane::vfio_user {
namespace {

// A write to anything else could block us, or land in some file: a client may
// pass whatever it has open. The name cannot be forged: a file's starts with a
// slash.
bool is_eventfd(int fd) {
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  std::array<char, 32> name{};
  const ssize_t length = ::readlink(link.c_str(), name.data(), name.size());
  return length > 0 &&
         std::string_view(name.data(), static_cast<std::size_t>(length)) == "anon_inode:[eventfd]";
}

// For the fallback of EventSignal, which a full blocking eventfd would stop.
bool make_non_blocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ((flags & O_NONBLOCK) != 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0);
}

}  // namespace

bool prepare_eventfd(int fd) {
  return is_eventfd(fd) && make_non_blocking(fd);
}

}  // namespace paravane::vfio_user
