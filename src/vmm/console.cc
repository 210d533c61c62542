#include "vmm/console.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/unique_fd.h"

namespace paravane::vmm {
namespace {

// Signals that end a program wait while this lives, and are told of; then they end it.
class EndingSignals {
 public:
  EndingSignals() {
    sigset_t ending;
    ::sigemptyset(&ending);
    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
      struct sigaction now{};  // nohup(1) ignores one
      if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) {
        ::sigaddset(&ending, number);
      }
    }
    ::pthread_sigmask(SIG_BLOCK, &ending, &before_);
    arrived_ = UniqueFd(::signalfd(-1, &ending, SFD_CLOEXEC));
  }
  ~EndingSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  EndingSignals(const EndingSignals&) = delete;
  EndingSignals& operator=(const EndingSignals&) = delete;

  int fd() const { return arrived_.get(); }
  // False: one has come.
  bool wait_writable(int to) const {
    std::array<pollfd, 2> both = {pollfd{.fd = to, .events = POLLOUT, .revents = 0},
                                  pollfd{.fd = fd(), .events = POLLIN, .revents = 0}};
    while (::poll(both.data(), both.size(), -1) < 0 && errno == EINTR) {
    }
    return both[1].revents == 0;
  }

 private:
  sigset_t before_{};
  UniqueFd arrived_;
};

// A terminal that passes every key on; back to what it was at the end.
class RawTerminal {
 public:
  explicit RawTerminal(int terminal) : terminal_(terminal) {
    is_one_ = ::tcgetattr(terminal_, &before_) == 0;
    if (!is_one_) return;
    termios raw = before_;
    ::cfmakeraw(&raw);
    ::tcsetattr(terminal_, TCSADRAIN, &raw);
  }
  ~RawTerminal() {
    if (is_one_) ::tcsetattr(terminal_, TCSADRAIN, &before_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  int terminal_;
  bool is_one_ = false;
  termios before_{};
};

Status write_all(int to, std::string_view bytes, const EndingSignals& signals) {
  while (!bytes.empty()) {
    if (!signals.wait_writable(to)) return fail(Errc::kIo, "interrupted");
    const ssize_t count = ::write(to, bytes.data(), bytes.size());
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      return fail_by_system(Errc::kIo, {}, errno);
    }
  }
  return {};
}

}  // namespace

Result<ConsoleEnd> carry_console(int line, int input, int output, std::chrono::milliseconds quiet) {
  const EndingSignals signals;  // outlives the next: the terminal is put back first
  const RawTerminal raw(input);
  ::signal(SIGPIPE, SIG_IGN);  // a write says it, and the terminal is put back
  std::array<pollfd, 3> ends = {pollfd{.fd = line, .events = POLLIN, .revents = 0},
                                pollfd{.fd = input, .events = POLLIN, .revents = 0},
                                pollfd{.fd = signals.fd(), .events = POLLIN, .revents = 0}};
  std::array<char, 4096> bytes;
  for (;;) {
    const bool input_ended = ends[1].fd < 0;
    const int ready =
        ::poll(ends.data(), ends.size(), input_ended ? static_cast<int>(quiet.count()) : -1);
    if (ready == 0) return ConsoleEnd::kInputEnded;
    if (ready < 0 && errno != EINTR) return fail_by_system(Errc::kIo, {}, errno);
    if (ready < 0) continue;
    if (ends[2].revents != 0) return ConsoleEnd::kLeft;
    if (ends[0].revents != 0) {
      const ssize_t count = ::read(line, bytes.data(), bytes.size());
      if (count <= 0) return ConsoleEnd::kVmEnded;
      Status shown = write_all(output, {bytes.data(), static_cast<std::size_t>(count)}, signals);
      if (!shown) return std::unexpected(shown.error());
    }
    if (!input_ended && ends[1].revents != 0) {
      const ssize_t count = ::read(input, bytes.data(), bytes.size());
      if (count <= 0) ends[1].fd = -1;
      const std::string_view typed(bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
      const std::size_t leave = typed.find(kLeaveConsole);
      if (!write_all(line, typed.substr(0, leave), signals)) return ConsoleEnd::kVmEnded;
      if (leave != std::string_view::npos) return ConsoleEnd::kLeft;
    }
  }
}

}  // namespace paravane::vmm
