// copied(): the descriptors of a state, as if they had been sent to the process that loads it.

#pragma once

#include <fcntl.h>

#include <vector>

#include "base/unique_fd.h"
#include "state/descriptors.h"

namespace paravane {

inline std::vector<UniqueFd> copied(const state::Descriptors& saved) {
  std::vector<UniqueFd> copies;
  for (const int fd : saved.borrowed()) copies.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  return copies;
}

}  // namespace paravane
