#include "daemon/state_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon/directory_check.h"

namespace paravane::daemon {

using control::ApiErrorCode;

control::ApiResult<StateLock> StateLock::take(const std::filesystem::path& directory) {
  if (const Status good = check_directory(directory, "state.directory"); !good) {
    return control::refuse(ApiErrorCode::kStore, good.error().message);
  }
  const std::filesystem::path file = directory / "lock";
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) {
    return control::refuse(errno == ENOSPC ? ApiErrorCode::kNoSpace : ApiErrorCode::kStore,
                           fmt::format("cannot make {}: {}", file.string(), std::strerror(errno)));
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return control::refuse(
        ApiErrorCode::kStore,
        fmt::format("another paravaned uses {}: {}", directory.string(), std::strerror(errno)),
        "End it first (paravane daemon stop), or give this one a state.directory of its own.");
  }
  return StateLock(std::move(fd));
}

}  // namespace paravane::daemon
