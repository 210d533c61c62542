#include "daemon/sandbox.h"

#include <cap-ng.h>
#include <fmt/core.h>
#include <grp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <vector>

#include "daemon/file_rules.h"
#include "daemon/memory_releaser.h"
#include "daemon/system_calls.h"
#include "daemon/trunk_fabric.h"
#include "transport/hca/verbs_device.h"

namespace paravane::daemon {
namespace {

constexpr const char* kVerbsDevices = "/dev/infiniband";

std::unexpected<Error> cannot(const char* what) {
  return fail_by_system(Errc::kIo, fmt::format("sandbox: cannot {}", what), errno);
}

// Root alone may: in this order, because each takes the right to do the one before.
Status become(const settings::EngineAccount& account) {
  std::vector<gid_t> groups;
  if (account.api_group) groups.push_back(*account.api_group);
  if (account.vm_group) groups.push_back(*account.vm_group);
  if (account.umad_group) groups.push_back(*account.umad_group);
  if (::setgroups(groups.size(), groups.data()) != 0) return cannot("set supplementary groups");
  if (capng_apply(CAPNG_SELECT_BOUNDS) != 0) return cannot("drop capabilities");
  const auto [uid, gid] = *account.user;
  if (::setresgid(gid, gid, gid) != 0) return cannot("change the group");
  if (::setresuid(uid, uid, uid) != 0) return cannot("change the user");
  return {};
}

constexpr bool is_sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#elif defined(__has_feature)
  return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
  return false;
#endif
}

// What is in memory is the guests': no core file, no debugger of the same user.
Status hide_memory() {
  if (::prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL) != 0) return cannot("disable core dumps");
  return {};
}

// After the change of user, which takes this back.
Status end_with(pid_t parent) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return cannot("set the parent-death signal");
  if (::getppid() == parent) return {};
  return fail(Errc::kIo, "sandbox: the privileged process has already exited");
}

// While there is one thread, and calls that only this needs are allowed.
Status start_releaser(const settings::Config& config) {
  if (is_sanitized() || !config.sandbox.filter_system_calls) return start_memory_releaser({});
  const auto filter = releasing_only();
  if (!filter) return std::unexpected(filter.error());
  return start_memory_releaser(*filter);
}

}  // namespace

Status enter_sandbox(const settings::EngineAccount& account, const settings::Config& config,
                     pid_t parent) {
  // Of an adapter's driver, its code must be there before no more is loaded.
  const bool uses_hca = may_use_hca(config) && transport_hca::VerbsDevice::load_providers();
  capng_clear(CAPNG_SELECT_ALL);
  if (account.user) {
    if (Status done = become(account); !done) return done;
  }
  if (capng_apply(CAPNG_SELECT_CAPS) != 0) return cannot("drop capabilities");
  if (Status done = end_with(parent); !done) return done;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0) return cannot("renounce privileges");
  if (Status done = start_releaser(config); !done) return done;
  if (is_sanitized()) return {};  // sanitizers make calls of their own and debug the process
  if (Status done = hide_memory(); !done) return done;
  if (!config.sandbox.filter_system_calls) return {};
  std::vector own{config.state_dir, config.vfio_user.socket_dir, config.api.socket.parent_path()};
  if (uses_hca) own.emplace_back(kVerbsDevices);
  if (Status done = restrict_files(own); !done) return done;
  return filter_system_calls(uses_hca);
}

Status enter_holders_sandbox(const settings::EngineAccount& account, const settings::Config& config,
                             pid_t parent) {
  capng_clear(CAPNG_SELECT_ALL);
  if (account.user) {
    const settings::EngineAccount alone{
        .user = account.user, .api_group = {}, .vm_group = {}, .umad_group = {}};
    if (Status done = become(alone); !done) return done;
  }
  if (capng_apply(CAPNG_SELECT_CAPS) != 0) return cannot("drop capabilities");
  if (Status done = end_with(parent); !done) return done;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0) return cannot("renounce privileges");
  if (is_sanitized()) return {};
  if (Status done = hide_memory(); !done) return done;
  if (!config.sandbox.filter_system_calls) return {};
  if (Status done = restrict_files({}); !done) return done;
  return allow_holding_only();
}

Status close_sandbox(const settings::SandboxConfig& config) {
  if (is_sanitized() || !config.filter_system_calls) return {};
  return end_connecting();
}

}  // namespace paravane::daemon
