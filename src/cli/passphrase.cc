#include "cli/passphrase.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/unique_fd.h"

namespace paravane::cli {
namespace {

constexpr std::size_t kMaxLine = 4'096;

// Up to a newline, which is not part of it.
Result<std::string> read_line(int fd, const std::string& where) {
  std::string line;
  char byte = 0;
  while (line.size() <= kMaxLine) {
    const ssize_t count = ::read(fd, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return fail_by_system(Errc::kIo, fmt::format("cannot read {}", where), errno);
    }
    if (count == 0 || byte == '\n') break;
    line.push_back(byte);
  }
  if (line.empty()) return fail(Errc::kIo, fmt::format("no input was received from {}", where));
  if (line.size() > kMaxLine)
    return fail(Errc::kIo, fmt::format("the line from {} is too long", where));
  return line;
}

Result<UniqueFd> open_terminal() {
  UniqueFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (terminal) return terminal;
  return fail(Errc::kIo, "no terminal is available");
}

Status say(int terminal, std::string_view text) {
  const ssize_t count = ::write(terminal, text.data(), text.size());
  if (count == static_cast<ssize_t>(text.size())) return {};
  return fail_by_system(Errc::kIo, "cannot write to the terminal", errno);
}

// What is typed is not shown meanwhile.
class Hidden {
 public:
  explicit Hidden(int terminal) : terminal_(terminal) {
    if (::tcgetattr(terminal_, &before_) != 0) return;
    termios quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    changed_ = ::tcsetattr(terminal_, TCSAFLUSH, &quiet) == 0;
  }
  ~Hidden() {
    if (changed_) ::tcsetattr(terminal_, TCSAFLUSH, &before_);
  }
  Hidden(const Hidden&) = delete;
  Hidden& operator=(const Hidden&) = delete;

 private:
  int terminal_;
  termios before_{};
  bool changed_ = false;
};

Result<std::string> ask_hidden(int terminal, std::string_view prompt) {
  const Hidden hidden(terminal);  // first: what answers the prompt at once is not shown either
  if (Status said = say(terminal, prompt); !said) return std::unexpected(said.error());
  auto line = read_line(terminal, "the terminal");
  static_cast<void>(say(terminal, "\n"));
  return line;
}

}  // namespace

Result<std::string> read_passphrase(const std::optional<int>& descriptor, bool again) {
  if (descriptor) return read_line(*descriptor, fmt::format("descriptor {}", *descriptor));
  const auto terminal = open_terminal();
  if (!terminal) {
    return fail(Errc::kIo,
                terminal.error().message + "; give the passphrase with --passphrase-fd N");
  }
  auto typed = ask_hidden(terminal->get(), "Passphrase of the backup: ");
  if (!typed || !again) return typed;
  const auto second = ask_hidden(terminal->get(), "Repeat the passphrase: ");
  if (!second) return second;
  if (*second == *typed) return typed;
  return fail(Errc::kInvalidArgument, "the two passphrases do not match");
}

Result<bool> confirm(const std::string& question) {
  const auto terminal = open_terminal();
  if (!terminal) return std::unexpected(terminal.error());
  if (Status said = say(terminal->get(), question); !said) return std::unexpected(said.error());
  const auto line = read_line(terminal->get(), "the terminal");
  return line && *line == "yes";
}

}  // namespace paravane::cli
