#include "vmm/console.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace paravane::vmm {
namespace {

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

Status write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(to, bytes.data(), bytes.size());
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      return fail(Errc::kIo, std::strerror(errno));
    }
  }
  return {};
}

}  // namespace

Result<ConsoleEnd> carry_console(int line, int input, int output, std::chrono::milliseconds quiet) {
  const RawTerminal raw(input);
  ::signal(SIGPIPE, SIG_IGN);  // a write says it, and the terminal is put back
  std::array<pollfd, 2> both = {pollfd{.fd = line, .events = POLLIN, .revents = 0},
                                pollfd{.fd = input, .events = POLLIN, .revents = 0}};
  std::array<char, 4096> bytes;
  for (;;) {
    const bool input_ended = both[1].fd < 0;
    const int ready =
        ::poll(both.data(), both.size(), input_ended ? static_cast<int>(quiet.count()) : -1);
    if (ready == 0) return ConsoleEnd::kInputEnded;
    if (ready < 0 && errno != EINTR) return fail(Errc::kIo, std::strerror(errno));
    if (ready < 0) continue;
    if (both[0].revents != 0) {
      const ssize_t count = ::read(line, bytes.data(), bytes.size());
      if (count <= 0) return ConsoleEnd::kVmEnded;
      Status shown = write_all(output, {bytes.data(), static_cast<std::size_t>(count)});
      if (!shown) return std::unexpected(shown.error());
    }
    if (!input_ended && both[1].revents != 0) {
      const ssize_t count = ::read(input, bytes.data(), bytes.size());
      if (count <= 0) both[1].fd = -1;
      const std::string_view typed(bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
      const std::size_t leave = typed.find(kLeaveConsole);
      if (Status sent = write_all(line, typed.substr(0, leave)); !sent) return ConsoleEnd::kVmEnded;
      if (leave != std::string_view::npos) return ConsoleEnd::kLeft;
    }
  }
}

}  // namespace paravane::vmm
