// paravaned: the PVRDMA device of this host's VMs. paravaned(8) is its manual.
//
// It is three processes: the keeper (this one), the engine, its child, which drops its rights and
// then serves guests, and the holder, another child, which holds what must not end with the engine.

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>

#include "base/descriptor_table.h"
#include "base/version.h"
#include "daemon/daemon.h"
#include "daemon/heir_line.h"
#include "daemon/keeper_run.h"
#include "daemon/logging.h"
#include "daemon/sandbox.h"
#include "keeper/heir_start.h"
#include "keeper/holder_process.h"
#include "keeper/keeper_exec.h"
#include "privsep/heir_facts.h"
#include "privsep/process_link.h"
#include "settings/config_file.h"
#include "settings/engine_account.h"

namespace paravane::daemon {
namespace {

struct Options {
  std::string config_file;
  bool check_config = false;
  std::uint32_t heir = 0;  // privsep::kHeirProtocol of the keeper that started it; 0: not an heir
  std::string crash;       // of the engine before the heir; empty: it is alive
  bool crash_from_outside = false;
  keeper::KeeperWords before;     // of a keeper that this program replaces
  std::filesystem::path program;  // this one
};

struct ConfigAndText {
  settings::Config config;
  std::string text;
};

Result<ConfigAndText> parse_config_text(Result<std::string> text, const std::string& name) {
  if (!text) return std::unexpected(text.error());
  auto config = settings::parse_config(*text, name);
  if (!config) return std::unexpected(config.error());
  return ConfigAndText{.config = std::move(*config), .text = std::move(*text)};
}

// A file that was named must be there; the usual one may be missing.
Result<ConfigAndText> read_config(Options& options) {
  if (options.config_file.empty() && std::filesystem::exists(settings::kDefaultConfigFile)) {
    options.config_file = settings::kDefaultConfigFile;
  }
  if (options.config_file.empty()) return ConfigAndText{};
  return parse_config_text(settings::read_config_text(options.config_file), options.config_file);
}

int to_int(ExitStatus status) {
  return static_cast<int>(status);
}

int refuse_to_start(const Error& error) {
  fmt::print(stderr, "paravaned: cannot start: {}\n", error.message);
  return to_int(ExitStatus::kFailed);
}

// A process is to have what it opens itself and the standard streams, not what we were
// started with or what a look-up of its user has left. Nor may anything get the number
// of a standard stream, into which the log is written.
void close_all_but(int last_kept) {
  int opened = 0;
  while (opened >= 0 && opened <= STDERR_FILENO) opened = ::open("/dev/null", O_RDWR);
  ::close_range(static_cast<unsigned>(last_kept) + 1, ~0U, 0);
}

int run_engine(Start start, pid_t keeper, privsep::ProcessLink link, UniqueFd holder_line) {
  reserve_descriptor_table(STDERR_FILENO);
  if (Status in = enter_sandbox(start.account, start.config, keeper); !in) {
    return refuse_to_start(in.error());
  }
  const Logging logging(start.config.log);
  Daemon daemon(std::move(start.config), start.config_file, start.account,
                {.keeper = std::move(link), .holder = std::move(holder_line)});
  return to_int(daemon.run());
}

int split_and_run(Start start) {
  close_all_but(STDERR_FILENO);
  prepare_process();
  auto link = privsep::ProcessLink::make();
  if (!link) return refuse_to_start(link.error());
  auto& [to_engine, to_keeper] = *link;
  const pid_t keeper = ::getpid();
  auto holder = start_holder(start);
  if (!holder) return refuse_to_start(holder.error());
  auto engines_line = holder->new_engine();
  if (!engines_line) return refuse_to_start(engines_line.error());
  const pid_t engine = ::fork();
  if (engine < 0) return refuse_to_start(fail_by_system(Errc::kIo, "fork", errno).error());
  if (engine == 0) {
    to_engine.close();
    holder->close();
    return run_engine(std::move(start), keeper, std::move(to_keeper), std::move(*engines_line));
  }
  to_keeper.close();
  engines_line->reset();
  return run_keeper(start, engine, std::move(to_engine), std::move(*holder));
}

// The settings that the keeper was started with, which may differ from the file by now.
Result<ConfigAndText> inherited_config(const std::string& name) {
  if (name.empty()) return ConfigAndText{};
  UniqueFd file(privsep::kHeirConfigFd);
  std::string text;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t count =
        ::pread(file.get(), piece.data(), piece.size(), static_cast<off_t>(text.size()));
    if (count < 0) return fail_by_system(Errc::kIo, "cannot read the keeper's settings", errno);
    if (count == 0) return parse_config_text(std::move(text), name);
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
}

// An engine that is to replace the one that runs. The keeper has started it.
int run_heir(const Options& options) {
  if (!privsep::is_line(privsep::kHeirLinkFd) || !privsep::is_line(privsep::kHeirEstateFd)) {
    fmt::print(stderr,
               "paravaned: --heir is how a running paravaned starts its successor; use: paravane "
               "daemon upgrade\n");
    return to_int(ExitStatus::kUsage);
  }
  ::prctl(PR_SET_NAME, "paravaned");  // executed by a descriptor, it has another
  close_all_but(privsep::kHeirHolderFd);
  prepare_process();
  reserve_descriptor_table(STDERR_FILENO);
  privsep::ProcessLink link{UniqueFd(privsep::kHeirLinkFd)};
  UniqueFd estate(privsep::kHeirEstateFd);
  UniqueFd holder(privsep::is_line(privsep::kHeirHolderFd) ? privsep::kHeirHolderFd : -1);
  if (options.heir != privsep::kHeirProtocol) {
    refuse_to_take_over(
        link, fmt::format("paravaned {} cannot take over from the running release; this upgrade "
                          "requires a restart",
                          kVersion));
  }
  Result<ConfigAndText> config = inherited_config(options.config_file);
  if (!config) refuse_to_take_over(link, config.error().message);
  const Result<settings::EngineAccount> account = settings::find_engine_account(config->config);
  if (!account) refuse_to_take_over(link, account.error().message);
  if (Status in = enter_sandbox(*account, config->config, ::getppid()); !in) {
    refuse_to_take_over(link, in.error().message);
  }
  const Logging logging(config->config.log);
  Daemon daemon(std::move(config->config), options.config_file, *account,
                {.keeper = std::move(link),
                 .holder = std::move(holder),
                 .estate = std::move(estate),
                 .crash = options.crash,
                 .crash_from_outside = options.crash_from_outside});
  return to_int(daemon.run());
}

int run(Options options) {
  if (options.before.record >= 0) return run_next_keeper(options.before);
  if (options.heir != 0) return run_heir(options);
  Result<ConfigAndText> config = read_config(options);
  if (!config) {
    fmt::print(stderr, "paravaned: {}\n", config.error().message);
    return to_int(ExitStatus::kBadConfig);
  }
  if (options.check_config) {
    fmt::print("{}: ok\n", options.config_file.empty() ? "built-in defaults" : options.config_file);
    return to_int(ExitStatus::kOk);
  }
  const Result<settings::EngineAccount> account = settings::find_engine_account(config->config);
  if (!account) return refuse_to_start(account.error());
  return split_and_run({.config = std::move(config->config),
                        .config_file = std::move(options.config_file),
                        .config_text = std::move(config->text),
                        .program = std::move(options.program),
                        .account = *account});
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Paravirtual RDMA adapters (PVRDMA) for the VMs of this host.", "paravaned");
  Options options;
  options.program = keeper::own_program();
  app.set_version_flag("--version", std::string("paravaned ") + kVersion);
  app.add_option(
         "--config", options.config_file,
         std::string("Configuration file (") + settings::kDefaultConfigFile + " if it exists)")
      ->type_name("FILE");
  app.add_flag("--check-config", options.check_config, "Check the configuration file, then exit");
  app.add_option("--heir", options.heir)->group("");  // hidden: for the keeper
  app.add_option("--after-crash", options.crash)->group("");
  app.add_flag("--from-outside", options.crash_from_outside)->group("");
  app.add_option("--keeper-record", options.before.record)->group("");
  app.add_option("--keeper-before", options.before.before)->group("");
  app.add_option("--keeper-refused", options.before.refused)->group("");
  app.footer(
      "Examples:\n"
      "  paravaned\n"
      "  paravaned --config ./paravaned.toml --check-config\n\n"
      "Exit status: 0 stopped normally, 1 could not start, 2 invalid command line,\n"
      "3 invalid configuration. See also paravaned(8), paravaned.toml(5), paravane(1).");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitStatus::kUsage);
  }
  return run(std::move(options));
}

}  // namespace
}  // namespace paravane::daemon

int main(int argc, char** argv) {
  try {
    return paravane::daemon::parse_and_run(argc, argv);
  } catch (const std::exception& error) {  // no memory: nothing else throws to here
    static_cast<void>(std::fprintf(stderr, "paravaned: %s\n", error.what()));
    return static_cast<int>(paravane::ExitStatus::kFailed);
  }
}
