// KeeperRecord is what one keeper leaves to the next when it is replaced by another program in the
// same process (keeper/keeper_exec.h): what it knows, its children, and the numbers of the
// descriptors that stay open.
//
// What can be had again is not in it: the environment with the service manager's socket and
// watchdog stays the process's, signals that are blocked stay pending, messages wait in their
// sockets, and hardware, interfaces and requests for sockets are looked up or asked for anew.
//
// Each value has a bound. The record is the keeper's own, and is read as if it were not: it comes
// from a program of another release.
//
// Stateless, any thread.

#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "keeper/etcd_service.h"
#include "keeper/succession.h"
#include "keeper/switch_follower.h"
#include "settings/engine_account.h"

namespace paravane::keeper {

struct KeeperRecord {
  static constexpr std::size_t kMostBytes = std::size_t{4} << 20;

  // A child, and our end of the line to it.
  struct Child {
    pid_t pid = 0;
    int line = -1;

    friend bool operator==(const Child&, const Child&) = default;
  };

  std::string version;  // of the program that wrote it
  std::string program;  // its path; empty: unknown
  std::string config_file;
  std::string config_text;
  settings::EngineAccount account;
  std::string log_level;  // as it was set since the start; empty: as at the start
  bool told_ready = false;
  Child engine;
  std::optional<Child> holder;
  std::uint32_t holders_ended = 0;
  Succession::Saved succession;
  EtcdService::Saved etcd;
  std::optional<SwitchFollower::Saved> switches;  // nullopt: none are created

  // Of all descriptors in it.
  std::vector<int> descriptors() const;
};

std::vector<std::byte> write_keeper_record(const KeeperRecord& record);

// Errors: kInvalidArgument.
Result<KeeperRecord> read_keeper_record(std::span<const std::byte> bytes);

}  // namespace paravane::keeper
