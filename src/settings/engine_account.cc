#include "settings/engine_account.h"

#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <array>

namespace paravane::settings {
namespace {

using TextBuffer = std::array<char, 16384>;  // what an entry's texts are put into

Result<std::optional<gid_t>> find_group(const std::string& name, const char* setting) {
  if (name.empty()) return std::nullopt;
  group entry{};
  group* found = nullptr;
  TextBuffer buffer{};
  getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return found->gr_gid;
  return fail(Errc::kInvalidArgument,
              fmt::format("{}: group \"{}\" does not exist. Create it (groupadd --system {}) or "
                          "change the setting in paravaned.toml.",
                          setting, name, name));
}

// Without a capability root still owns the host's files.
Result<EngineAccount::User> find_user(const std::string& name) {
  passwd entry{};
  passwd* found = nullptr;
  TextBuffer buffer{};
  getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("sandbox.user: user \"{}\" does not exist. Create it (useradd --system "
                    "--user-group --no-create-home {}) or change the setting in paravaned.toml.",
                    name, name));
  }
  if (found->pw_uid == 0 || found->pw_gid == 0) {
    return fail(Errc::kInvalidArgument,
                fmt::format("sandbox.user: \"{}\" is root or in root's group, which does not "
                            "confine the engine. Set a dedicated user in paravaned.toml.",
                            name));
  }
  return EngineAccount::User{.uid = found->pw_uid, .gid = found->pw_gid};
}

}  // namespace

Result<EngineAccount> find_engine_account(const Config& config) {
  EngineAccount account;
  if (::geteuid() == 0) {
    const auto user = find_user(config.sandbox.user);
    if (!user) return std::unexpected(user.error());
    account.user = *user;
  }
  const auto api_group = find_group(config.api.group, "api.group");
  if (!api_group) return std::unexpected(api_group.error());
  const auto vm_group = find_group(config.vfio_user.group, "vfio_user.group");
  if (!vm_group) return std::unexpected(vm_group.error());
  const auto umad_group = find_group(config.infiniband.group, "infiniband.group");
  if (!umad_group) return std::unexpected(umad_group.error());
  account.umad_group = *umad_group;
  account.api_group = *api_group;
  account.vm_group = *vm_group;
  return account;
}

}  // namespace paravane::settings
