// Defines plain values for the counters and the status of the daemon, as an operator sees them.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/left_out.h"
#include "model/upgrade.h"

namespace paravane::model {

struct CounterValue {
  std::string name;
  std::string help;
  std::uint64_t value = 0;
  friend bool operator==(const CounterValue&, const CounterValue&) = default;
};

struct CounterGroup {
  std::string name;  // "device", "engine", "vfio_user", ...
  std::vector<CounterValue> counters;
  friend bool operator==(const CounterGroup&, const CounterGroup&) = default;
};

struct QpStats {
  std::uint32_t number = 0;
  std::uint32_t handle = 0;
  std::string type;   // RC, UD, GSI
  std::string state;  // RESET, INIT, RTR, RTS, SQD, SQE, ERR
  std::uint32_t dest_qpn = 0;
  std::string path;         // "local", "tcp", ... or "-"
  std::string peer_gid{};   // of a connection, as an IPv6 address; empty: none
  std::string peer_host{};  // of the cluster; empty: this one, or none
  std::string why{};        // the reason for this path, for an operator
  std::uint64_t sends = 0;
  std::uint64_t receives = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t errors = 0;
  std::uint64_t rnr_waits = 0;
  std::uint64_t retries = 0;
  friend bool operator==(const QpStats&, const QpStats&) = default;
};

// The counters of one adapter of a VM.
struct VmStats {
  std::string name;           // of the VM
  std::uint32_t adapter = 1;  // its number
  std::vector<CounterGroup> groups;
  CounterGroup objects;  // what the device holds now; values go down too
  std::vector<QpStats> queue_pairs;
  friend bool operator==(const VmStats&, const VmStats&) = default;
};

struct Stats {
  std::vector<CounterGroup> daemon;
  std::vector<VmStats> vms;
  friend bool operator==(const Stats&, const Stats&) = default;
};

struct DaemonStatus {
  std::string version;
  int pid = 0;  // of the keeper; the engine, which serves guests, is its child
  std::uint64_t uptime_seconds = 0;
  std::uint64_t vms = 0;
  std::uint64_t attached = 0;
  std::string state_dir;
  std::string socket_dir;
  std::string config_file;
  std::string host{};             // this host's name, as switches know it
  std::uint64_t impairments = 0;  // the number of impairments (model/impairment.h)
  std::vector<LeftOut> left_out{};
  UpgradeStatus upgrade{};
  KeeperStatus keeper{};
  friend bool operator==(const DaemonStatus&, const DaemonStatus&) = default;
};

}  // namespace paravane::model
