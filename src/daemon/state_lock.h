// StateLock: one daemon per state directory. Held by an open file, so it ends
// with the process however that ends.

#pragma once

#include <filesystem>

#include "base/unique_fd.h"
#include "control/api_error.h"

namespace paravane::daemon {

class StateLock {
 public:
  // Errors: kStore (the directory is missing or not writable; another daemon has
  // it), kNoSpace; each with its remedy.
  static control::ApiResult<StateLock> take(const std::filesystem::path& directory);

 private:
  explicit StateLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace paravane::daemon
