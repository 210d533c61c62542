#include "cluster/cluster_service.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/endpoint.h"
#include "base/log.h"
#include "base/version.h"
#include "cluster/clock.h"
#include "model/segment.h"

namespace paravane::cluster {

using inventory::View;
using model::ApiResult;

namespace {

constexpr std::chrono::milliseconds kAnswerLimit{25'000};  // the client gives up after 30 s
constexpr std::size_t kMostReasons = 8;                    // that are logged
constexpr auto kSilenceAgain = std::chrono::seconds(1);
constexpr auto kSettleAgain = std::chrono::seconds(1);

}  // namespace

ClusterService::ClusterService(const settings::Config& config, privsep::Dialer& dialer,
                               std::function<void(privsep::EtcdReach)> run_etcd,
                               Listeners listeners)
    : config_(config),
      paths_(config.state_dir),
      dialer_(dialer),
      run_etcd_(std::move(run_etcd)),
      listeners_(std::move(listeners)),
      open_([this](const std::string& address) { return dialer_.dial_and_wait(address); }),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      mailbox_([this] { ::eventfd_write(wake_.get(), 1); }) {}

ClusterService::~ClusterService() {
  stop();
}

void ClusterService::start() {
  look_at_files();
  thread_ = std::thread([this] { run(); });
}

void ClusterService::stop() {
  stopping_ = true;
  mailbox_.close();
  ::eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

void ClusterService::run() {
  pthread_setname_np(pthread_self(), "cluster");
  while (!stopping_) {
    mailbox_.deliver();
    old_door_.reset();
    Instant next = kNever;
    if (left_out()) {
      if (now() >= next_look_at_files_) look_at_files();
      next = next_look_at_files_;
    }
    if (membership_) {
      const bool renewed =
          certificate_->look(now(), [this](const auto& request) { return sign(request); });
      // The others may refuse the old key as soon as they hear of the new one.
      if (renewed && listeners_.identity) listeners_.identity();
      if (renewed) publish();
      if (renewed && membership_->runs_etcd) trust_new_certificate();
      if (wants_door() && now() >= next_door_) open_door();
      next = std::min(next, certificate_->next_look());
      if (wants_door()) next = std::min(next, next_door_);
    }
    if (member_) next = std::min(next, use_inventory());
    if (wants_door()) next = std::min(next, next_door_);
    if (!mailbox_.waiting()) wait(next);
  }
  mailbox_.deliver();  // whoever waits for an answer
  if (member_ && problem_.empty()) tell_kept(kept_->flush(member_->records(), now()));
  door_.reset();
  member_.reset();
}

Instant ClusterService::use_inventory() {
  if (kept_view_) learn(std::exchange(kept_view_, nullptr));
  if (authority_ && was_succeeded()) return now();
  const Instant next_room = keep_room();  // first: without room nothing can be written
  if (!compare_with_book()) {
    share();
    return next_comparison_;
  }
  Instant next = member_->step(now());
  if (reads_of_succession()) return now();
  next = std::min({next, next_room, watch_etcd(), ask_for_password(), keep_inventory(),
                   await_returning(), tell_predecessor()});
  const Instant next_seek = seek_authority();  // last: it may bring another member
  if (!member_) return now();
  next = std::min(next, next_seek);
  if (authority_) silence_next();
  if (authority_) settle_members();
  if (wants_settling_) next = std::min(next, next_settling_);
  if (!to_silence_.empty()) next = std::min(next, next_silencing_);
  share();
  return next;
}

void ClusterService::wait(Instant until) {
  constexpr Duration kLongest = std::chrono::hours(1);
  const Duration left =
      std::clamp(until == kNever ? kLongest : until - now(), Duration{}, kLongest);
  const auto time = std::chrono::ceil<std::chrono::milliseconds>(left);
  if (member_) {
    member_->wait(time, wake_.get());
  } else {
    pollfd poll{.fd = wake_.get(), .events = POLLIN, .revents = 0};
    ::poll(&poll, 1, until == kNever ? -1 : static_cast<int>(time.count()));
  }
  eventfd_t ignored = 0;
  ::eventfd_read(wake_.get(), &ignored);
}

// ---- what other threads ask ----

std::shared_ptr<const View> ClusterService::view() const {
  const MutexLock lock(mutex_);
  return shared_.view;
}

std::shared_ptr<const View> ClusterService::away_at_start() const {
  const MutexLock lock(mutex_);
  return shared_.away;
}

std::optional<authority::Identity> ClusterService::self() const {
  const MutexLock lock(mutex_);
  return shared_.self;
}

model::ApiResult<void> ClusterService::check_change() const {
  if (auto whole = check_whole(); !whole && !self()) return whole;
  const MutexLock lock(mutex_);
  if (!shared_.self || shared_.state.connected) return {};
  return model::refuse(model::ApiErrorCode::kClusterAway,
                       "the cluster's inventory cannot be reached: " + shared_.state.problem,
                       "Running VMs are not affected. See paravane cluster status, and try again.");
}

model::ApiResult<void> ClusterService::check_document_change() const {
  {
    const MutexLock lock(mutex_);
    if (shared_.self && shared_.self->host != shared_.authority) {
      return model::refuse(model::ApiErrorCode::kDenied,
                           fmt::format("the cluster's switches and port groups can be changed only "
                                       "on host {}, which is its authority",
                                       shared_.authority),
                           fmt::format("Run the same command on host {}.", shared_.authority));
    }
  }
  return check_change();
}

std::set<std::string> ClusterService::members() const {
  const MutexLock lock(mutex_);
  if (!shared_.self || shared_.self->host != shared_.authority) return {};
  std::set<std::string> members = shared_.members;
  members.insert(shared_.self->host);
  return members;
}

std::optional<inventory::GidOwner> ClusterService::mac_owner_elsewhere(
    const model::MacAddress& mac) const {
  const MutexLock lock(mutex_);
  if (!shared_.view || !shared_.self) return std::nullopt;
  const auto found = shared_.view->macs.find(mac);
  if (found == shared_.view->macs.end() || found->second.host == shared_.self->host) {
    return std::nullopt;
  }
  return found->second;
}

void ClusterService::set_adapters(std::map<model::AdapterName, inventory::AdapterInfo> adapters) {
  mailbox_.post([this, all = std::move(adapters)] {
    adapters_ = all;
    publish();
  });
}

void ClusterService::set_channel(const std::string& host, const model::ChannelProblem& problem) {
  const MutexLock lock(mutex_);
  if (!shared_.view || !shared_.view->hosts.contains(host)) return;
  shared_.channels[host] = problem;
}

void ClusterService::set_gids(inventory::AdapterGids gids, inventory::AdapterGids unlinked) {
  mailbox_.post([this, all = std::move(gids), down = std::move(unlinked)] {
    gids_ = all;
    unlinked_ = down;
    publish();
  });
}

void ClusterService::set_place(const model::ChannelPlace& place) {
  mailbox_.post([this, place] {
    place_ = place;
    publish();
  });
}

void ClusterService::set_infiniband(bool has_adapters) {
  mailbox_.post([this, has_adapters] {
    has_infiniband_ = has_adapters;
    publish();
  });
}

bool ClusterService::save_inventory(std::chrono::milliseconds limit) {
  const auto saved = mailbox_.ask(
      [this] {
        if (!member_ || !problem_.empty()) return true;
        const Status kept = kept_->flush(member_->records(), now());
        tell_kept(kept);
        return kept.has_value();
      },
      limit);
  return saved && *saved;
}

void ClusterService::set_network(const std::string& host, const model::Network& network) {
  mailbox_.post([this, host, network] {
    network_host_ = host;
    network_ = network;
  });
}

template <typename Function>
std::invoke_result_t<Function> ClusterService::carry(Function function) {
  auto answer = mailbox_.ask(std::move(function), kAnswerLimit);
  if (answer) return std::move(*answer);
  return model::refuse(model::ApiErrorCode::kBusy, "the cluster service did not answer in time",
                       "Nothing was changed. Try again.");
}

model::ApiResult<void> ClusterService::write_document(const std::string& name,
                                                      const std::optional<std::string>& text) {
  return carry([this, name, text]() -> model::ApiResult<void> {
    if (!member_)
      return model::refuse(model::ApiErrorCode::kNotFound, "this host is not in a cluster");
    const Status written = authority_ ? authority_->write_documents({{.key = name, .value = text}})
                                      : member_->write_document(name, text);
    if (written) return {};
    if (written.error().code == Errc::kBadState) {
      return model::refuse(model::ApiErrorCode::kDenied,
                           "this host is not allowed to change the cluster's configuration",
                           fmt::format("Run the command on host {}.", membership_->authority));
    }
    return model::refuse(model::ApiErrorCode::kClusterAway, written.error().message, "Try again.");
  });
}

model::ApiResult<model::ClusterStatus> ClusterService::init_cluster(
    const model::ClusterInit& init) {
  return carry([this, init] { return do_init(init); });
}
model::ApiResult<model::JoinToken> ClusterService::make_token(const model::TokenRequest& request) {
  return carry([this, request] { return do_token(request); });
}
model::ApiResult<model::ClusterStatus> ClusterService::join_cluster(const std::string& token) {
  return carry([this, token] { return do_join(token); });
}
model::ApiResult<void> ClusterService::leave_cluster(bool force) {
  return carry([this, force] { return do_leave(force); });
}
model::ApiResult<void> ClusterService::remove_host(const std::string& host) {
  return carry([this, host] { return do_remove(host); });
}
model::ApiResult<model::AcceptSummary> ClusterService::inspect_accept() {
  return carry([this] { return weigh_accept(); });
}
model::ApiResult<model::ClusterStatus> ClusterService::accept_inventory() {
  return carry([this] { return do_accept(); });
}
model::ApiResult<model::SealedBackup> ClusterService::back_up_cluster(
    const std::string& passphrase) {
  return carry([this, passphrase] { return do_backup(passphrase); });
}
model::ApiResult<model::BackupSummary> ClusterService::inspect_backup(
    const model::BackupRequest& asked) {
  return carry([this, asked]() -> model::ApiResult<model::BackupSummary> {
    const auto backup = open_backup(asked);
    if (!backup) return std::unexpected(backup.error());
    return summarize(*backup);
  });
}
model::ApiResult<model::ClusterStatus> ClusterService::restore_cluster(
    const model::BackupRequest& asked) {
  return carry([this, asked] { return do_restore(asked); });
}
model::ApiResult<model::ClusterStatus> ClusterService::promote_host(
    const model::BackupRequest& asked) {
  return carry([this, asked] { return do_promote(asked); });
}
model::ApiResult<model::ClusterStatus> ClusterService::cluster_status() {
  ClusterPicture picture;
  {
    const MutexLock lock(mutex_);
    picture = shared_;
  }
  return describe(picture, config_);
}
model::ApiResult<std::vector<model::ClusterAdapter>> ClusterService::cluster_adapters() {
  const MutexLock lock(mutex_);
  if (!shared_.self) {
    return model::refuse(model::ApiErrorCode::kNotFound, "this host is not in a cluster",
                         "List the VMs of this host with: paravane vm list");
  }
  return list_adapters(shared_);
}

// ---- the inventory ----

Status ClusterService::enter(Membership membership) {
  auto certificate = MemberCertificate::load(paths_.identity(), membership.self);
  if (!certificate) return std::unexpected(certificate.error());
  if (membership.runs_etcd) {
    if (Status written = write_own_certificate(paths_); !written) return written;
    if (reach_ == privsep::EtcdReach::kOff) reach_etcd(privsep::EtcdReach::kOwnHost);
  }
  certificate_ = std::move(*certificate);
  kept_.emplace(paths_.inventory());
  auto known = kept_->load();
  if (!known) log::warn("cluster: {}", known.error().message);
  kept_view_ = known ? std::move(*known) : nullptr;
  returning_ = {};
  returning_.on_away();
  next_door_ = now();
  asked_others_ = false;
  is_told_ = false;
  next_telling_ = now();
  membership_ = std::move(membership);
  bool is_new = false;
  {
    const MutexLock lock(mutex_);
    is_new = !shared_.self;
    shared_.view = nullptr;
    shared_.away = kept_->away();
    shared_.self = membership_->self;
    shared_.authority = membership_->authority;
    shared_.etcd = membership_->etcd;
    shared_.succession = succession_ ? read_file(paths_.succession()).value_or("") : std::string();
  }
  if (is_new && listeners_.entered) listeners_.entered();
  inventory::EtcdAccess access = etcd_access(paths_, *membership_);
  access.given_up = &stopping_;
  member_ = std::make_unique<inventory::Member>(
      inventory::MemberConfig{.host = membership_->self.host, .access = std::move(access)}, open_,
      inventory::Member::Events{
          .changed = [this](std::shared_ptr<const View> view) { take_view(std::move(view)); },
          .state = [this](const inventory::MemberState&) { tell_state(); },
          .written =
              [this](const std::string& key, std::size_t bytes) {
                if (authority_) writes_.note(key, bytes, now());
              },
          .lost = [this](const inventory::LostClaim& claim) { tell_lost(claim); }},
      now());
  if (membership_->has_authority()) look_at_authority();
  share();
  publish();
  return {};
}

void ClusterService::share() {
  std::string sees = seen_authority();
  const MutexLock lock(mutex_);
  shared_.sees = std::move(sees);
  shared_.generation = kept_->seen().number;
  shared_.state = state();
  shared_.certificate = certificate_->valid();
  if (authority_) shared_.members = authority_->others();
}

void ClusterService::forget() {
  step_out();
  old_door_.reset();
  succession_.reset();
  remove_cluster_directory(paths_);
  const bool was_damaged = left_out().has_value();
  {
    const MutexLock lock(mutex_);
    shared_ = {};
  }
  if (was_damaged && listeners_.files) listeners_.files({});
  if (listeners_.view) listeners_.view(nullptr);
}

inventory::AdapterGids ClusterService::in_place(const inventory::AdapterGids& gids) const {
  const std::shared_ptr<const View> seen = view();
  inventory::AdapterGids there;
  for (const auto& [gid, id] : gids) {
    const auto adapter = adapters_.find(id);
    if (!seen || adapter == adapters_.end()) continue;
    if (model::segment_number(seen->network, adapter->second.port_group) != gid.segment) continue;
    there.emplace(gid, id);
  }
  return there;
}

void ClusterService::publish() {
  if (!member_ || !place_) return;
  const auto at = Endpoint::parse(place_->endpoint);
  inventory::Said said =
      inventory::say_all({.address = at ? at->address() : config_.cluster.address,
                          .port = at ? at->port() : std::uint16_t{0},
                          .version = kVersion,
                          .closed = at ? std::string() : place_->closed.why,
                          .closed_by = at ? model::ClosedBy{} : place_->closed.by,
                          .key = certificate_->key(),
                          .generation = kept_->seen().number,
                          .mark = kept_->seen().mark,
                          .has_infiniband = has_infiniband_},
                         adapters_, in_place(gids_), in_place(unlinked_));
  if (said.left_out > 0 && !std::exchange(says_too_much_, true)) {
    lost_claims_.warn(
        now(),
        "cluster: this host has more adapters and GIDs than the inventory accepts from a host: {} "
        "of them are unknown to other hosts; lower the GID quotas of its VMs",
        said.left_out);
  }
  says_too_much_ = said.left_out > 0;
  member_->set_own(std::move(said.keys));
}

void ClusterService::learn(std::shared_ptr<const View> view) {
  {
    const MutexLock lock(mutex_);
    shared_.view = view;
    if (view) {
      std::erase_if(shared_.channels,
                    [&](const auto& entry) { return !view->hosts.contains(entry.first); });
    }
  }
  publish();
  wants_settling_ = authority_ != nullptr;
  if (authority_ && view) {
    for (const std::string& host : view->oversized_hosts) {
      if (std::ranges::find(to_silence_, host) == to_silence_.end()) to_silence_.push_back(host);
    }
  }
  if (listeners_.view) listeners_.view(std::move(view));
}

// What a host with too many keys says counts for nothing, but its keys grow old: with
// fewer of them it would have the GIDs that others have claimed since. One at a time,
// since our own lease is kept meanwhile.
void ClusterService::silence_next() {
  if (to_silence_.empty() || now() < next_silencing_) return;
  next_silencing_ = now() + kSilenceAgain;
  const std::string host = std::move(to_silence_.front());
  to_silence_.pop_front();
  const Status done = authority_->silence(host);
  if (done) {
    said_too_much_.warn(now(),
                        "cluster: host {} exceeded its limit of keys in the inventory, and all of "
                        "its keys were deleted",
                        host);
  } else {
    to_silence_.push_back(host);
    said_too_much_.warn(now(),
                        "cluster: host {} exceeded its limit of keys in the inventory, but its "
                        "keys cannot be deleted: {}",
                        host, done.error().message);
  }
}

// Only where something differs is anything written, so this comes to an end.
void ClusterService::settle_members() {
  if (!wants_settling_ || !member_->state().connected || now() < next_settling_) return;
  const std::shared_ptr<const View> seen = view();
  if (!seen) return;
  const Status settled = authority_->settle(*seen);
  wants_settling_ = !settled;
  if (settled) return not_settled_.clear();
  next_settling_ = now() + kSettleAgain;
  not_settled_.warn(now(), "cluster: the members' keys cannot be published to the other hosts: {}",
                    settled.error().message);
}

void ClusterService::tell_state() {
  const inventory::MemberState now_so = state();
  std::string sees = seen_authority();
  {
    const MutexLock lock(mutex_);
    shared_.state = now_so;
    shared_.sees = std::move(sees);
  }
  if (!now_so.connected) returning_.on_away();
  if (listeners_.state) listeners_.state(now_so);
  if (now_so.connected) {
    away_.clear();
    comings_and_goings_.info(now(), "cluster: connected to the inventory");
  } else if (away_.size() < kMostReasons && away_.insert(now_so.problem).second) {
    comings_and_goings_.warn(now(), "cluster: the inventory is unreachable: {}", now_so.problem);
  }
}

void ClusterService::tell_lost(const inventory::LostClaim& claim) {
  lost_claims_.warn(now(), "cluster: the claim {} of this host is not valid: {}", claim.key,
                    claim.reason);
  if (listeners_.lost) listeners_.lost(claim);
}

}  // namespace paravane::cluster
