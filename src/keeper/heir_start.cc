#include "keeper/heir_start.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "keeper/sealed_file.h"
#include "privsep/estate_line.h"
#include "privsep/heir_facts.h"

namespace paravane::keeper {
namespace {

constexpr int kNotExecuted = 127;

// In the child, where another thread's locks are held for ever: system calls alone. `from`: what
// becomes 3 to 6; -1: closed.
bool place_descriptors(std::array<int, 4> from) {
  const int first_free = privsep::kHeirHolderFd + 1;
  for (int& fd : from) {
    if (fd < 0) continue;
    fd = ::fcntl(fd, F_DUPFD_CLOEXEC, first_free);  // out of the way of one another
    if (fd < 0) return false;
  }
  int to = privsep::kHeirLinkFd;
  for (const int fd : from) {
    if (fd < 0) {
      ::close(to);
    } else if (::dup2(fd, to) < 0) {
      return false;
    }
    ++to;
  }
  return ::close_range(static_cast<unsigned>(first_free), ~0U, CLOSE_RANGE_CLOEXEC) == 0;
}

// Likewise. By its descriptor, so that it is that file whatever has its name; but a script has to
// be found by its name.
void execute(int program, const char* path, char* const* arguments) {
  ::execveat(program, "", arguments, environ, AT_EMPTY_PATH);
  if (errno == ENOENT) ::execv(path, arguments);
}

}  // namespace

std::filesystem::path own_program() {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/exe", unknown);
}

Result<UniqueFd> open_own_program() {
  UniqueFd program(::open("/proc/self/exe", O_PATH | O_CLOEXEC));
  if (!program) return fail_by_system(Errc::kIo, "/proc/self/exe", errno);
  return program;
}

std::string print_end(int wait_status) {
  if (WIFEXITED(wait_status)) {
    return fmt::format("exited with status {}", WEXITSTATUS(wait_status));
  }
  const int number = WTERMSIG(wait_status);
  const char* name = sigabbrev_np(number);
  return fmt::format("was killed by signal {} ({})", number, name == nullptr ? "RT" : name);
}

Result<StartedHeir> start_heir(const HeirStart& start) {
  if (start.program.empty()) return fail(Errc::kIo, "the path of paravaned is unknown");
  const std::string cannot = fmt::format("cannot execute {}: ", start.program.string());
  UniqueFd program(start.file < 0 ? ::open(start.program.c_str(), O_PATH | O_CLOEXEC)
                                  : ::fcntl(start.file, F_DUPFD_CLOEXEC, 0));
  if (!program) return fail(Errc::kIo, cannot + std::strerror(errno), errno);
  auto link = privsep::ProcessLink::make();
  if (!link) return std::unexpected(link.error());
  auto line = privsep::EstateLine::make();
  if (!line) return std::unexpected(line.error());
  UniqueFd config;
  std::vector<std::string> words{start.program.string(), "--heir",
                                 std::to_string(privsep::kHeirProtocol)};
  if (!start.config_file.empty()) {
    auto sealed = make_sealed_file("paravaned.toml", std::as_bytes(std::span(start.config_text)));
    if (!sealed) return std::unexpected(sealed.error());
    config = std::move(*sealed);
    words.insert(words.end(), {"--config", start.config_file});
  }
  if (start.crash) words.insert(words.end(), {"--after-crash", start.crash->how});
  if (start.crash && start.crash->came_from_outside) words.emplace_back("--from-outside");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  auto& [keepers, heirs] = *link;
  const pid_t child = ::fork();
  if (child == 0) {
    // Out of the way of those that get their numbers.
    const int file = ::fcntl(program.get(), F_DUPFD_CLOEXEC, privsep::kHeirHolderFd + 1);
    if (!place_descriptors({heirs.fd(), (*line)[1].get(), config.get(), start.holder_line.get()})) {
      ::_exit(kNotExecuted);
    }
    execute(file, arguments[0], arguments.data());
    const char* const why = std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): one thread
    privsep::ProcessLink(UniqueFd(privsep::kHeirLinkFd))
        .send({.kind = privsep::Note::Kind::kCannot, .text = cannot + why});
    ::_exit(kNotExecuted);
  }
  if (child < 0) return fail_by_system(Errc::kIo, "fork", errno);
  return StartedHeir{.pid = child,
                     .link = std::move(keepers),
                     .estate = std::move((*line)[0]),
                     .program = std::move(program)};
}

}  // namespace paravane::keeper
