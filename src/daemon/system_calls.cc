#include "daemon/system_calls.h"

#include <fmt/format.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <memory>

namespace paravane::daemon {
namespace {

// Whatever their arguments.
constexpr std::array kHarmless = {
    // memory
    "brk", "madvise", "munmap", "mremap", "msync", "memfd_create",
    // files: the state, the sockets' names, guests' memory
    "access", "chmod", "chown", "close", "close_range", "creat", "dup", "faccessat", "faccessat2",
    "fallocate", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat", "fcntl", "fdatasync",
    "flock", "fstat", "fstatfs", "fsync", "ftruncate", "getcwd", "getdents64", "lseek", "lstat",
    "mkdir", "newfstatat", "open", "openat", "pread64", "preadv", "pwrite64", "pwritev", "read",
    "readlink", "readlinkat", "readv", "rename", "renameat", "renameat2", "stat", "statfs", "statx",
    "umask", "unlink", "unlinkat", "write", "writev",
    // signals that never wait (base/event_signal.h)
    "io_destroy", "io_getevents", "io_setup", "io_submit",
    // waiting
    "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd2", "poll",
    "ppoll", "pselect6", "select", "signalfd4",
    // sockets that are there
    "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen",
    "recvfrom", "recvmsg", "sendmsg", "sendto", "setsockopt", "shutdown",
    // threads
    "exit", "exit_group", "futex", "futex_waitv", "get_robust_list", "getcpu", "gettid",
    "membarrier", "restart_syscall", "rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask",
    "rt_sigreturn", "rt_sigtimedwait", "sched_getaffinity", "sched_setaffinity", "sched_yield",
    "set_robust_list", "set_tid_address", "sigaltstack",
    // time, and who we are
    "clock_getres", "clock_gettime", "clock_nanosleep", "getegid", "geteuid", "getgid", "getpid",
    "getppid", "getrandom", "getresgid", "getresuid", "getrlimit", "getrusage", "gettimeofday",
    "getuid", "nanosleep", "sysinfo", "time", "times", "uname"};

// No bug of ours gets here: somebody else runs in this process.
constexpr std::array kAttack = {"execve",
                                "execveat",
                                "fork",
                                "vfork",
                                "ptrace",
                                "process_vm_readv",
                                "process_vm_writev",
                                "kexec_load",
                                "kexec_file_load",
                                "init_module",
                                "finit_module",
                                "delete_module",
                                "bpf",
                                "mount",
                                "umount2",
                                "pivot_root",
                                "chroot",
                                "setns",
                                "unshare",
                                "setuid",
                                "setgid",
                                "setreuid",
                                "setregid",
                                "setresuid",
                                "setresgid",
                                "setgroups",
                                "capset",
                                "reboot",
                                "swapon",
                                "swapoff",
                                "iopl",
                                "ioperm",
                                "open_by_handle_at",
                                "userfaultfd",
                                "perf_event_open",
                                "keyctl",
                                "add_key",
                                "request_key",
                                "io_uring_setup"};

struct Release {
  void operator()(void* filter) const { seccomp_release(filter); }
};

class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_ERRNO(ENOSYS))) {
    if (context_ == nullptr) error_ = -ENOMEM;
  }

  // A call that this library or processor has not is left out: it answers ENOSYS.
  void add(std::uint32_t action, const char* name,
           std::initializer_list<scmp_arg_cmp> arguments = {}) {
    const int number = seccomp_syscall_resolve_name(name);
    if (error_ != 0 || number < 0) return;
    error_ = seccomp_rule_add_array(context_.get(), action, number,
                                    static_cast<unsigned>(arguments.size()), arguments.begin());
  }
  void allow(const char* name, std::initializer_list<scmp_arg_cmp> arguments = {}) {
    add(SCMP_ACT_ALLOW, name, arguments);
  }

  Status load() {
    // Nothing but ours runs here, so nothing is to be hidden from by slower loads.
    if (error_ == 0) error_ = seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_SSB, 1);
    if (error_ == 0) error_ = seccomp_load(context_.get());
    if (error_ == 0) return {};
    return fail(Errc::kIo, fmt::format("sandbox: cannot filter system calls: {}. With "
                                       "sandbox.system_calls = \"all\" it goes without.",
                                       std::strerror(-error_)));
  }

 private:
  std::unique_ptr<void, Release> context_;
  int error_ = 0;
};

scmp_arg_cmp is(unsigned argument, std::uint64_t value) {
  return {.arg = argument, .op = SCMP_CMP_EQ, .datum_a = value, .datum_b = 0};
}

scmp_arg_cmp has_bits(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
}

// Only with these arguments.
void allow_in_part(Filter& filter) {
  filter.allow("socket", {is(0, AF_UNIX)});
  // Memory becomes code in no way.
  filter.allow("mmap", {has_bits(2, PROT_EXEC, 0)});
  filter.allow("mprotect", {has_bits(2, PROT_EXEC, 0)});
  // Threads, not processes. clone3 keeps its flags in memory; without it clone is used.
  filter.allow("clone", {has_bits(0, CLONE_THREAD, CLONE_THREAD)});
  filter.allow("prctl", {is(0, PR_SET_NAME)});
  filter.allow("prctl", {is(0, PR_SET_TIMERSLACK)});
  filter.allow("prlimit64", {is(2, 0)});                                    // to look
  filter.allow("ioctl", {is(1, TCGETS)});                                   // is it a terminal?
  filter.allow("tgkill", {is(0, static_cast<std::uint64_t>(::getpid()))});  // abort()
}

}  // namespace

Status filter_system_calls() {
  Filter filter;
  for (const char* name : kHarmless) filter.allow(name);
  for (const char* name : kAttack) filter.add(SCMP_ACT_KILL_PROCESS, name);
  allow_in_part(filter);
  return filter.load();
}

}  // namespace paravane::daemon
