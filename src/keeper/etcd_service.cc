#include "keeper/etcd_service.h"

#include <cap-ng.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/endpoint.h"
#include "keeper/connect_rules.h"
#include "settings/cluster_paths.h"

namespace paravane::keeper {

using privsep::EtcdReach;

namespace {

constexpr Duration kFirstPause = std::chrono::seconds(1);
constexpr Duration kLongLife = std::chrono::minutes(1);
constexpr auto kPatience = std::chrono::seconds(5);
constexpr int kCannotRun = 127;

// As the engine, but with the network.
bool drop_rights(const settings::EngineAccount& account) {
  capng_clear(CAPNG_SELECT_ALL);
  if (account.user) {
    const auto [uid, gid] = *account.user;
    if (::setgroups(0, nullptr) != 0 || capng_apply(CAPNG_SELECT_BOUNDS) != 0) return false;
    if (::setresgid(gid, gid, gid) != 0 || ::setresuid(uid, uid, uid) != 0) return false;
  }
  return capng_apply(CAPNG_SELECT_CAPS) == 0 &&
         ::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0;
}

}  // namespace

EtcdService::~EtcdService() {
  end();
}

auto EtcdService::saved() -> Saved {
  return {.reach = reach_,
          .engine_begins = engine_begins_,
          .pid = pid_ > 0 ? pid_ : -1,
          .started = started_,
          .next_try = next_try_,
          .pause = pause_,
          .log = heard_ ? heard_->pass_on() : -1};
}

void EtcdService::resume(const Saved& saved) {
  reach_ = saved.reach;
  engine_begins_ = saved.engine_begins;
  pid_ = saved.pid;
  started_ = saved.started;
  next_try_ = saved.next_try;
  pause_ = saved.pause;
  if (saved.log >= 0) heard_->go_on(UniqueFd(saved.log));
}

void EtcdService::want(EtcdReach reach, Instant now) {
  // A compromised engine may request this again and again.
  const bool possible =
      Endpoint::of(config_.cluster.address, config_.cluster.etcd_port).has_value();
  const bool begins = std::exchange(engine_begins_, false);
  if (reach == reach_ || !possible) return;
  if (begins && reach == EtcdReach::kOwnHost && reach_ == EtcdReach::kCluster && pid_ > 0) return;
  reach_ = reach;
  next_try_ = std::max(now, started_ + kFirstPause);
  pause_ = {};
  if (reach == EtcdReach::kOff && pid_ > 0)
    log_.info(now, "etcd (process {}) is being stopped", pid_);
  end();
}

std::vector<std::string> EtcdService::command_line() const {
  const settings::ClusterPaths paths(config_.state_dir);
  const auto at = Endpoint::of(config_.cluster.address, config_.cluster.etcd_port);
  const std::string clients = "https://" + at->print();
  // One member needs no door for others: a socket in its own directory.
  const std::string peers = "unix://peers:0";
  return {config_.cluster.etcd_program.string(),
          "--name",
          "paravane",
          "--data-dir",
          paths.etcd_data().string(),
          "--listen-client-urls",
          clients,
          "--advertise-client-urls",
          clients,
          "--cert-file",
          paths.identity().string(),
          "--key-file",
          paths.identity().string(),
          "--client-cert-auth",
          "--trusted-ca-file",
          (reach_ == EtcdReach::kCluster ? paths.authority() : paths.own_certificate()).string(),
          "--listen-peer-urls",
          peers,
          "--initial-advertise-peer-urls",
          peers,
          "--initial-cluster",
          "paravane=" + peers,
          "--max-request-bytes",
          "262144",
          "--quota-backend-bytes",
          "536870912",
          "--auto-compaction-mode",
          "periodic",
          "--auto-compaction-retention",
          "1h",
          "--logger",
          "zap",
          "--log-level",
          "error",
          "--log-outputs",
          "stderr"};
}

// In the child, where nothing may wait for a lock that another thread had.
void EtcdService::become_etcd(char* const* arguments, pid_t keeper, int log) const {
  std::array<char, 19> path{"PATH=/usr/bin:/bin"};
  std::array<char*, 2> environment = {path.data(), nullptr};
  ::setsid();  // it hears only of us when it is to end
  if (!drop_rights(account_)) ::_exit(kCannotRun);
  // The engine has etcd's root password and could name other members to it, which it would
  // connect to. It connects to itself alone.
  if (!connect_only_to(config_.cluster.etcd_port)) ::_exit(kCannotRun);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const settings::ClusterPaths paths(config_.state_dir);
  if (::getppid() != keeper || ::chdir(paths.directory().c_str()) != 0) ::_exit(kCannotRun);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (::dup2(log, STDOUT_FILENO) < 0 || ::dup2(log, STDERR_FILENO) < 0) ::_exit(kCannotRun);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  ::execve(arguments[0], arguments, environment.data());
  ::_exit(kCannotRun);
}

void EtcdService::step(Instant now) {
  if (!wanted() || pid_ > 0 || now < next_try_) return;
  pause_ = pause_ == Duration{} ? kFirstPause : std::min<Duration>(2 * pause_, kLongestPause);
  next_try_ = now + pause_;
  // Checked first, so that the log does not report a start before the failure.
  if (::access(config_.cluster.etcd_program.c_str(), X_OK) != 0) return cannot_run(now);
  std::vector<std::string> words = command_line();
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  UniqueFd log;
  if (heard_) {
    auto opened = heard_->open();
    if (!opened) return log_.error(now, "cannot start etcd: {}", opened.error().message);
    log = std::move(*opened);
  }
  const pid_t keeper = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) become_etcd(arguments.data(), keeper, log ? log.get() : STDERR_FILENO);
  if (child < 0) return log_.error(now, "cannot start etcd: {}", std::strerror(errno));
  pid_ = child;
  started_ = now;
  log_.info(now, "etcd started (pid {})", pid_);
}

void EtcdService::cannot_run(Instant now) {
  log_.error(now, "cannot run etcd: check that {} is installed (Debian: apt install etcd-server)",
             config_.cluster.etcd_program.string());
}

void EtcdService::look_for_end(Instant now) {
  int status = 0;
  if (pid_ <= 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return;
  pid_ = -1;
  if (!wanted()) return;
  reach_ = EtcdReach::kOwnHost;  // its data may have changed in the meantime
  if (now - started_ > kLongLife) pause_ = {};
  next_try_ = now + std::max(pause_, kFirstPause);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCannotRun) {
    cannot_run(now);
  } else {
    log_.error(now, "etcd exited and will be restarted");
  }
}

void EtcdService::end() {
  if (pid_ <= 0) return;
  // As the engine's user it may be out of our reach (no CAP_KILL): then it ends with us.
  ::kill(pid_, SIGTERM);
  const auto late = std::chrono::steady_clock::now() + kPatience;
  while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > late) {
      if (::kill(pid_, SIGKILL) == 0) ::waitpid(pid_, nullptr, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  pid_ = -1;
}

}  // namespace paravane::keeper
