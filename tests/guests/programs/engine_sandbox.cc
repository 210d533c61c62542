#include "engine_sandbox.h"

#include <fcntl.h>
#include <pwd.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"
#include "daemon/sandbox.h"

// The linker puts this before libseccomp's (--wrap): the engine's filter is loaded with one rule
// more.
extern "C" {
int __real_seccomp_load(scmp_filter_ctx filter);
int __wrap_seccomp_load(scmp_filter_ctx filter) {
  const scmp_arg_cmp is_verbs{
      .arg = 1, .op = SCMP_CMP_EQ, .datum_a = RDMA_VERBS_IOCTL, .datum_b = 0};
  const int error = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, &is_verbs);
  return error != 0 ? error : __real_seccomp_load(filter);
}
}

namespace guest {

paravane::Status enter_engine_sandbox() {
  const passwd* nobody = ::getpwnam("nobody");
  if (nobody == nullptr) return paravane::fail(paravane::Errc::kNotFound, "no user nobody");
  paravane::settings::EngineAccount account;
  account.user = {.uid = nobody->pw_uid, .gid = nobody->pw_gid};
  paravane::settings::Config config;
  config.state_dir = "/dev/infiniband";  // which it may write to
  return paravane::daemon::enter_sandbox(account, config, ::getppid());
}

bool is_confined() {
  const paravane::UniqueFd device(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const bool has_no_device = !device && errno == EACCES;
  const paravane::UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW, 0));
  const bool has_no_socket = !socket && errno == ENOSYS;
  return ::geteuid() != 0 && has_no_device && has_no_socket;
}

}  // namespace guest
