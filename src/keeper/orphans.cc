#include "keeper/orphans.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>

namespace paravane::keeper {

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
}

void bury_orphans(std::span<const pid_t> ours) {
  for (;;) {
    siginfo_t ended{};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) return;
    if (ended.si_pid == 0 || std::ranges::find(ours, ended.si_pid) != ours.end()) return;
    ::waitpid(ended.si_pid, nullptr, WNOHANG);
  }
}

}  // namespace paravane::keeper
