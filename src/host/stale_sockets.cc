#include "host/stale_sockets.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/log.h"
#include "base/socket_use.h"

namespace paravane::host {

std::size_t remove_stale_sockets(const std::filesystem::path& directory) {
  std::size_t removed = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::filesystem::path& path = entry->path();
    const bool is_ours = path.extension() == ".sock" || path.extension() == ".lun";
    if (!is_ours || look_at_socket(path).use != SocketUse::kStale) continue;
    if (::unlink(path.c_str()) == 0) {
      ++removed;
    } else {
      log::warn("{}: cannot remove stale socket: {}", path.string(), std::strerror(errno));
    }
  }
  if (error) log::warn("cannot list {}: {}", directory.string(), error.message());
  if (removed > 0) {
    log::info("{}: removed {} stale socket{} of a killed daemon", directory.string(), removed,
              removed == 1 ? "" : "s");
  }
  return removed;
}

}  // namespace paravane::host
