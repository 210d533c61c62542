#include "bench/cores.h"

#include <vector>

namespace paravane::bench {

std::optional<Cores> choose_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return std::nullopt;
  std::vector<unsigned> usable;
  for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) usable.push_back(core);
  }
  if (usable.size() < 2) return std::nullopt;
  return Cores{.guest = usable.front(), .worker = usable.back()};
}

OnCore::OnCore(unsigned core) {
  CPU_ZERO(&before_);
  ::sched_getaffinity(0, sizeof before_, &before_);
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(core, &only);
  ::sched_setaffinity(0, sizeof only, &only);
}

OnCore::~OnCore() {
  ::sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace paravane::bench
