#include "keeper/heir_start.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "privsep/estate_line.h"
#include "privsep/heir_facts.h"

namespace paravane::keeper {
namespace {

constexpr int kNotExecuted = 127;

// Nothing can change the settings under the heir, nor does it read a file that has changed since.
Result<UniqueFd> seal_text(const std::string& text) {
  UniqueFd file(::memfd_create("paravaned.toml", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto size = static_cast<ssize_t>(text.size());
  if (!file || ::write(file.get(), text.data(), text.size()) != size ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) !=
          0) {
    return fail_by_system(Errc::kIo, "cannot pass on the settings", errno);
  }
  return file;
}

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

}  // namespace

std::filesystem::path own_program() {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/exe", unknown);
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
  auto link = privsep::ProcessLink::make();
  if (!link) return std::unexpected(link.error());
  auto line = privsep::EstateLine::make();
  if (!line) return std::unexpected(line.error());
  UniqueFd config;
  std::vector<std::string> words{start.program.string(), "--heir",
                                 std::to_string(privsep::kHeirProtocol)};
  if (!start.config_file.empty()) {
    auto sealed = seal_text(start.config_text);
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
  const std::string cannot = fmt::format("cannot execute {}: ", start.program.string());
  const pid_t child = ::fork();
  if (child == 0) {
    if (!place_descriptors({heirs.fd(), (*line)[1].get(), config.get(), start.holder_line.get()})) {
      ::_exit(kNotExecuted);
    }
    ::execv(arguments[0], arguments.data());
    const char* const why = std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): one thread
    privsep::ProcessLink(UniqueFd(privsep::kHeirLinkFd))
        .send({.kind = privsep::Note::Kind::kCannot, .text = cannot + why});
    ::_exit(kNotExecuted);
  }
  if (child < 0) return fail_by_system(Errc::kIo, "fork", errno);
  return StartedHeir{.pid = child, .link = std::move(keepers), .estate = std::move((*line)[0])};
}

}  // namespace paravane::keeper
