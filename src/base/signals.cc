#include "base/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace paravane {
namespace {

sigset_t set_of(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  return set;
}

}  // namespace

void block_signals(std::initializer_list<int> numbers) {
  const sigset_t set = set_of(numbers);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Result<UniqueFd> open_signals(std::initializer_list<int> numbers) {
  const sigset_t set = set_of(numbers);
  UniqueFd signals(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return fail_by_system(Errc::kIo, "signalfd", errno);
  return signals;
}

std::optional<int> next_signal(const UniqueFd& signals) {
  signalfd_siginfo info{};
  if (::read(signals.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace paravane
