#include "vmm/qemu_program.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/unique_fd.h"
#include "vmm/qmp_reader.h"

namespace paravane::vmm {
namespace {

constexpr std::string_view kWords = "QEMU emulator version ";
constexpr std::size_t kMaxOutput = 4096;
constexpr std::chrono::seconds kPatience{20};

constexpr const char* kRemedy =
    "Install QEMU 10.1 or later (Debian 13: from trixie-backports), or set PARAVANE_QEMU to its "
    "path";

std::string read_for_a_while(int from) {
  std::string text;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (text.size() < kMaxOutput) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd one{.fd = from, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&one, 1, static_cast<int>(left.count())) <= 0) break;
    std::array<char, 512> bytes;
    const ssize_t count = ::read(from, bytes.data(), bytes.size());
    if (count <= 0) break;
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
  return text;
}

// What it writes, up to its end or ours. Errors: kNotFound, kIo.
Result<std::string> output_of(const std::string& program, std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_by_system(Errc::kIo, {}, errno);
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, in.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  words.insert(words.begin(), program);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = 0;
  const int error =
      ::posix_spawn(&process, program.c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return fail(error == ENOENT ? Errc::kNotFound : Errc::kIo,
                fmt::format("{}: {}\n  {}", program, std::strerror(error), kRemedy), error);
  }
  in.reset();
  std::string text = read_for_a_while(out.get());
  ::kill(process, SIGKILL);  // it has ended, unless it is no QEMU
  ::waitpid(process, nullptr, 0);
  return text;
}

}  // namespace

std::optional<QemuVersion> parse_qemu_version(std::string_view text) {
  const std::size_t at = text.find(kWords);
  if (at == std::string_view::npos) return std::nullopt;
  const char* begin = text.data() + at + kWords.size();
  const char* end = text.data() + text.size();
  QemuVersion version;
  const auto first = std::from_chars(begin, end, version.major_number);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '.') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, version.minor_number);
  if (second.ec != std::errc{}) return std::nullopt;
  return version;
}

std::string qemu_program() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this program has one thread
  const char* named = std::getenv("PARAVANE_QEMU");
  return named == nullptr || *named == '\0' ? "/usr/bin/qemu-system-x86_64" : named;
}

Result<QemuVersion> qemu_version(const std::string& program) {
  const Result<std::string> text = output_of(program, {"--version"});
  if (!text) return std::unexpected(text.error());
  const auto version = parse_qemu_version(*text);
  if (!version) return fail(Errc::kIo, fmt::format("{} is not QEMU\n  {}", program, kRemedy));
  if (*version >= kOldestQemu) return *version;
  return fail(Errc::kUnsupported,
              fmt::format("{} is version {}.{}, which does not support vfio-user-pci\n  {}",
                          program, version->major_number, version->minor_number, kRemedy));
}

Status check_vfio_user(const std::string& program) {
  const Result<std::string> text = output_of(program, {"-device", "vfio-user-pci,help"});
  if (!text) return std::unexpected(text.error());
  if (text->starts_with("vfio-user-pci options:")) return {};
  return fail(Errc::kUnsupported,
              fmt::format("{} was built without vfio-user-pci\n  {}", program, kRemedy));
}

}  // namespace paravane::vmm
