#include "daemon/daemon.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/log.h"
#include "daemon/config_file.h"
#include "daemon/version.h"
#include "guestmem/memory_failure.h"

namespace paravane::daemon {
namespace {

// Each range of guest memory arrives as a descriptor, dozens per VM.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    log::warn("cannot raise the limit of open files: {}", std::strerror(errno));
  }
}

// nullopt: no group was named. Errors: kInvalidArgument.
Result<std::optional<gid_t>> find_group(const std::string& name, const char* setting) {
  if (name.empty()) return std::nullopt;
  group entry{};
  group* found = nullptr;
  std::array<char, 16384> buffer{};
  getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return found->gr_gid;
  return fail(Errc::kInvalidArgument,
              fmt::format("{}: there is no group \"{}\". Make it (groupadd --system {}) or change "
                          "the setting in paravaned.toml.",
                          setting, name, name));
}

std::string with_remedy(const control::ApiError& error) {
  return error.remedy.empty() ? error.message : error.message + ". " + error.remedy;
}

}  // namespace

Daemon::Daemon(Config config, std::string config_file, Notifier notifier)
    : config_(std::move(config)),
      config_file_(std::move(config_file)),
      notifier_(std::move(notifier)) {}

ExitStatus Daemon::run() {
  Status started = prepare_process();
  if (started) started = start();
  if (!started) {
    log::error("cannot start: {}", started.error().message);
    return ExitStatus::kFailed;
  }
  log::info("paravaned {} is ready: {}, api at {}", kVersion, summary(),
            config_.api.socket.string());
  told_ = summary();
  notifier_.ready(told_);
  serve();
  stop();
  return ExitStatus::kOk;
}

Status Daemon::prepare_process() {
  ::umask(0077);  // what others may use gets its mode by name
  raise_descriptor_limit();
  signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
  // Before any thread is made, so that none of them gets these.
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_.reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return fail(Errc::kIo, std::string("signalfd: ") + std::strerror(errno));
  return install_memory_failure_handler();
}

Status Daemon::start() {
  auto loop = EventLoop::create();
  if (!loop) return std::unexpected(loop.error());
  loop_ = std::move(*loop);
  mailbox_ = std::make_unique<Mailbox>([l = loop_.get()] { l->wake(); });
  Status watched = loop_->watch(signals_.get(), EPOLLIN, [this](std::uint32_t) { on_signal(); });
  if (!watched) return watched;
  const auto api_group = find_group(config_.api.group, "api.group");
  if (!api_group) return std::unexpected(api_group.error());
  const auto vm_group = find_group(config_.vfio_user.group, "vfio_user.group");
  if (!vm_group) return std::unexpected(vm_group.error());
  auto host =
      Host::start({.config = config_, .config_file = config_file_, .vm_socket_group = *vm_group},
                  [this] { stopping_ = true; });
  if (!host) return fail(Errc::kIo, with_remedy(host.error()));
  host_ = std::move(*host);
  door_ = std::make_unique<ControlDoor>(*host_, *mailbox_);
  auto api =
      ApiServer::listen(config_.api, {.mode = config_.api.mode, .group = *api_group}, *door_);
  if (!api) return std::unexpected(api.error());
  api_ = std::move(*api);
  return {};
}

void Daemon::serve() {
  while (!stopping_) {
    const Result<int> ran = loop_->poll(std::nullopt);
    if (!ran) {
      log::error("control: {}", ran.error().message);
      return;
    }
    mailbox_->deliver();
    tell_status();
  }
}

void Daemon::tell_status() {
  std::string now = summary();
  if (now == told_) return;
  notifier_.status(now);
  told_ = std::move(now);
}

void Daemon::stop() {
  notifier_.stopping();
  if (const auto attached = host_->attached_vms(); !attached.empty()) {
    log::warn(
        "stopping while VMs are attached; each must be restarted to get its RDMA device "
        "back: {}",
        fmt::join(attached, ", "));
  }
  mailbox_->close();
  mailbox_->deliver();  // answers that the API's threads wait for
  api_.reset();
  door_.reset();
  host_.reset();
  log::info("stopped");
}

void Daemon::on_signal() {
  signalfd_siginfo info{};
  if (::read(signals_.get(), &info, sizeof info) != sizeof info) return;
  if (info.ssi_signo == SIGHUP) {
    reload_log_level();
    return;
  }
  log::info("told to stop by signal {}", info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
  stopping_ = true;
}

void Daemon::reload_log_level() {
  if (config_file_.empty()) return;
  const Result<Config> fresh = load_config(config_file_);
  if (!fresh) {
    log::error("the configuration was not read again: {}", fresh.error().message);
    return;
  }
  spdlog::set_level(spdlog::level::from_str(fresh->log.level));
  log::info("log level is {}; other settings need a restart", fresh->log.level);
}

std::string Daemon::summary() const {
  return fmt::format("{} VM{}", host_->vm_count(), host_->vm_count() == 1 ? "" : "s");
}

}  // namespace paravane::daemon
