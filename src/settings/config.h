// Config holds all settings of the daemon's configuration file, paravaned.toml. A setting that the
// file does not contain has the default given here.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"

namespace paravane::settings {

inline constexpr const char* kDefaultConfigFile = "/etc/paravane/paravaned.toml";

enum class LogFormat : std::uint8_t { kText, kJson };

// Whether the worker spins while it has nothing to do.
enum class Spin : std::uint8_t { kAuto, kAlways, kNever };

struct ApiConfig {
  std::filesystem::path socket = "/run/paravane/api.sock";
  mode_t mode = 0660;
  std::string group;  // empty: the daemon's own
  unsigned threads = 4;
};

// The door for programs that use virtual InfiniBand adapters: opensm, ibstat. It is there while
// there is an adapter.
struct InfinibandConfig {
  std::filesystem::path umad_socket = "/run/paravane/umad.sock";
  mode_t mode = 0660;
  std::string group;  // empty: the daemon's own
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

// The first and last port that a channel between hosts may listen at, as in vSphere.
inline constexpr std::uint16_t kFirstChannelPort = 28250;
inline constexpr std::uint16_t kLastChannelPort = 28761;

// This host's settings for clusters. Without an address the daemon uses no network.
struct ClusterConfig {
  std::string address;              // IPv4 or IPv6; empty: none
  std::uint16_t door_port = 28249;  // of the authority, where hosts join
  std::uint16_t etcd_port = 2379;
  std::filesystem::path etcd_program = "/usr/bin/etcd";
  std::uint64_t certificate_lifetime_s = 90ULL * 24 * 3600;  // of what the authority signs
};

// This host's name among the hosts that share distributed switches.
struct HostNameConfig {
  std::string name;  // empty: the system's
};

struct NetworkConfig {
  std::vector<std::string> uplinks;  // NICs that distributed switches may have
  // Those of them that may cut UDP into packets: they count IPv4 identifications up.
  std::vector<std::string> uso_uplinks{};
};

// The DSCP of RDMA where an operator names none: what networks are commonly set up for.
inline constexpr unsigned kRdmaDscp = 26;
inline constexpr unsigned kMaxDscp = 63;

// Whether channels go over RDMA adapters where both hosts have one.
enum class HcaUse : std::uint8_t {
  kAuto,   // where channels are not encrypted
  kOff,    // never
  kClear,  // also where channels over TCP are encrypted, without encryption
};

// The channels to other hosts.
struct ChannelConfig {
  bool encrypted = true;      // over TCP
  bool seals_payload = true;  // without encryption
  HcaUse hca = HcaUse::kAuto;
  unsigned dscp = kRdmaDscp;
};

// The packets that go to native RoCE endpoints.
struct RoceConfig {
  unsigned dscp = kRdmaDscp;  // of those whose connection names no traffic class
};

// Metrics for Prometheus.
struct MetricsConfig {
  std::string listen;         // "127.0.0.1:9719"; empty: on the API's socket only
  unsigned queue_pairs = 16;  // of each adapter that have series of their own
};

struct LogConfig {
  std::string level = "info";
  LogFormat format = LogFormat::kText;
};

// The thread that serves all guests.
struct WorkerSettings {
  Spin spin = Spin::kAuto;
  Duration spin_for = std::chrono::microseconds(200);
  Duration turn = std::chrono::microseconds(100);  // processor time of one
  std::optional<unsigned> cpu{};                   // bound to it
};

// How the worker polls the doorbell pages that guests write to.
struct DoorbellSettings {
  Duration watch_ceiling = std::chrono::milliseconds(1);      // slowest look at a quiet page
  Duration late_event_after = std::chrono::microseconds(50);  // a completion that was not taken
  std::uint32_t late_event_budget = 1000;                     // per completion queue
  std::uint32_t late_event_refill_per_second = 10;
};

// Holds the worker asleep at random times, to test what guests see on a busy host.
struct DebugSettings {
  Duration stall_every{};  // mean time between two; zero: never
  Duration stall_for{};    // the longest
  std::uint64_t stall_seed = 1;
};

struct Config {
  std::filesystem::path state_dir = "/var/lib/paravane";
  ApiConfig api;
  VfioUserConfig vfio_user;
  InfinibandConfig infiniband;
  SandboxConfig sandbox;
  ClusterConfig cluster;
  ChannelConfig channel;
  RoceConfig roce;
  HostNameConfig host;
  NetworkConfig network;
  MetricsConfig metrics;
  LogConfig log;
  WorkerSettings worker;
  DoorbellSettings doorbells;
  DebugSettings debug;
};

}  // namespace paravane::settings
