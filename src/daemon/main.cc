// paravaned: the PVRDMA device of this host's VMs. paravaned(8) is its manual.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>

#include "daemon/config_file.h"
#include "daemon/daemon.h"
#include "daemon/logging.h"
#include "daemon/version.h"

namespace paravane::daemon {
namespace {

struct Options {
  std::string config_file;
  bool check_config = false;
};

// A file that was named must be there; the usual one may be missing.
Result<Config> read_config(Options& options) {
  if (options.config_file.empty() && std::filesystem::exists(kDefaultConfigFile)) {
    options.config_file = kDefaultConfigFile;
  }
  if (options.config_file.empty()) return Config{};
  return load_config(options.config_file);
}

int to_int(ExitStatus status) {
  return static_cast<int>(status);
}

int run(Options options) {
  Result<Config> config = read_config(options);
  if (!config) {
    fmt::print(stderr, "paravaned: {}\n", config.error().message);
    return to_int(ExitStatus::kBadConfig);
  }
  if (options.check_config) {
    fmt::print("{}: ok\n", options.config_file.empty() ? "built-in defaults" : options.config_file);
    return to_int(ExitStatus::kOk);
  }
  const Logging logging(config->log);
  const char* notify =
      std::getenv("NOTIFY_SOCKET");  // NOLINT(concurrency-mt-unsafe): no threads yet
  Daemon daemon(std::move(*config), options.config_file, Notifier(notify == nullptr ? "" : notify));
  return to_int(daemon.run());
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Paravirtual RDMA adapters (PVRDMA) for the VMs of this host.", "paravaned");
  Options options;
  app.set_version_flag("--version", std::string("paravaned ") + kVersion);
  app.add_option("--config", options.config_file,
                 std::string("Configuration file (") + kDefaultConfigFile + " if it is there)")
      ->type_name("FILE");
  app.add_flag("--check-config", options.check_config,
               "Say whether the configuration file is good, and end");
  app.footer(
      "Examples:\n"
      "  paravaned\n"
      "  paravaned --config ./paravaned.toml --check-config\n\n"
      "Exit status: 0 ended as told, 1 could not start, 2 wrong command line,\n"
      "3 broken configuration. See also paravaned(8), paravaned.toml(5), paravane(1).");
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
    return static_cast<int>(paravane::daemon::ExitStatus::kFailed);
  }
}
