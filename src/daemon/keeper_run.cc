#include "daemon/keeper_run.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "base/exit_status.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/signals.h"
#include "daemon/file_rules.h"
#include "daemon/logging.h"
#include "daemon/sandbox.h"
#include "holder/holder.h"
#include "keeper/keeper.h"
#include "keeper/machine_probe.h"
#include "keeper/notify.h"
#include "keeper/switch_builder.h"
#include "settings/config_file.h"

namespace paravane::daemon {
namespace {

std::string notify_socket() {
  const char* name = std::getenv("NOTIFY_SOCKET");  // NOLINT(concurrency-mt-unsafe): the keeper
  return name == nullptr ? "" : name;               // has no other thread that sets it
}

// Of the service manager's watchdog.
Duration watchdog() {
  return keeper::watchdog_limit(
      std::getenv("WATCHDOG_USEC"),  // NOLINT(concurrency-mt-unsafe): likewise
      std::getenv("WATCHDOG_PID"),   // NOLINT(concurrency-mt-unsafe)
      ::getpid());
}

// The engine is restricted before it has a log, and cannot ask afterwards.
void warn_of_weak_walls(const settings::Config& config) {
  if (!config.sandbox.filter_system_calls || has_file_rules()) return;
  log::warn(
      "this kernel has no Landlock (Linux 5.13; \"landlock\" in lsm=), so a compromised engine "
      "could write to world-writable devices");
}

// It is to have nothing else of the keeper's, such as its line to the engine.
int run_holder(const Start& start, pid_t keeper, UniqueFd line) {
  constexpr int kHoldersLine = STDERR_FILENO + 1;
  if (line.get() != kHoldersLine) {
    ::dup2(line.get(), kHoldersLine);
    line.reset(kHoldersLine);
  }
  ::close_range(static_cast<unsigned>(kHoldersLine) + 1, ~0U, 0);
  ::prctl(PR_SET_NAME, "paravane-holder");
  if (Status in = enter_holders_sandbox(start.account, start.config, keeper); !in) {
    fmt::print(stderr, "paravaned: cannot start: {}\n", in.error().message);
    return static_cast<int>(ExitStatus::kFailed);
  }
  holder::Holder(std::move(line)).run();
  return static_cast<int>(ExitStatus::kOk);
}

// `before`: of the keeper before this one, and why it goes on; null: there was none.
struct Before {
  keeper::KeeperRecord record;
  std::string refused;
};

int run(const Start& start, pid_t engine, privsep::ProcessLink link,
        std::optional<keeper::HolderProcess> holder, std::optional<Before> before) {
  Logging logging(start.config.log);
  if (!before) warn_of_weak_walls(start.config);
  keeper::Keeper keeper(
      engine, std::move(link), keeper::Notifier(notify_socket()),
      {.config = start.config,
       .file = start.config_file,
       .account = start.account,
       .text = start.config_text,
       .program = start.program,
       .watchdog = watchdog(),
       .flush_log = [&logging] { logging.flush(); }},
      std::make_unique<keeper::SwitchBuilder>(
          keeper::SwitchBuilderConfig{.mark = keeper::switch_mark(start.config.state_dir.string()),
                                      .uplinks = start.config.network.uplinks,
                                      .uso_uplinks = start.config.network.uso_uplinks,
                                      .tap_access = {.group = start.account.vm_group},
                                      .management_address = start.config.cluster.address}),
      std::make_unique<keeper::MachineProbe>(keeper::MachineProbeConfig{
          .uplinks = {start.config.network.uplinks.begin(), start.config.network.uplinks.end()},
          .cluster_address = start.config.cluster.address}),
      {.holder = std::move(holder), .start_another = [&start] { return start_holder(start); }});
  if (before) keeper.resume(std::move(before->record), std::move(before->refused));
  return static_cast<int>(keeper.run());
}

struct Inherited {
  keeper::KeeperRecord record;
  settings::Config config;
};

Result<Inherited> read_inherited(const keeper::KeeperWords& words) {
  auto record = keeper::open_keeper_record(words);
  if (!record) return std::unexpected(record.error());
  settings::Config config;
  if (!record->config_file.empty()) {
    auto parsed = settings::parse_config(record->config_text, record->config_file);
    if (!parsed) return std::unexpected(parsed.error());
    config = std::move(*parsed);
  }
  return Inherited{.record = std::move(*record), .config = std::move(config)};
}

// The program before this one goes on, unless it is this one that had come back.
int refuse(const keeper::KeeperWords& words, const std::string& cause) {
  if (words.before < 0) {
    fmt::print(stderr,
               "paravaned: --keeper-record is how a running paravaned replaces its keeper; use: "
               "paravane daemon upgrade\n");
    return static_cast<int>(ExitStatus::kUsage);
  }
  const std::string why =
      words.refused.empty() ? keeper::return_to_keeper(words, cause).message : words.refused;
  fmt::print(stderr, "paravaned: cannot go on in the place of the keeper before: {}; {}\n", cause,
             why);
  return static_cast<int>(ExitStatus::kFailed);
}

}  // namespace

void prepare_process() {
  give_large_blocks_back_one_by_one();
  ::umask(0077);  // what others may use gets its mode by name
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);  // ignored, as it may be handed down, it never comes
  block_signals({SIGTERM, SIGINT, SIGHUP, SIGCHLD});
  // Each range of guest memory arrives as a descriptor, dozens per VM.
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<keeper::HolderProcess> start_holder(const Start& start) {
  const pid_t keeper = ::getpid();
  return keeper::HolderProcess::start(
      [&start, keeper](UniqueFd line) { return run_holder(start, keeper, std::move(line)); });
}

int run_keeper(const Start& start, pid_t engine, privsep::ProcessLink link,
               keeper::HolderProcess holder) {
  return run(start, engine, std::move(link), std::move(holder), {});
}

int run_next_keeper(const keeper::KeeperWords& words) {
  ::prctl(PR_SET_NAME, "paravaned");  // executed by a descriptor, it has another
  prepare_process();
  auto inherited = read_inherited(words);
  if (!inherited) return refuse(words, inherited.error().message);
  keeper::accept_keeper_record(words);
  keeper::KeeperRecord& record = inherited->record;
  const Start start{.config = std::move(inherited->config),
                    .config_file = record.config_file,
                    .config_text = record.config_text,
                    .program = record.program,
                    .account = record.account};
  const keeper::KeeperRecord::Child engine = record.engine;
  std::optional<keeper::HolderProcess> holder;
  if (record.holder) holder.emplace(record.holder->pid, UniqueFd(record.holder->line));
  return run(start, engine.pid, privsep::ProcessLink(UniqueFd(engine.line)), std::move(holder),
             Before{.record = std::move(record), .refused = words.refused});
}

}  // namespace paravane::daemon
