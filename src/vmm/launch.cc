#include "vmm/launch.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <string>
#include <utility>
#include <vector>

#include "vmm/account.h"
#include "vmm/adapter_slots.h"
#include "vmm/file_check.h"
#include "vmm/log_keeper.h"
#include "vmm/machine_arguments.h"
#include "vmm/qemu_program.h"
#include "vmm/tap_device.h"

namespace paravane::vmm {
namespace {

constexpr std::size_t kMaxReason = 4096;

std::unexpected<Error> system_failure(const std::string& what) {
  return fail_by_system(Errc::kIo, what, errno);
}

struct Taps {
  std::vector<UniqueFd> files{};
  HostFacts facts{};
};

// An adapter whose port group's tap is not there yet cannot be started; one without a port
// group uses an existing tap, or has no network.
Result<Taps> open_taps(const model::VmStatus& vm) {
  Taps taps;
  const auto slots = slots_of(vm, kFirstSlot);
  if (!slots) return std::unexpected(slots.error());
  for (const AdapterSlot& slot : *slots) {
    if (!tap_exists(slot.tap)) {
      if (!slot.in_port_group) continue;
      return fail(Errc::kNotFound, fmt::format("adapter {}: tap {} does not exist\n  Create it, or "
                                               "show why that fails, with: paravane vds repair",
                                               slot.adapter, slot.tap));
    }
    Result<UniqueFd> file = open_tap(slot.tap);
    if (!file) return std::unexpected(file.error());
    if (::fcntl(file->get(), F_SETFD, 0) != 0) return system_failure(slot.tap);
    taps.facts.taps[slot.adapter] = file->get();
    taps.files.push_back(std::move(*file));
  }
  return taps;
}

// Before the rights to raise them are gone.
Status raise_limits(const model::VmMachine& machine) {
  const rlimit files{.rlim_cur = 65536, .rlim_max = 65536};
  if (::geteuid() == 0) ::setrlimit(RLIMIT_NOFILE, &files);  // as many as there may be
  if (!machine.lock_memory) return {};
  rlimit memory{};
  ::getrlimit(RLIMIT_MEMLOCK, &memory);
  if (memory.rlim_cur == RLIM_INFINITY) return {};
  memory = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  if (::setrlimit(RLIMIT_MEMLOCK, &memory) == 0) return {};
  return fail(Errc::kIo,
              "cannot lock its memory: the memlock limit is too low\n  Start it as root, or raise "
              "memlock in limits.conf(5)");
}

// As QEMU's user: what it will find closed, with words better than its own.
Status check_files(const model::VmStatus& vm, const model::LunSockets& luns,
                   const Account& account) {
  const auto problem = find_file_problem(vm, luns);
  if (!problem) return {};
  std::string text = describe(*problem, account);
  if (problem->kind == FileProblem::Kind::kSocket || problem->kind == FileProblem::Kind::kLun) {
    text += "\n  Set the group of the sockets to one that " + account.name +
            " is in: paravaned.toml(5), [vfio_user] group";
  }
  return fail(problem->error == ENOENT ? Errc::kNotFound : Errc::kIo, std::move(text));
}

// Where our output is a terminal: what is typed there is not for QEMU to read, if QEMU is another
// user than we are. That one may not open it.
Status keep_from_reading() {
  if (::geteuid() != 0) return {};
  for (const int output : {STDOUT_FILENO, STDERR_FILENO}) {
    if (::isatty(output) == 0) continue;
    const std::string terminal = fmt::format("/proc/self/fd/{}", output);
    const UniqueFd writing(::open(terminal.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
    if (!writing || ::dup2(writing.get(), output) < 0) return system_failure(terminal);
  }
  return {};
}

// standard input from nowhere; the rest to the log, or as it is.
Status redirect(int log) {
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing || ::dup2(nothing.get(), STDIN_FILENO) < 0) return system_failure("/dev/null");
  if (log < 0) return {};
  if (::dup2(log, STDOUT_FILENO) < 0 || ::dup2(log, STDERR_FILENO) < 0)
    return system_failure("log");
  return {};
}

Error execute(const std::string& program, std::vector<std::string> words) {
  words.insert(words.begin(), "qemu-system-x86_64");
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::array<std::string, 3> variables = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/",
                                          "LANG=C.UTF-8"};
  std::array<char*, 4> environment = {variables[0].data(), variables[1].data(), variables[2].data(),
                                      nullptr};
  ::execve(program.c_str(), arguments.data(), environment.data());
  return system_failure(program).error();
}

}  // namespace

std::string not_there_yet(const model::VmStatus& vm) {
  const auto slots = slots_of(vm, kFirstSlot);
  if (!slots) return {};  // launch() says what is wrong
  for (const AdapterSlot& slot : *slots) {
    if (::access(slot.socket.c_str(), F_OK) != 0 && errno == ENOENT) {
      return fmt::format("socket {}", slot.socket);
    }
    if (slot.in_port_group && !tap_exists(slot.tap)) return fmt::format("tap {}", slot.tap);
  }
  return {};
}

Error launch(const model::VmStatus& vm, const Places& places, Output output,
             const model::LunSockets& luns) {
  if (const Status good = check_answer(vm); !good) return good.error();
  // What our caller had open is not QEMU's.
  ::close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC);
  const std::string& name = vm.spec.name;
  const std::string program = qemu_program();
  const Result<Account> account = qemu_account();
  if (!account) return account.error();
  const Result<UniqueFd> lock = places.lock(name);
  if (!lock) return lock.error();
  const Result<UniqueFd> folder = places.make_directory(name, account->user, account->group);
  if (!folder) return folder.error();
  UniqueFd log;
  if (output == Output::kLog) {
    const Result<UniqueFd> made = places.make_log(name);
    if (!made) return made.error();
    auto kept = keep_log(*made, *account);
    if (!kept) return kept.error();
    log = std::move(*kept);
  }
  Result<Taps> taps = open_taps(vm);
  if (!taps) return taps.error();
  if (Status raised = raise_limits(vm.spec.machine); !raised) return raised.error();
  if (Status kept = keep_from_reading(); !kept) return kept.error();
  if (::fchdir(folder->get()) != 0) return system_failure(places.directory(name)).error();
  if (Status changed = become(*account); !changed) return changed.error();
  ::umask(0077);
  if (Status good = check_files(vm, luns, *account); !good) return good.error();
  if (const auto version = qemu_version(program); !version) return version.error();
  taps->facts.kvm = ::access("/dev/kvm", R_OK | W_OK) == 0;
  taps->facts.luns = luns;
  Result<std::vector<std::string>> words = machine_arguments(vm, taps->facts);
  if (!words) return words.error();
  if (Status done = redirect(log ? log.get() : -1); !done) return done.error();
  return execute(program, std::move(*words));
}

Result<pid_t> launch_detached(const model::VmStatus& vm, const Places& places,
                              const model::LunSockets& luns) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_failure("pipe");
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  const pid_t process = ::fork();
  if (process < 0) return system_failure("fork");
  if (process == 0) {
    ::setsid();
    const Error error = launch(vm, places, Output::kLog, luns);
    // There is no other way to report it.
    [[maybe_unused]] const ssize_t told =
        ::write(in.get(), error.message.data(), std::min(error.message.size(), kMaxReason));
    ::_exit(1);
  }
  in.reset();
  std::string reason;
  std::array<char, 512> bytes;
  for (ssize_t count = 1; count > 0 && reason.size() < kMaxReason;) {
    count = ::read(out.get(), bytes.data(), bytes.size());
    if (count > 0) reason.append(bytes.data(), static_cast<std::size_t>(count));
  }
  if (reason.empty()) return process;
  ::waitpid(process, nullptr, 0);
  return fail(Errc::kIo, std::move(reason));
}

}  // namespace paravane::vmm
