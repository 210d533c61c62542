#include "keeper/orphans.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/log.h"

namespace paravane::keeper {
namespace {

namespace fs = std::filesystem;

// Those that live, and those whose end is not taken note of. None on a kernel without
// CONFIG_PROC_CHILDREN.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::error_code unknown;
  fs::directory_iterator thread("/proc/self/task", unknown);
  for (; !unknown && thread != fs::directory_iterator(); thread.increment(unknown)) {
    std::ifstream list(thread->path() / "children");
    for (pid_t child = 0; list >> child;) found.push_back(child);
  }
  return found;
}

// False also where names of other users' processes are hidden (proc(5), hidepid=ptraceable).
bool is_releaser(pid_t process) {
  std::ifstream file(fs::path("/proc") / std::to_string(process) / "comm");
  std::string name;
  return std::getline(file, name) && name == kReleasersName;
}

// Where /proc is of another PID namespace, its numbers are those of other processes here.
bool is_living_child(pid_t process) {
  siginfo_t ended{};
  return ::waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == 0;
}

bool holds(std::span<const pid_t> all, pid_t one) {
  return std::ranges::find(all, one) != all.end();
}

void bury(std::span<const pid_t> ours) {
  for (;;) {
    siginfo_t ended{};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) return;
    if (ended.si_pid == 0 || holds(ours, ended.si_pid)) return;
    ::waitpid(ended.si_pid, nullptr, WNOHANG);
  }
}

}  // namespace

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
}

void Orphans::look(std::span<const pid_t> ours, Instant now) {
  bury(ours);
  look_for_releasers(ours, now);
}

void Orphans::look_for_releasers(std::span<const pid_t> ours, Instant now) {
  const auto before = std::exchange(releasers_, {});
  for (const pid_t child : children()) {
    if (holds(ours, child) || !is_releaser(child) || !is_living_child(child)) continue;
    const auto known = before.find(child);
    Instant& until = releasers_[child];
    until = known == before.end() ? now + kMayStay : known->second;
    if (now < until) continue;
    until = kNever;
    const bool is_killed = ::kill(child, SIGKILL) == 0;
    log::warn("process {} still has the memory of an engine that has ended {} s ago, or longer; {}",
              child, std::chrono::duration_cast<std::chrono::seconds>(kMayStay).count(),
              is_killed ? "it is killed" : std::strerror(errno));
  }
}

Instant Orphans::next_look() const {
  Instant next = kNever;
  for (const auto& [process, until] : releasers_) next = std::min(next, until);
  return next;
}

}  // namespace paravane::keeper
