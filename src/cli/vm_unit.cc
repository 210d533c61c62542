#include "cli/vm_unit.h"

#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

namespace paravane::cli {
namespace {

constexpr const char* kProgram = "/usr/bin/systemctl";
constexpr const char* kEnvironmentFile = "/etc/default/paravane-vm";
constexpr std::array kUnitFolders = {"/etc/systemd/system", "/usr/local/lib/systemd/system",
                                     "/usr/lib/systemd/system", "/lib/systemd/system"};

bool has_unit_file() {
  return std::ranges::any_of(kUnitFolders, [](const char* folder) {
    return ::access(fmt::format("{}/paravane-vm@.service", folder).c_str(), R_OK) == 0;
  });
}

// Its exit status.
Result<int> systemctl(std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = 0;
  const int error = ::posix_spawn(&process, kProgram, nullptr, nullptr, arguments.data(), environ);
  if (error != 0) return fail_by_system(Errc::kIo, kProgram, error);
  int status = 0;
  const bool ended = ::waitpid(process, &status, 0) == process && WIFEXITED(status);
  return ended ? WEXITSTATUS(status) : 1;
}

}  // namespace

bool has_vm_unit(const Context& context) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this program has one thread
  const bool elsewhere = std::getenv("PARAVANE_VM_DIRECTORY") != nullptr;
  return ::geteuid() == 0 && !elsewhere && context.socket == api::kDefaultApiSocket &&
         ::access("/run/systemd/system", F_OK) == 0 && has_unit_file();
}

std::vector<std::pair<std::string, std::string>> environment_words(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> words;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t sign = line.find('=');
    if (line.starts_with('#') || sign == 0 || sign == std::string::npos) continue;
    std::string value = line.substr(sign + 1);
    const bool quoted = value.size() >= 2 && value.front() == value.back() &&
                        (value.front() == '"' || value.front() == '\'');
    if (quoted) value = value.substr(1, value.size() - 2);
    words.emplace_back(line.substr(0, sign), std::move(value));
  }
  return words;
}

void take_vm_unit_environment() {
  std::stringstream text;
  text << std::ifstream(kEnvironmentFile).rdbuf();
  for (const auto& [name, value] : environment_words(text.str())) {
    ::setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
  }
}

std::string vm_unit(const std::string& vm) {
  return fmt::format("paravane-vm@{}.service", vm);
}

std::string vm_unit_remedy(const std::string& vm) {
  return fmt::format("See: journalctl -e -u {}", vm_unit(vm));
}

Status start_vm_unit(const std::string& vm) {
  const std::string unit = vm_unit(vm);
  const Result<int> status = systemctl({"systemctl", "start", unit});
  if (!status) return std::unexpected(status.error());
  if (*status == 0) return {};
  return fail(Errc::kIo, fmt::format("systemd did not start {}\n  {}", unit, vm_unit_remedy(vm)));
}

Status stop_vm_unit(const std::string& vm) {
  const std::string unit = vm_unit(vm);
  const Result<int> status = systemctl({"systemctl", "stop", unit});
  if (!status) return std::unexpected(status.error());
  if (*status == 0) return {};
  return fail(Errc::kIo, fmt::format("systemd did not stop {}\n  {}", unit, vm_unit_remedy(vm)));
}

bool vm_unit_is_active(const std::string& vm) {
  return systemctl({"systemctl", "is-active", "--quiet", vm_unit(vm)}).value_or(1) == 0;
}

}  // namespace paravane::cli
