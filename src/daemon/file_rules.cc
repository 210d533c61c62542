#include "daemon/file_rules.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"

namespace paravane::daemon {
namespace {

std::unexpected<Error> cannot_rule(const char* what) {
  return fail(
      Errc::kIo,
      fmt::format(
          "sandbox: cannot {}: {}. Set sandbox.system_calls = \"all\" to run without file rules.",
          what, std::strerror(errno)),
      errno);
}

bool add_rule(int rules, int directory) {
  const landlock_path_beneath_attr rule{.allowed_access = LANDLOCK_ACCESS_FS_WRITE_FILE,
                                        .parent_fd = directory};
  return ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0U) == 0;
}

}  // namespace

bool has_file_rules() {
  return ::syscall(SYS_landlock_create_ruleset, nullptr, 0UL, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

Status restrict_files(std::span<const std::filesystem::path> own_directories) {
  if (!has_file_rules()) return {};
  landlock_ruleset_attr handled{};
  handled.handled_access_fs = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE;
  const UniqueFd rules(static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, &handled, sizeof handled.handled_access_fs, 0U)));
  if (!rules) return cannot_rule("create file rules");
  for (const std::filesystem::path& path : own_directories) {
    const UniqueFd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    // The code that needs it reports what is wrong with it.
    if (directory && !add_rule(rules.get(), directory.get())) return cannot_rule("add a file rule");
  }
  if (::syscall(SYS_landlock_restrict_self, rules.get(), 0U) == 0) return {};
  return cannot_rule("restrict files");
}

}  // namespace paravane::daemon
