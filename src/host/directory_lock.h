// DirectoryLock makes sure that only one daemon uses a directory: the state directory or the
// directory of the VMs' sockets. The lock belongs to an open file, so the kernel releases it when
// the process ends for any reason.

#pragma once

#include <chrono>
#include <filesystem>
#include <string_view>

#include "base/unique_fd.h"
#include "model/api_error.h"

namespace paravane::host {

class DirectoryLock {
 public:
  static constexpr std::chrono::milliseconds kPatience{1000};

  // `setting` is the key of paravaned.toml that names the directory. Waits up to
  // kPatience: a daemon that was killed still gives its memory back. Errors: kStore
  // (it is missing or not writable; another daemon has it), kNoSpace; each with its
  // remedy.
  static model::ApiResult<DirectoryLock> take(const std::filesystem::path& directory,
                                              std::string_view setting);

  // The lock of another engine that this one takes over from: both hold it until that one ends.
  // Errors: kStore (it is not a lock that is held, or not of this directory).
  static model::ApiResult<DirectoryLock> inherit(UniqueFd lock,
                                                 const std::filesystem::path& directory,
                                                 std::string_view setting);
  // The open file that is locked, which stays ours.
  int fd() const { return fd_.get(); }

 private:
  explicit DirectoryLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace paravane::host
