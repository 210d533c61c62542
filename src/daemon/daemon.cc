#include "daemon/daemon.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/epoll.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/memory_shortage.h"
#include "base/signals.h"
#include "base/version.h"
#include "daemon/logging.h"
#include "daemon/memory_releaser.h"
#include "daemon/sandbox.h"
#include "guestmem/memory_failure.h"
#include "privsep/roce_port_note.h"
#include "privsep/uplink_note.h"
#include "transport/hca/verbs_device.h"

namespace paravane::daemon {
namespace {

std::string make_boot_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

constexpr auto kMemoryPause = std::chrono::milliseconds(100);
constexpr Duration kSettleAgain = std::chrono::seconds(1);
// While there is no RDMA adapter to use, and while there is one: a look takes the keeper's time.
constexpr Duration kLookForHca = std::chrono::seconds(3);
constexpr Duration kLookAtHca = std::chrono::seconds(30);

// A client that waits for an event occupies one of the API's threads: at least half stay free.
std::size_t most_waiters(unsigned threads) {
  return threads / 2;
}

}  // namespace

std::string Daemon::with_remedy(const model::ApiError& error) {
  return error.remedy.empty() ? error.message : error.message + ". " + error.remedy;
}

Daemon::Daemon(settings::Config config, std::string config_file, settings::EngineAccount account,
               Lines lines)
    : config_(std::move(config)),
      config_file_(std::move(config_file)),
      account_(account),
      events_(make_boot_id(), {.waiters = most_waiters(config_.api.threads)}),
      keeper_(std::move(lines.keeper)),
      switches_(keeper_,
                [this](privsep::ProcessLink::NoteWithSocket received) {
                  take_note(std::move(received));
                }),
      machine_(keeper_,
               [this](privsep::ProcessLink::NoteWithSocket received) {
                 take_note(std::move(received));
               }),
      estate_(std::move(lines.estate)),
      crash_(std::move(lines.crash)),
      crash_from_outside_(lines.crash_from_outside),
      dialer_([this](const privsep::Note& note) { keeper_.send(note); }) {
  if (lines.holder) kept_.emplace(std::move(lines.holder));
}

ExitStatus Daemon::run() {
  const bool is_heir = static_cast<bool>(estate_);
  if (const Status started = is_heir ? take_over(std::move(estate_)) : start(); !started) {
    log::error("cannot start: {}", started.error().message);
    return ExitStatus::kFailed;
  }
  log::info("paravaned {} is ready: {}, api at {}", kVersion, summary(),
            config_.api.socket.string());
  metrics_port_.emplace(config_.metrics.listen, dialer_, *metrics_);
  told_ = summary();
  keeper_.send({.kind = privsep::Note::Kind::kReady, .text = told_});
  serve();
  stop();
  return ExitStatus::kOk;
}

Status Daemon::start() {
  events_.add({.type = "daemon.started",
               .fields = {{"version", kVersion}},
               .text = fmt::format("paravaned {} started", kVersion)});
  if (Status ready = prepare(); !ready) return ready;
  auto host = host::Host::start(host_config(), [this] { stopping_ = true; });
  if (!host) return fail(Errc::kIo, with_remedy(host.error()));
  host_ = std::move(*host);
  host_->set_keeper({.version = kVersion});  // it has split this engine off
  if (Status made = make_fabric(); !made) return made;
  return begin({});
}

Status Daemon::prepare() {
  keep_memory_reserve();
  if (Status ready = install_memory_failure_handler(); !ready) return ready;
  if (Status ready = start_control(); !ready) return ready;
  inventory::prepare_curl();
  make_cluster();
  return {};
}

host::HostConfig Daemon::host_config() {
  return {.config = config_,
          .config_file = config_file_,
          .kept = kept_ ? &*kept_ : nullptr,
          .vm_socket_group = account_.vm_group,
          .umad_group = account_.umad_group,
          .switches = &switches_,
          .machine = &machine_,
          .post = [this](std::function<void()> act) { mailbox_->post(std::move(act)); },
          .cluster = cluster_.get(),
          .events = &events_,
          .on_upgrade =
              [this](bool only_check) {
                only_check_ = only_check;
                return keeper_.send(
                    {.kind = privsep::Note::Kind::kUpgrade, .text = only_check ? "check" : ""});
              }};
}

Status Daemon::begin(UniqueFd api_listener) {
  cluster_->start();
  on_view(nullptr);  // nothing is known yet except this host's name
  if (Status open = open_doors(std::move(api_listener)); !open) return open;
  return close_sandbox(config_.sandbox);
}

Status Daemon::open_doors(UniqueFd listener) {
  door_ = std::make_unique<ClusterDoor>(*host_, *mailbox_, *cluster_);
  carrier_.emplace(*host_, *mailbox_);
  metrics_.emplace(metrics::MetricsParts{.source = *carrier_,
                                         .cluster = *cluster_,
                                         .events = events_,
                                         .requests = requests_,
                                         .turns = host_->worker().turn_state()});
  handler_.emplace(*door_, cluster_.get(), &events_);
  observed_.emplace(*handler_, *metrics_, requests_);
  auto api = listener ? http::ApiServer::take_over(config_.api, std::move(listener), *observed_)
                      : http::ApiServer::listen(
                            config_.api, {.mode = config_.api.mode, .group = account_.api_group},
                            *observed_);
  if (!api) return std::unexpected(api.error());
  api_ = std::move(*api);
  if (kept_) kept_->keep_file(host::kApiParcel, api_->door().listener());
  return {};
}

void Daemon::on_inventory(const inventory::MemberState& state) {
  if (state.connecting) return;
  if (std::exchange(inventory_told_, state.connected) == state.connected) return;
  if (state.connected) {
    events_.add({.type = "cluster.connected", .text = "the cluster's inventory is reachable"});
    return;
  }
  events_.add({.type = "cluster.disconnected",
               .severity = model::Severity::kWarning,
               .fields = {{"reason", state.problem}},
               .text = "the cluster's inventory is unreachable: " + state.problem});
}

void Daemon::on_cluster_files(const std::string& damage) {
  if (damage.empty()) {
    events_.add({.type = "cluster.whole", .text = "the cluster's files are intact again"});
    return;
  }
  events_.add({.type = "cluster.damaged",
               .severity = model::Severity::kError,
               .fields = {{"reason", damage}},
               .text = "files of the cluster are unusable: " + damage});
}

// A service that is not started yet.
void Daemon::make_cluster() {
  cluster_ = std::make_unique<cluster::ClusterService>(
      config_, dialer_,
      [this](privsep::EtcdReach reach) {
        keeper_.send({.kind = privsep::Note::Kind::kEtcd, .text = std::string(to_string(reach))});
      },
      cluster::ClusterService::Listeners{
          .view =
              [this](const std::shared_ptr<const inventory::View>& view) {
                mailbox_->post([this, view] {
                  if (fabric_) on_view(view);
                });
              },
          .entered =
              [this] {
                mailbox_->post([this] {
                  if (fabric_) fabric_->on_view(nullptr);
                });
              },
          .lost = {},
          .state = [this](const inventory::MemberState& state) { on_inventory(state); },
          .identity =
              [this] {
                mailbox_->post([this] {
                  if (fabric_) fabric_->on_identity();
                });
              },
          .files = [this](const std::string& damage) { on_cluster_files(damage); }});
}

Status Daemon::make_fabric() {
  const auto open_adapter = [](const transport_hca::TrunkAdapter& adapter) {
    end_memory_releaser();
    return transport_hca::VerbsDevice::open(adapter);
  };
  auto trunks = TrunkFabric::start(config_.channel, open_adapter, host_->worker(), host_->ports());
  if (!trunks) return std::unexpected(trunks.error());
  trunks_ = std::move(*trunks);
  fabric_ = std::make_unique<ClusterFabric>(
      config_,
      ClusterFabric::Parts{
          .worker = host_->worker(),
          .cluster = *cluster_,
          .dialer = dialer_,
          .post = [this](std::function<void()> act) { mailbox_->post(std::move(act)); },
          .hca = [this](const host::HcaChoice& choice) { trunks_->set_hca(choice); },
          .hca_memory = [this] { return trunks_->memory(); },
          .tell = [this](model::Event event) { events_.add(std::move(event)); },
          .cables =
              {.set_hosts =
                   [this](const std::string& self, std::set<std::string> hosts) {
                     host_->cables().set_hosts(self, std::move(hosts));
                   },
               .add =
                   [this](const std::shared_ptr<cluster::MadeCable>& made) {
                     host_->cables().add(made->host, made->number, std::move(made->stream));
                   },
               .set_problem =
                   [this](const std::string& host, const std::string& problem) {
                     host_->cables().set_problem(host, problem);
                   },
               .cut = [this](const std::string& host,
                             const std::string& reason) { host_->cables().cut(host, reason); },
               .cut_all = [this](const std::string& reason) { host_->cables().cut_all(reason); }}},
      host_->ports());
  host_->set_channels(fabric_.get());
  return {};
}

void Daemon::on_view(const std::shared_ptr<const inventory::View>& view) {
  host_->on_view(view);
  fabric_->on_view(view);
}

Status Daemon::start_control() {
  auto loop = EventLoop::create();
  if (!loop) return std::unexpected(loop.error());
  loop_ = std::move(*loop);
  mailbox_ = std::make_unique<Mailbox>([l = loop_.get()] { l->wake(); });
  auto signals = open_signals({SIGTERM, SIGINT});
  if (!signals) return std::unexpected(signals.error());
  signals_ = std::move(*signals);
  Status watched = loop_->watch(signals_.get(), EPOLLIN, [this](std::uint32_t) { on_signal(); });
  if (!watched) return watched;
  return loop_->watch(keeper_.fd(), EPOLLIN, [this](std::uint32_t) { on_note(); });
}

void Daemon::serve() {
  while (!stopping_) {
    if (runs_in_memory([this] { serve_some(); })) continue;
    host_->unsettle();
    std::this_thread::sleep_for(kMemoryPause);
  }
}

void Daemon::serve_some() {
  const Instant now = std::chrono::steady_clock::now();
  metrics_port_->try_if_due(now);
  Instant next = metrics_port_->next_try();
  if (host_->is_unsettled()) next = std::min(next, now + kSettleAgain);
  next = std::min(next, look_for_hca(now));
  const auto wait = next == kNever ? std::nullopt : std::optional(std::max(next - now, Duration{}));
  if (const Result<int> ran = loop_->poll(wait); !ran) {
    log::error("control: {}", ran.error().message);
    stopping_ = true;
    return;
  }
  if (mailbox_->deliver() > 0) host_->unsettle();
  host_->settle();
  if (demand_) hand_over();
  tell_memory();
  tell_status();
}

// Its NIC may have become the uplink, or have been plugged in. Returns when to look again.
Instant Daemon::look_for_hca(Instant now) {
  if (!may_use_hca(config_)) return kNever;
  if (now >= next_hca_look_) {
    host_->look_for_hca();
    next_hca_look_ = now + (trunks_->has_hca() ? kLookAtHca : kLookForHca);
  }
  return next_hca_look_;
}

void Daemon::tell_memory() {
  const std::uint64_t uses = memory_reserve_uses();
  if (uses == memory_uses_) return;
  memory_uses_ = uses;
  memory_log_.error(std::chrono::steady_clock::now(),
                    "paravaned ran out of memory and is using its reserve; requests are refused "
                    "until the reserve is refilled. Free memory on this host (paravane vm list; "
                    "/proc/meminfo), or raise the unit's limit");
}

void Daemon::tell_status() {
  std::string now = summary();
  if (now == told_) return;
  keeper_.send({.kind = privsep::Note::Kind::kStatus, .text = now});
  told_ = std::move(now);
}

void Daemon::stop() {
  keeper_.send({.kind = privsep::Note::Kind::kStopping, .text = {}});
  if (const auto attached = host_->attached_vms(); !attached.empty()) {
    log::warn("stopping while VMs are attached; restart each to restore its RDMA device: {}",
              fmt::join(attached, ", "));
  }
  events_.add({.type = "daemon.stopping", .text = "paravaned ends"});
  events_.close();
  mailbox_->close();
  mailbox_->deliver();  // answers that the API's threads wait for
  metrics_port_->close();
  dialer_.close();
  cluster_->stop();
  metrics_port_.reset();
  api_.reset();
  door_.reset();
  host_->set_channels(nullptr);
  fabric_.reset();
  trunks_.reset();
  host_.reset();
  log::info("stopped");
}

void Daemon::on_signal() {
  const std::optional<int> number = next_signal(signals_);
  if (!number) return;
  log::info("received signal {}, stopping", *number == SIGINT ? "SIGINT" : "SIGTERM");
  stopping_ = true;
}

void Daemon::on_note() {
  auto received = keeper_.receive_with_socket();
  if (!received) {
    stopping_ = true;  // without the keeper we are ended anyway
    return;
  }
  if (*received) take_note(std::move(**received));
}

void Daemon::take_note(privsep::ProcessLink::NoteWithSocket received) {
  const privsep::Note& note = received.note;
  if (note.kind == privsep::Note::Kind::kSocket)
    dialer_.on_answer(note.text, std::move(received.socket));
  if (note.kind == privsep::Note::Kind::kSwitchNews) on_switch_news(note.text);
  if (note.kind == privsep::Note::Kind::kRocePort) {
    on_roce_port(note.text, std::move(received.socket));
  }
  if (note.kind == privsep::Note::Kind::kUplinkTap) {
    on_uplink_tap(note.text, std::move(received.socket));
  }
  if (note.kind == privsep::Note::Kind::kResume && host_) end_upgrade(note.text);
  if (note.kind == privsep::Note::Kind::kHolder && kept_ && host_) {
    kept_->change_holder(std::move(received.socket));
    if (api_) kept_->keep_file(host::kApiParcel, api_->door().listener());  // or when it is opened
    host_->keep_all();
  }
  if (note.kind == privsep::Note::Kind::kTellTurns && host_) tell_turns(note.text);
  if (note.kind == privsep::Note::Kind::kKeeper && host_) on_keeper(note.text);
  // Later: a request may be under way, which waits for the keeper in between.
  if (note.kind == privsep::Note::Kind::kHandOver) {
    demand_ = {.heir = note.text, .line = std::move(received.socket)};
  }
  if (note.kind != privsep::Note::Kind::kLogLevel) return;
  set_log_level(note.text);
  log::info("log level set to {}; other settings require a restart", note.text);
  events_.add({.type = "settings.changed",
               .fields = {{"log_level", note.text}},
               .text = fmt::format("configuration reloaded; log level is {}", note.text)});
}

// Later, as below.
void Daemon::on_roce_port(const std::string& text, UniqueFd tap) {
  const auto port = privsep::parse_roce_port_note(text);
  if (!port || !tap) return log::warn("keeper: not a RoCE port: {}", text);
  mailbox_->post([this, port = *port, shared = std::make_shared<UniqueFd>(std::move(tap))] {
    if (host_) host_->open_roce(port, std::move(*shared));
  });
}

// Later, as above.
void Daemon::on_uplink_tap(const std::string& text, UniqueFd tap) {
  const auto uplink = privsep::parse_uplink_note(text);
  if (!uplink || !tap) return log::warn("keeper: not a tap of an IPoIB uplink: {}", text);
  mailbox_->post([this, uplink = *uplink, shared = std::make_shared<UniqueFd>(std::move(tap))] {
    if (host_) host_->open_uplink(uplink, std::move(*shared));
  });
}

// Later, since a change may be under way whose answer from the keeper is waited for.
void Daemon::on_switch_news(const std::string& text) {
  mailbox_->post([this, text] {
    if (!host_) return;
    auto news = switches_.read_news(text);
    if (news) {
      host_->on_switch_news(std::move(*news));
    } else {
      log::error("invalid switch report from the privileged process: {}", news.error().message);
    }
  });
}

// From the worker's own thread: nothing that this one waits for keeps the sign back.
void Daemon::tell_turns(const std::string& text) {
  std::uint64_t every = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), every);
  if (read.ec != std::errc() || every == 0) return log::warn("keeper: not an interval: {}", text);
  host_->worker().tell_turns(std::chrono::microseconds(every), [this] {
    keeper_.send({.kind = privsep::Note::Kind::kTurns, .text = {}});
  });
}

void Daemon::on_keeper(const std::string& text) {
  const std::size_t blank = text.find(' ');
  model::KeeperStatus keeper{.version = text.substr(0, blank)};
  if (blank != std::string::npos) keeper.cause = text.substr(blank + 1);
  host_->set_keeper(std::move(keeper));
}

std::string Daemon::summary() const {
  return fmt::format("{} VM{}", host_->vm_count(), host_->vm_count() == 1 ? "" : "s");
}

}  // namespace paravane::daemon
