// ClusterService: etcd that came back older, empty or without users. The authority's book is
// compared with it before other hosts reach it; a host follows nothing that is older than what
// it has followed; one whose user is gone asks the authority for a password.

#include <fmt/core.h>

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/doubled_pause.h"
#include "base/log.h"
#include "cluster/clock.h"
#include "cluster/cluster_refusals.h"
#include "cluster/cluster_service.h"

namespace paravane::cluster {

using inventory::View;
using privsep::EtcdReach;

namespace {

constexpr Duration kCompareFirst = std::chrono::milliseconds(100);  // etcd starts
constexpr Duration kCompareLongest = std::chrono::seconds(1);
constexpr Duration kCompareAgain = std::chrono::seconds(3);  // while it is not connected
constexpr Duration kCompareEvery = std::chrono::hours(1);
constexpr Duration kOwnEtcdStarts = std::chrono::seconds(20);
constexpr Duration kLoginFirst = std::chrono::seconds(6);
constexpr Duration kLoginLongest = std::chrono::minutes(5);

}  // namespace

void ClusterService::reach_etcd(EtcdReach reach) {
  if (membership_ && !membership_->runs_etcd) return;
  run_own_etcd(reach);
}

void ClusterService::run_own_etcd(EtcdReach reach) {
  reach_ = reach;
  run_etcd_(reach);
}

// An etcd that lets in this host alone knows it by the certificate that it had then.
void ClusterService::trust_new_certificate() {
  tell_kept(write_own_certificate(paths_));
  if (compared_) return;
  reach_etcd(EtcdReach::kOff);
  reach_etcd(EtcdReach::kOwnHost);
}

// What the inventory was last, where that was kept; else what the host's store has, which a
// machine that was restored has not, nor one whose rows are damaged. nullopt: it is not said yet.
std::optional<model::Network> ClusterService::known_network() const {
  if (const std::shared_ptr<const View> seen = view(); seen && seen->generation.number != 0) {
    return seen->network;
  }
  if (network_host_.empty()) return std::nullopt;
  return network_as(membership_->self.host);
}

// Of etcd. One of this host's own that does not come back may have lost its data.
std::string ClusterService::describe_away(const std::string& cause) const {
  const bool may_yet_start = now() < member_->state().since + kOwnEtcdStarts;
  if (!membership_->runs_etcd || may_yet_start) return cause;
  return own_etcd_away(cause, paths_.etcd_data());
}

bool ClusterService::compare_with_book() {
  if (!authority_ || compared_) return true;
  if (now() < next_comparison_) return false;
  comparison_pause_ = doubled_pause(comparison_pause_, kCompareFirst, kCompareLongest);
  next_comparison_ = now() + comparison_pause_;
  const auto network = known_network();
  if (!network) return false;
  const Status same = authority_->compare(*network);
  if (same) {
    compared_ = true;
    compared_at_ = now();
    comparison_pause_ = {};
    not_compared_.clear();
    set_problem({});
    reach_etcd(EtcdReach::kCluster);
    return true;
  }
  if (same.error().code == Errc::kIo && member_->state().connected) {
    compared_ = true;  // a look in between that could not be made
    compared_at_ = now();
    return true;
  }
  if (same.error().code == Errc::kIo) {  // etcd is away, or starts
    set_problem(describe_away(same.error().message));
    return false;
  }
  set_problem(same.error().message);
  not_compared_.warn(now(), "cluster: {}", same.error().message);
  return false;
}

// Of the authority's host: an etcd that was lost is another one until it was compared.
Instant ClusterService::watch_etcd() {
  const bool connected = member_->state().connected;
  // It may have been started again for this host alone, since it was compared; and without a book
  // that can be read, this host's own login shows that it has users.
  if (connected && !std::exchange(was_connected_, connected)) reach_etcd(EtcdReach::kCluster);
  was_connected_ = connected;
  if (!authority_) return kNever;
  const Instant again = compared_at_ + (connected ? kCompareEvery : kCompareAgain);
  if (now() < again) return again;
  compared_ = false;
  return now();
}

// A host whose user is gone, or has another password, since etcd is not what it was.
Instant ClusterService::ask_for_password() {
  if (authority_ || !member_->state().login_refused) {
    login_pause_ = {};
    return kNever;
  }
  if (now() < next_login_) return next_login_;
  login_pause_ = doubled_pause(login_pause_, kLoginFirst, kLoginLongest);
  next_login_ = now() + login_pause_;
  const TlsClient client{.identity = paths_.identity(),
                         .accept = [this](const auto& shown) { return accept_authority(shown); }};
  const auto answer = ask_door(
      membership_->door, client,
      {.kind = authority::DoorRequest::Kind::kLogin, .token_id = {}, .secret = {}, .request = {}});
  if (!answer) {
    set_problem(fmt::format("{}; the request to the authority at {} for a new password failed: {}",
                            member_->state().problem, membership_->door, answer.error().message));
    return next_login_;
  }
  if (answer->etcd_user != membership_->etcd_user || answer->etcd_password.empty()) {
    return next_login_;
  }
  set_problem({});
  membership_->etcd_password = answer->etcd_password;
  if (Status kept = save_membership(paths_, *membership_); !kept) {
    not_kept_.warn(now(), "cluster: this host's new password for etcd cannot be saved: {}",
                   kept.error().message);
  }
  comings_and_goings_.info(now(), "cluster: this host has received a new password for etcd");
  member_->set_password(answer->etcd_password);
  return now();
}

void ClusterService::take_view(std::shared_ptr<const View> view) {
  if (!continues(view->generation, kept_->seen())) {
    set_problem(fmt::format(
        "{}; this host keeps its own configuration. On host {}, create what is missing again, and "
        "then make all hosts adopt it with: paravane cluster restore --accept",
        why_not_continued(view->generation, view->revision, kept_->seen()),
        membership_->authority));
    return;
  }
  set_problem({});
  const Status kept = kept_->keep(member_->records(), *view, now());
  tell_kept(kept);
  std::set<std::string> connected;
  std::shared_ptr<const View> known;
  {
    const MutexLock lock(mutex_);
    known = shared_.view;
    for (const auto& [host, channel] : shared_.channels) {
      if (channel.is_open()) connected.insert(host);
    }
  }
  learn(returning_.complete(std::move(view), known.get(), connected, now()));
}

// Those that have not come back to an etcd that was empty.
Instant ClusterService::await_returning() {
  if (returning_.deadline() <= now()) learn(returning_.give_up());
  return returning_.deadline();
}

Instant ClusterService::keep_inventory() {
  if (!problem_.empty()) return kNever;  // what is there now is not what is known
  tell_kept(kept_->step(member_->records(), now()));
  return kept_->next_step();
}

void ClusterService::tell_kept(const Status& kept) {
  if (kept) return;
  not_kept_.warn(now(), "cluster: a file cannot be saved: {}", kept.error().message);
}

// With the inventory, whether it is reached or not.
void ClusterService::set_problem(std::string problem) {
  if (problem == problem_) return;
  problem_ = std::move(problem);
  tell_state();
}

inventory::MemberState ClusterService::state() const {
  inventory::MemberState state = member_->state();
  if (problem_.empty()) return state;
  state.connected = false;
  state.problem = problem_;
  return state;
}

}  // namespace paravane::cluster
