// UpgradeStatus: how the last upgrade of the daemon went. An upgrade replaces the engine, the
// process that serves VMs, by a new one while VMs run.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paravane::model {

enum class UpgradeState : std::uint8_t {
  kNone,      // the engine has seen none
  kUnderWay,  // or waits until it may begin
  kChecked,   // the program on disk can take over; nothing was changed
  kFailed,    // the engine goes on serving VMs
  kDone,      // this engine has taken over
};
std::string_view to_string(UpgradeState state);
std::optional<UpgradeState> parse_upgrade_state(std::string_view text);

struct UpgradeStatus {
  UpgradeState state = UpgradeState::kNone;
  std::string from{};        // the version of the engine that was or is to be replaced
  std::string to{};          // of the new one; empty: not known
  std::string cause{};       // of a failure
  std::uint64_t gap_ms = 0;  // how long VMs were not served
  std::string time{};        // of the end, in UTC, as model::format_time() has it

  friend bool operator==(const UpgradeStatus&, const UpgradeStatus&) = default;
};

// The keeper, the daemon's process with rights, which may be of another release than the engine.
struct KeeperStatus {
  std::string version{};  // empty: not known
  std::string
      cause{};  // why the last upgrade has not replaced it; empty: it has, or there was none

  friend bool operator==(const KeeperStatus&, const KeeperStatus&) = default;
};

}  // namespace paravane::model
