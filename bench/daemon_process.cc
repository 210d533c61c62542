#include "bench/daemon_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <thread>

#include "bench/question.h"

namespace paravane::bench {
namespace {

constexpr auto kBetweenTries = std::chrono::milliseconds(20);
constexpr int kTries = 500;
constexpr int kUpgradeTries = 1500;

std::uint64_t switches_of(const std::filesystem::path& status) {
  std::ifstream file(status);
  std::uint64_t sum = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (line.contains("ctxt_switches") && colon != std::string::npos) {
      sum += std::stoull(line.substr(colon + 1));
    }
  }
  return sum;
}

// The child that has the program's name, of a daemon that runs no etcd.
pid_t engine_of(pid_t daemon) {
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", daemon));
  for (pid_t child = 0; children >> child;) {
    std::string name;
    std::getline(std::ifstream(fmt::format("/proc/{}/comm", child)), name);
    if (name == "paravaned") return child;
  }
  demand(false, "paravaned has no engine");
  return -1;
}

// Root's daemon does not let its engine be root.
constexpr const char* kEngineUser = "nobody";

void give_to_engine(const std::filesystem::path& directory) {
  if (::geteuid() != 0) return;
  const passwd* user = ::getpwnam(kEngineUser);  // NOLINT(concurrency-mt-unsafe): no other thread
  demand(user != nullptr && ::chown(directory.c_str(), user->pw_uid, user->pw_gid) == 0,
         "a directory cannot be given to the engine's user");
}

}  // namespace

DaemonProcess::DaemonProcess(const std::filesystem::path& program)
    : api_({.socket = (folder_.path() / "api.sock").string(), .version = {}}) {
  for (const char* name : {"state", "vms"}) {
    std::filesystem::create_directory(folder_.path() / name);
    give_to_engine(folder_.path() / name);
  }
  give_to_engine(folder_.path());
  const std::filesystem::path config = folder_.path() / "paravaned.toml";
  std::ofstream(config) << fmt::format(
      "[state]\ndirectory = \"{0}/state\"\n[api]\nsocket = \"{0}/api.sock\"\n"
      "[vfio_user]\nsocket_directory = \"{0}/vms\"\n[sandbox]\nuser = \"{1}\"\n",
      folder_.path().string(), kEngineUser);
  demand(std::filesystem::exists(program), "there is no paravaned; is it built?");
  const std::string log = (folder_.path() / "paravaned.log").string();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  // It ends with the benchmark, however that ends.
  std::array<std::string, 6> words{"setpriv",        "--pdeathsig", "KILL",
                                   program.string(), "--config",    config.string()};
  std::array<char*, 7> arguments{};
  std::ranges::transform(words, arguments.begin(), [](std::string& word) { return word.data(); });
  const int failed =
      ::posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  demand(failed == 0, "paravaned cannot be started");
  await_answer();
}

DaemonProcess::~DaemonProcess() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void DaemonProcess::await_answer() {
  for (int i = 0; i < kTries; ++i) {
    if (api_.status()) {
      engine_ = engine_of(pid_);
      return;
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
  demand(false, "paravaned does not answer");
}

model::VmStatus DaemonProcess::add_vm(const std::string& name) {
  model::VmSpec spec;
  spec.name = name;
  auto added = api_.add_vm(spec);
  demand(added.has_value(), "paravaned does not take a VM");
  return *added;
}

DaemonProcess::Memory DaemonProcess::memory() const {
  std::ifstream status(fmt::format("/proc/{}/status", engine_));
  Memory memory;
  for (std::string name; status >> name;) {
    std::uint64_t* const kib = name == "RssAnon:"    ? &memory.own
                               : name == "RssShmem:" ? &memory.shared
                                                     : nullptr;
    if (kib != nullptr && status >> *kib) *kib *= 1024;
  }
  demand(memory.own != 0, "paravaned is gone");
  return memory;
}

model::Event DaemonProcess::upgrade() {
  const auto before = api_.status();
  demand(before && api_.upgrade(false).has_value(), "paravaned does not take an upgrade");
  for (int i = 0; i < kUpgradeTries; ++i) {
    std::this_thread::sleep_for(kBetweenTries);
    const auto status = api_.status();
    if (!status || status->upgrade.state == model::UpgradeState::kUnderWay) continue;
    demand(status->upgrade.state == model::UpgradeState::kDone, "an upgrade has failed");
    if (status->upgrade == before->upgrade) continue;
    engine_ = engine_of(pid_);
    const auto page = api_.events({}, 0);
    demand(page.has_value(), "an upgraded paravaned does not tell its events");
    const auto& events = page->events;
    const auto told = std::ranges::find(events, "daemon.upgraded", &model::Event::type);
    demand(told != events.end(), "an upgraded paravaned does not tell of it");
    return *told;
  }
  demand(false, "an upgrade does not end");
  return {};
}

std::uint64_t DaemonProcess::context_switches() const {
  std::uint64_t sum = 0;
  const std::filesystem::path tasks = fmt::format("/proc/{}/task", engine_);
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    sum += switches_of(task.path() / "status");
  }
  demand(sum != 0, "paravaned is gone");
  return sum;
}

}  // namespace paravane::bench
