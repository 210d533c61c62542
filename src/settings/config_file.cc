#include "settings/config_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>

#include "base/endpoint.h"
#include "model/distributed_switch.h"
#include "settings/toml_reader.h"

namespace paravane::settings {
namespace {

constexpr std::uint64_t kSecondUs = 1'000'000;

void read_state(TomlReader reader, Config& config) {
  reader.file_path("directory", config.state_dir);
  reader.finish();
}

void read_api(TomlReader reader, ApiConfig& api) {
  reader.file_path("socket", api.socket);
  reader.file_mode("mode", api.mode);
  reader.text("group", api.group);
  reader.number("threads", 1, 64, api.threads);
  reader.finish();
}

void read_infiniband(TomlReader reader, InfinibandConfig& infiniband) {
  reader.file_path("umad_socket", infiniband.umad_socket);
  reader.file_mode("mode", infiniband.mode);
  reader.text("group", infiniband.group);
  reader.finish();
}

void read_vfio_user(TomlReader reader, VfioUserConfig& vfio_user) {
  reader.file_path("socket_directory", vfio_user.socket_dir);
  reader.file_mode("mode", vfio_user.mode);
  reader.text("group", vfio_user.group);
  std::uint64_t gib = vfio_user.max_guest_memory >> 30;
  reader.number("max_guest_memory_gib", 1, 1u << 20, gib);
  reader.number("max_vms", 1, 4096, vfio_user.max_vms);
  vfio_user.max_guest_memory = gib << 30;
  reader.finish();
}

void read_sandbox(TomlReader reader, SandboxConfig& sandbox) {
  reader.text("user", sandbox.user);
  std::size_t calls = sandbox.filter_system_calls ? 0 : 1;
  reader.word("system_calls", {"listed", "all"}, calls);
  sandbox.filter_system_calls = calls == 0;
  reader.finish();
}

void read_cluster(TomlReader reader, ClusterConfig& cluster) {
  reader.ip_address("address", cluster.address);
  reader.number("door_port", 1024, 65535, cluster.door_port);
  reader.number("etcd_port", 1024, 65535, cluster.etcd_port);
  reader.file_path("etcd_program", cluster.etcd_program);
  reader.number("certificate_lifetime_s", 30, 10ULL * 365 * 24 * 3600,
                cluster.certificate_lifetime_s);
  reader.finish();
}

void read_channel(TomlReader reader, ChannelConfig& channel) {
  std::size_t choice = channel.encrypted ? 0 : 1;
  reader.word("encryption", {"on", "off"}, choice);
  channel.encrypted = choice == 0;
  choice = channel.seals_payload ? 0 : 1;
  reader.word("seal", {"all", "frames"}, choice);
  channel.seals_payload = choice == 0;
  constexpr std::array kUses = {HcaUse::kAuto, HcaUse::kOff, HcaUse::kClear};
  choice = static_cast<std::size_t>(std::ranges::find(kUses, channel.hca) - kUses.begin());
  reader.word("hca", {"auto", "off", "clear"}, choice);
  channel.hca = kUses.at(choice);
  reader.number("dscp", 0, kMaxDscp, channel.dscp);
  reader.finish();
}

void read_roce(TomlReader reader, RoceConfig& roce) {
  reader.number("dscp", 0, kMaxDscp, roce.dscp);
  reader.finish();
}

void read_host(TomlReader reader, HostNameConfig& host) {
  reader.checked_text("name", model::check_host_name, host.name);
  reader.finish();
}

void read_network(TomlReader reader, NetworkConfig& network) {
  reader.texts("uplinks", model::check_interface_name, network.uplinks);
  reader.texts("uso_uplinks", model::check_interface_name, network.uso_uplinks);
  for (const std::string& name : network.uso_uplinks) {
    if (std::ranges::find(network.uplinks, name) != network.uplinks.end()) continue;
    reader.refuse("uso_uplinks", fmt::format("names {}, which uplinks does not name", name));
  }
  reader.finish();
}

Status check_listen(std::string_view text) {
  const auto endpoint = Endpoint::parse(text);
  if (endpoint && endpoint->port() != 0) return {};
  return fail(Errc::kInvalidArgument,
              "expected an address and port of this host, such as 127.0.0.1:9719");
}

void read_metrics(TomlReader reader, MetricsConfig& metrics) {
  reader.checked_text("listen", check_listen, metrics.listen);
  reader.number("queue_pairs", 0, 256, metrics.queue_pairs);
  reader.finish();
}

void read_log(TomlReader reader, LogConfig& log) {
  static constexpr std::array kLevels = {"debug", "info", "warn", "error"};
  std::size_t level = 1;
  reader.word("level", {"debug", "info", "warn", "error"}, level);
  log.level = kLevels.at(level);
  std::size_t format = 0;
  reader.word("format", {"text", "json"}, format);
  log.format = format == 0 ? LogFormat::kText : LogFormat::kJson;
  reader.finish();
}

void read_worker(TomlReader reader, WorkerSettings& worker) {
  std::size_t spin = 0;
  reader.word("spin", {"auto", "always", "never"}, spin);
  worker.spin = static_cast<Spin>(spin);
  reader.microseconds("spin_for_us", 10 * kSecondUs, worker.spin_for);
  if (reader.has("cpu")) reader.number("cpu", 0, 1023, worker.cpu.emplace());
  std::uint64_t share = 100;
  reader.number("turn_us", 10, 10'000, share);
  worker.turn = std::chrono::microseconds(share);
  reader.finish();
}

void read_doorbells(TomlReader reader, DoorbellSettings& doorbells) {
  reader.microseconds("watch_ceiling_us", kSecondUs, doorbells.watch_ceiling);
  reader.microseconds("late_event_after_us", kSecondUs, doorbells.late_event_after);
  reader.number("late_event_budget", 0, 1'000'000, doorbells.late_event_budget);
  reader.number("late_event_refill_per_second", 0, 1'000'000,
                doorbells.late_event_refill_per_second);
  reader.finish();
}

void read_debug(TomlReader reader, DebugSettings& debug) {
  std::uint64_t every_ms = 0;
  reader.number("stall_every_ms", 0, 60'000, every_ms);
  debug.stall_every = std::chrono::milliseconds(every_ms);
  reader.microseconds("stall_for_us", kSecondUs, debug.stall_for);
  reader.number("stall_seed", 0, 0xFFFFFFFF, debug.stall_seed);
  reader.finish();
}

Config read_all(TomlReader& root) {
  Config config;
  read_state(root.sub_table("state"), config);
  read_api(root.sub_table("api"), config.api);
  read_infiniband(root.sub_table("infiniband"), config.infiniband);
  read_vfio_user(root.sub_table("vfio_user"), config.vfio_user);
  read_sandbox(root.sub_table("sandbox"), config.sandbox);
  read_cluster(root.sub_table("cluster"), config.cluster);
  read_channel(root.sub_table("channel"), config.channel);
  read_roce(root.sub_table("roce"), config.roce);
  read_host(root.sub_table("host"), config.host);
  read_network(root.sub_table("network"), config.network);
  read_metrics(root.sub_table("metrics"), config.metrics);
  read_log(root.sub_table("log"), config.log);
  read_worker(root.sub_table("worker"), config.worker);
  read_doorbells(root.sub_table("doorbells"), config.doorbells);
  read_debug(root.sub_table("debug"), config.debug);
  root.finish();
  return config;
}

std::unexpected<Error> at_line(std::string_view name, std::uint32_t line, std::string_view reason) {
  return fail(Errc::kInvalidArgument, fmt::format("{}:{}: {}", name, line, reason));
}

}  // namespace

Result<Config> parse_config(std::string_view text, std::string_view name) {
  toml::table table;
  try {
    table = toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    return at_line(name, error.source().begin.line, error.description());
  }
  TomlReader::Problem problem;
  TomlReader root(&table, "", problem);
  Config config = read_all(root);
  if (!problem.text.empty()) return at_line(name, problem.line, problem.text);
  return config;
}

Result<Config> load_config(const std::filesystem::path& file) {
  const Result<std::string> text = read_config_text(file);
  if (!text) return std::unexpected(text.error());
  return parse_config(*text, file.string());
}

Result<std::string> read_config_text(const std::filesystem::path& file) {
  // Reading a directory makes libstdc++ 12 throw.
  std::error_code unknown;
  if (std::filesystem::is_directory(file, unknown)) {
    return fail(Errc::kIo, fmt::format("cannot read {}: not a regular file", file.string()));
  }
  std::ifstream stream(file);
  if (!stream) {
    return fail_by_system(Errc::kIo, fmt::format("cannot read {}", file.string()), errno);
  }
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad()) {
    return fail(Errc::kIo, fmt::format("cannot read {}: the file system failed", file.string()));
  }
  return text;
}

}  // namespace paravane::settings
