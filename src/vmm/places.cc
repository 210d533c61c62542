#include "vmm/places.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>
#include <vector>

#include "vmm/qmp_reader.h"

namespace paravane::vmm {
namespace {

constexpr std::size_t kTailBytes = 4096;
constexpr std::size_t kTailLines = 8;
constexpr int kTailLooks = 100;
constexpr std::chrono::milliseconds kTailLook{10};

std::unexpected<Error> failed(const std::string& path) {
  return fail_by_system(Errc::kIo, path, errno);
}

struct flock whole_file(short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::optional<std::string> environment(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this program has one thread
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

}  // namespace

Result<Places> Places::usual() {
  if (const auto named = environment("PARAVANE_VM_DIRECTORY")) return Places(*named);
  if (::geteuid() == 0) return Places("/run/paravane-vm");
  if (const auto own = environment("XDG_RUNTIME_DIR")) return Places(*own + "/paravane-vm");
  return fail(Errc::kNotFound, "no runtime directory for VMs: XDG_RUNTIME_DIR is not set");
}

Runner Places::runner(const std::string& vm) const {
  // Testing for a read lock does not disturb a process that is about to start the VM, as a write
  // lock would.
  const UniqueFd file(
      ::open(lock_file(vm).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return {errno == ENOENT ? Runner::State::kOff : Runner::State::kUnknown, 0};
  struct flock lock = whole_file(F_RDLCK);
  if (::fcntl(file.get(), F_GETLK, &lock) != 0) return {Runner::State::kUnknown, 0};
  if (lock.l_type == F_UNLCK) return {Runner::State::kOff, 0};
  return {Runner::State::kRunning, lock.l_pid};
}

Result<UniqueFd> Places::lock(const std::string& vm) const {
  if (::mkdir(base_.c_str(), 0755) != 0 && errno != EEXIST) return failed(base_);
  const std::string path = lock_file(vm);
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  if (!file) return failed(path);
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(file.get(), F_SETLK, &lock) == 0) return file;
  if (errno != EAGAIN && errno != EACCES) return failed(path);
  struct flock held = whole_file(F_WRLCK);
  const bool known = ::fcntl(file.get(), F_GETLK, &held) == 0 && held.l_type != F_UNLCK;
  return fail(Errc::kBadState, known ? fmt::format("already running (pid {})", held.l_pid)
                                     : std::string("already running"));
}

Result<UniqueFd> Places::make_directory(const std::string& vm, uid_t user, gid_t group) const {
  const std::string path = directory(vm);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failed(path);
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder || ::fchmod(folder.get(), 0700) != 0) return failed(path);
  if (::geteuid() == 0 && ::fchown(folder.get(), user, group) != 0) return failed(path);
  return folder;
}

Result<UniqueFd> Places::make_log(const std::string& vm) const {
  const std::string path = log_file(vm);
  // A process that still writes to the previous log does not write here.
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed(path);
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return failed(path);
  return file;
}

std::string Places::log_tail(const std::string& vm) const {
  const UniqueFd file(::open(log_file(vm).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return {};
  for (int look = 0; look < kTailLooks && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0; ++look) {
    std::this_thread::sleep_for(kTailLook);
  }
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  std::array<char, kTailBytes> bytes;
  const ssize_t count = ::pread(file.get(), bytes.data(), bytes.size(),
                                std::max<off_t>(0, size - static_cast<off_t>(kTailBytes)));
  std::istringstream text(
      std::string(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(printable(line));
  const std::size_t first = lines.size() > kTailLines ? lines.size() - kTailLines : 0;
  std::string tail;
  for (std::size_t i = first; i < lines.size(); ++i) tail += lines[i] + "\n";
  return tail;
}

}  // namespace paravane::vmm
