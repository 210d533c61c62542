#include "daemon/system_calls.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/if_tun.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <vector>

#include "base/unique_fd.h"

namespace paravane::daemon {
namespace {

// Whatever their arguments.
constexpr std::array kHarmless = {
    // memory
    "brk", "madvise", "munmap", "mremap", "msync", "memfd_create",
    // files: the state, the sockets' names, guests' memory
    "access", "chown", "close", "close_range", "dup", "faccessat", "faccessat2", "fallocate",
    "fchown", "fchownat", "fdatasync", "flock", "fstat", "fstatfs", "fsync", "ftruncate", "getcwd",
    "getdents64", "lseek", "lstat", "newfstatat", "pread64", "preadv", "pwrite64", "pwritev",
    "read", "readlink", "readlinkat", "readv", "rename", "renameat", "renameat2", "rmdir", "stat",
    "statfs", "statx", "umask", "unlink", "unlinkat", "write", "writev",
    // signals that never wait (base/event_signal.h)
    "io_destroy", "io_getevents", "io_setup", "io_submit",
    // waiting
    "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd2", "poll",
    "ppoll", "pselect6", "select", "signalfd4",
    // sockets that are there; allow_socket_calls() has the rest
    "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen",
    "recvfrom", "recvmsg", "sendfile",
    // threads
    "exit", "exit_group", "futex", "futex_waitv", "get_robust_list", "getcpu", "gettid",
    "membarrier", "restart_syscall", "rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask",
    "rt_sigreturn", "rt_sigtimedwait", "sched_getaffinity", "sched_setaffinity", "sched_yield",
    "set_robust_list", "set_tid_address", "sigaltstack",
    // time, and identity
    "clock_getres", "clock_gettime", "clock_nanosleep", "getegid", "geteuid", "getgid", "getpid",
    "getppid", "getrandom", "getresgid", "getresuid", "getrlimit", "getrusage", "gettimeofday",
    "getuid", "nanosleep", "sysinfo", "time", "times", "uname"};

// No bug of this program makes these calls: an attacker runs in this process.
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

constexpr std::uint64_t kSocketTypes = ~std::uint64_t{SOCK_CLOEXEC | SOCK_NONBLOCK};
constexpr std::uint64_t kCloneNew = CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS |
                                    CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWUTS;

struct Release {
  void operator()(void* filter) const { seccomp_release(filter); }
};

class Filter {
 public:
  // `rest`: what becomes of the calls that are not added.
  explicit Filter(std::uint32_t rest) : context_(seccomp_init(rest)) {
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

  // Of every thread.
  Status load() {
    refuse_other_modes();
    set(SCMP_FLTATR_CTL_NNP, 0);  // the caller's
    set(SCMP_FLTATR_CTL_TSYNC, 1);
    // Nothing but ours runs here, so nothing is to be hidden from by slower loads.
    set(SCMP_FLTATR_CTL_SSB, 1);
    if (error_ == 0) error_ = seccomp_load(context_.get());
    if (error_ == 0) return {};
    return refused();
  }

  // What the kernel would load.
  Result<std::vector<sock_filter>> program() {
    refuse_other_modes();
    const UniqueFd file(::memfd_create("filter", MFD_CLOEXEC));
    if (!file && error_ == 0) error_ = -errno;
    if (error_ == 0) error_ = seccomp_export_bpf(context_.get(), file.get());
    struct stat facts{};
    if (error_ == 0 && ::fstat(file.get(), &facts) != 0) error_ = -errno;
    std::vector<sock_filter> steps(static_cast<std::size_t>(facts.st_size) / sizeof(sock_filter));
    const std::size_t bytes = steps.size() * sizeof(sock_filter);
    if (error_ == 0 && ::pread(file.get(), steps.data(), bytes, 0) != facts.st_size) error_ = -EIO;
    if (error_ == 0) return steps;
    return refused();
  }

 private:
  // Calls of other processor modes. By default one thread alone would end.
  void refuse_other_modes() { set(SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS); }

  std::unexpected<Error> refused() const {
    return fail(Errc::kIo,
                fmt::format("sandbox: cannot filter system calls: {}. Set "
                            "sandbox.system_calls = \"all\" to run without the filter.",
                            std::strerror(-error_)),
                -error_);
  }

  void set(scmp_filter_attr attribute, std::uint32_t value) {
    if (error_ == 0) error_ = seccomp_attr_set(context_.get(), attribute, value);
  }

  std::unique_ptr<void, Release> context_;
  int error_ = 0;
};

scmp_arg_cmp is(unsigned argument, std::uint64_t value) {
  return {.arg = argument, .op = SCMP_CMP_EQ, .datum_a = value, .datum_b = 0};
}

scmp_arg_cmp has_bits(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
}

// Allows file modes except set-user-ID and set-group-ID.
void allow_modes(Filter& filter) {
  struct Call {
    const char* name;
    unsigned mode;  // which argument; 0 in it if no file is made
  };
  for (const auto [name, mode] :
       {Call{"chmod", 1}, Call{"fchmod", 1}, Call{"fchmodat", 2}, Call{"fchmodat2", 2},
        Call{"creat", 1}, Call{"mkdir", 1}, Call{"open", 2}, Call{"openat", 3}}) {
    filter.allow(name, {has_bits(mode, S_ISUID | S_ISGID, 0)});
  }
}

// Not what sends signals to others or keeps others from a file.
void allow_file_control(Filter& filter) {
  for (const int command : {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK,
                            F_SETLK, F_SETLKW, F_ADD_SEALS, F_GET_SEALS}) {
    filter.allow("fcntl", {is(1, static_cast<std::uint64_t>(command))});
  }
}

// The options that libcurl and we set. Others connect (TCP_FASTOPEN_CONNECT), lay a connection
// out as if it had been made (TCP_REPAIR), change what a socket is (TCP_ULP, IPV6_ADDRFORM) or
// where its packets go (IP_OPTIONS, IPV6_RTHDR, SO_BINDTODEVICE, SO_MARK).
struct SocketOption {
  int level;
  int name;
};
constexpr std::array kSocketOptions = {
    SocketOption{SOL_SOCKET, SO_KEEPALIVE},      SocketOption{IPPROTO_TCP, TCP_NODELAY},
    SocketOption{SOL_SOCKET, SO_PEEK_OFF},       SocketOption{IPPROTO_TCP, TCP_KEEPIDLE},
    SocketOption{IPPROTO_TCP, TCP_KEEPINTVL},    SocketOption{IPPROTO_TCP, TCP_KEEPCNT},
    SocketOption{IPPROTO_TCP, TCP_NOTSENT_LOWAT}};

// What makes no connection out of a socket that has none. The kernel reads 32 bits of flags.
void allow_socket_calls(Filter& filter) {
  constexpr std::uint64_t kOtherFlags = 0xFFFFFFFF & ~std::uint64_t{MSG_NOSIGNAL | MSG_DONTWAIT};
  constexpr unsigned kAddress = 4;
  // MSG_FASTOPEN connects, and an address is for sockets that are not connected.
  filter.allow("sendto", {has_bits(3, kOtherFlags, 0), is(kAddress, 0)});
  filter.allow("sendmsg", {has_bits(2, kOtherFlags, 0)});
  // The reading half, shut down, makes a listener a socket that may be connected.
  filter.allow("shutdown", {is(1, SHUT_WR)});
  for (const auto [level, name] : kSocketOptions) {
    filter.allow("setsockopt", {is(1, static_cast<std::uint64_t>(level)),
                                is(2, static_cast<std::uint64_t>(name))});
  }
}

// Only with these arguments.
void allow_in_part(Filter& filter) {
  // A datagram needs no connection to reach any socket of this host.
  filter.allow("socket", {is(0, AF_UNIX), has_bits(1, kSocketTypes, SOCK_STREAM)});
  filter.allow("socket", {is(0, AF_UNIX), has_bits(1, kSocketTypes, SOCK_SEQPACKET)});
  // Two ends of one line, both of this process until it passes one on (umad/control_line.h).
  filter.allow("socketpair", {is(0, AF_UNIX), has_bits(1, kSocketTypes, SOCK_SEQPACKET)});
  // Memory becomes code in no way.
  filter.allow("mmap", {has_bits(2, PROT_EXEC, 0)});
  filter.allow("mprotect", {has_bits(2, PROT_EXEC, 0)});
  // Threads, not processes. clone3 keeps its flags in memory; without it clone is used.
  filter.allow("clone", {has_bits(0, CLONE_THREAD | kCloneNew, CLONE_THREAD)});
  filter.allow("seccomp", {is(0, SECCOMP_SET_MODE_FILTER)});  // end_connecting()
  filter.allow("prctl", {is(0, PR_SET_NAME)});
  filter.allow("prctl", {is(0, PR_SET_TIMERSLACK)});
  filter.allow("prlimit64", {is(2, 0)});                                    // to look
  filter.allow("ioctl", {is(1, TCGETS)});                                   // is it a terminal?
  filter.allow("ioctl", {is(1, SIOCOUTQ)});                                 // of a VMM's socket
  filter.allow("ioctl", {is(1, TUNSETCARRIER)});                            // of an IPoIB uplink
  filter.allow("tgkill", {is(0, static_cast<std::uint64_t>(::getpid()))});  // abort()
}

}  // namespace

Status filter_system_calls(bool uses_hca) {
  Filter filter(SCMP_ACT_ERRNO(ENOSYS));
  for (const char* name : kHarmless) filter.allow(name);
  for (const char* name : kAttack) filter.add(SCMP_ACT_KILL_PROCESS, name);
  allow_modes(filter);
  allow_file_control(filter);
  allow_socket_calls(filter);
  allow_in_part(filter);
  if (uses_hca) filter.allow("ioctl", {is(1, RDMA_VERBS_IOCTL)});
  return filter.load();
}

Status allow_holding_only() {
  Filter filter(SCMP_ACT_KILL_PROCESS);
  for (const char* name :
       {"brk",          "madvise",        "munmap",        "mremap",          "close",
        "fstat",        "newfstatat",     "poll",          "ppoll",           "recvmsg",
        "sendmsg",      "futex",          "exit",          "exit_group",      "restart_syscall",
        "rt_sigreturn", "rt_sigprocmask", "clock_gettime", "clock_nanosleep", "nanosleep",
        "getpid",       "gettid",         "write"}) {
    filter.allow(name);
  }
  filter.allow("mmap", {has_bits(2, PROT_EXEC, 0)});
  filter.allow("mprotect", {has_bits(2, PROT_EXEC, 0)});
  filter.allow("fcntl", {is(1, static_cast<std::uint64_t>(F_GET_SEALS))});
  filter.allow("tgkill", {is(0, static_cast<std::uint64_t>(::getpid()))});  // abort()
  return filter.load();
}

Result<std::vector<sock_filter>> releasing_only() {
  Filter filter(SCMP_ACT_KILL_PROCESS);
  for (const char* name : {"read", "write", "exit", "restart_syscall"}) filter.allow(name);
  return filter.program();
}

Status end_connecting() {
  Filter filter(SCMP_ACT_ALLOW);
  for (const char* name : {"connect", "seccomp"}) filter.add(SCMP_ACT_ERRNO(EPERM), name);
  return filter.load();
}

}  // namespace paravane::daemon
