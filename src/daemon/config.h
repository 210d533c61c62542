// Config: everything that paravaned.toml can say, with its defaults.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/instant.h"
#include "daemon/worker.h"
#include "device/device_config.h"

namespace paravane::daemon {

inline constexpr const char* kDefaultConfigFile = "/etc/paravane/paravaned.toml";

enum class LogFormat : std::uint8_t { kText, kJson };

struct ApiConfig {
  std::filesystem::path socket = "/run/paravane/api.sock";
  mode_t mode = 0660;
  std::string group;  // empty: the daemon's own
  unsigned threads = 4;
};

struct VfioUserConfig {
  std::filesystem::path socket_dir = "/run/paravane/vm";
  mode_t mode = 0660;
  std::string group;
  unsigned max_vms = 256;
  std::uint64_t max_guest_memory = std::uint64_t{1} << 40;
};

// What the engine, the process that talks to guests, may do.
struct SandboxConfig {
  std::string user = "paravane";  // when started as root
  bool filter_system_calls = true;
};

struct LogConfig {
  std::string level = "info";
  LogFormat format = LogFormat::kText;
};

struct Config {
  std::filesystem::path state_dir = "/var/lib/paravane";
  ApiConfig api;
  VfioUserConfig vfio_user;
  SandboxConfig sandbox;
  LogConfig log;
  WorkerConfig worker;
  // How user doorbell pages are watched; the rest of it is each VM's.
  device::DeviceConfig doorbells;
};

}  // namespace paravane::daemon
