// EngineAccount holds the user and groups that the engine (the unprivileged process) runs with. The
// names in paravaned.toml are resolved before the engine is confined, because resolving a name can
// read files, query services and load libraries.

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "settings/config.h"

namespace paravane::settings {

struct EngineAccount {
  struct User {
    uid_t uid = 0;
    gid_t gid = 0;
  };
  // nullopt: the user that started the daemon, which is not root and so cannot switch.
  std::optional<User> user;
  // The groups of the API's socket and of the VMs' sockets; nullopt: the user's own group.
  std::optional<gid_t> api_group;
  std::optional<gid_t> vm_group;
  std::optional<gid_t> umad_group;  // of the door for programs that use InfiniBand adapters
};

// Errors: kInvalidArgument (no such user or group, or root; with the remedy).
Result<EngineAccount> find_engine_account(const Config& config);

}  // namespace paravane::settings
