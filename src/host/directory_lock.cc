#include "host/directory_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/directory_check.h"

namespace paravane::host {

namespace {

std::filesystem::path lock_file(const std::filesystem::path& directory, std::string_view setting) {
  return directory / fmt::format("{}.lock", setting);
}

bool lock_in_time(int fd) {
  constexpr std::chrono::milliseconds kBetweenTries{20};
  for (auto waited = std::chrono::milliseconds::zero();; waited += kBetweenTries) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK || waited >= DirectoryLock::kPatience) return false;
    std::this_thread::sleep_for(kBetweenTries);
  }
}

}  // namespace

model::ApiResult<DirectoryLock> DirectoryLock::take(const std::filesystem::path& directory,
                                                    std::string_view setting) {
  if (const Status good = check_directory(directory, setting); !good) {
    return model::refuse(model::ApiErrorCode::kStore, good.error().message);
  }
  const std::filesystem::path file = lock_file(directory, setting);
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) {
    return model::refuse(
        errno == ENOSPC ? model::ApiErrorCode::kNoSpace : model::ApiErrorCode::kStore,
        fmt::format("cannot make {}: {}", file.string(), std::strerror(errno)));
  }
  if (lock_in_time(fd.get())) return DirectoryLock(std::move(fd));
  if (errno == EWOULDBLOCK) {
    return model::refuse(
        model::ApiErrorCode::kStore,
        fmt::format("another paravaned is using {}", directory.string()),
        fmt::format("Stop it first (paravane daemon stop), or set another {} for this one.",
                    setting));
  }
  return model::refuse(model::ApiErrorCode::kStore,
                       fmt::format("cannot lock {}: {}", file.string(), std::strerror(errno)),
                       fmt::format("Put {} on a local file system.", setting));
}

model::ApiResult<DirectoryLock> DirectoryLock::inherit(UniqueFd lock,
                                                       const std::filesystem::path& directory,
                                                       std::string_view setting) {
  const std::filesystem::path file = lock_file(directory, setting);
  struct stat here{};
  struct stat given{};
  const bool is_same = lock && ::fstat(lock.get(), &given) == 0 &&
                       ::lstat(file.c_str(), &here) == 0 && here.st_dev == given.st_dev &&
                       here.st_ino == given.st_ino;
  // Of a lock that another open file holds, this fails.
  if (is_same && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return DirectoryLock(std::move(lock));
  return model::refuse(model::ApiErrorCode::kStore,
                       fmt::format("what was handed over is not the lock {}", file.string()));
}

}  // namespace paravane::host
