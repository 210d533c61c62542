// ClusterService: making and leaving a cluster, and who may join it.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>
#include <utility>

#include "base/endpoint.h"
#include "base/log.h"
#include "cluster/clock.h"
#include "cluster/cluster_refusals.h"
#include "cluster/cluster_service.h"
#include "inventory/users.h"
#include "model/vm.h"
#include "settings/name_of_host.h"

namespace paravane::cluster {

using model::ApiResult;

namespace {

constexpr auto kEtcdStarts = std::chrono::seconds(15);
constexpr const char* kSeeAddress =
    "Set [cluster] address, and restart the daemon; see /usr/share/doc/paravane/docs/cluster.md.";
// For the first answer of the inventory, whose absence is no failure.
constexpr auto kFirstConnection = std::chrono::seconds(3);

// What switches call it, unless another name is asked for.
model::ApiResult<std::string> choose_name(const std::string& asked, const std::string& configured) {
  std::string name = asked.empty() ? settings::host_name(configured) : asked;
  if (model::check_name(name)) return name;
  return model::refuse(model::ApiErrorCode::kInvalidRequest,
                       fmt::format("\"{}\" is not a valid host name", name),
                       "Choose a name of a-z, 0-9, underscore, dot and dash with --name.");
}

// https://192.0.2.1:2379
bool is_good_url(const std::string& url) {
  constexpr std::string_view kScheme = "https://";
  return url.starts_with(kScheme) && Endpoint::parse(url.substr(kScheme.size()));
}

// As many as a token's answer may name (authority/door_message).
constexpr std::size_t kMostUrls = 16;

model::ApiResult<void> check_urls(const std::vector<std::string>& urls) {
  if (urls.empty() || urls.size() > kMostUrls) {
    return model::refuse(model::ApiErrorCode::kInvalidRequest,
                         fmt::format("{} URLs of etcd were given", urls.size()),
                         fmt::format("Give 1 to {} URLs.", kMostUrls));
  }
  const auto odd = std::ranges::find_if_not(urls, is_good_url);
  if (odd == urls.end()) return {};
  return model::refuse(model::ApiErrorCode::kInvalidRequest,
                       fmt::format("{} is not a valid URL of etcd", *odd),
                       "Use the form https://ADDRESS:PORT.");
}

}  // namespace

ClusterAuthority::Config ClusterService::authority_config(const Membership& membership) const {
  return {.paths = paths_,
          .membership = membership,
          .open = open_,
          .lifetime_s = config_.cluster.certificate_lifetime_s,
          .address = config_.cluster.address,
          .write_documents = [this](std::vector<inventory::Write> documents) -> Status {
            if (member_) return member_->write_documents(std::move(documents));
            return fail(Errc::kIo, "the inventory has not been reached yet");
          }};
}

// ---- what both have ----

// Where this host's own listens. Empty: without an address.
std::string ClusterService::own_etcd_url() const {
  const auto at = Endpoint::of(config_.cluster.address, config_.cluster.etcd_port);
  return at ? "https://" + at->print() : std::string();
}

// At once: without it etcd would not be reached, after all the patience with it.
model::ApiResult<void> ClusterService::check_address() const {
  const std::string& address = config_.cluster.address;
  if (address.empty()) {
    return model::refuse(model::ApiErrorCode::kInvalidRequest,
                         "[cluster] address is not set in paravaned.toml", kSeeAddress);
  }
  const auto door = Endpoint::of(address, config_.cluster.door_port);
  const auto listener = dialer_.listen_and_wait(door ? door->print() : address);
  if (listener || listener.error().cause != std::errc::address_not_available) return {};
  return model::refuse(
      model::ApiErrorCode::kInvalidRequest,
      fmt::format("[cluster] address in paravaned.toml is {}, which no NIC of this host "
                  "has",
                  address),
      "Set [cluster] address to an address of this host (as shown by ip address), and restart the "
      "daemon.");
}

// So that the answer to whoever has made this host a member shows how it is among the others.
void ClusterService::await_inventory() {
  const auto shown = [this] {
    const std::shared_ptr<const inventory::View> seen = view();
    if (!member_->state().connected || !seen) return false;
    const auto self = seen->hosts.find(membership_->self.host);
    if (self == seen->hosts.end() || !self->second.info) return false;
    return !authority_ || seen->members.contains(membership_->self.host);
  };
  const auto late = now() + kFirstConnection;
  while (!stopping_) {
    const Instant next = use_inventory();
    if (!member_) return;  // another host has the authority
    if (shown() || now() >= late) return;
    wait(std::min<Instant>(next, late));
  }
}

// ---- init ----

model::ApiResult<model::ClusterStatus> ClusterService::do_init(const model::ClusterInit& init) {
  if (membership_) {
    return model::refuse(
        model::ApiErrorCode::kExists,
        fmt::format("this host is already in cluster {}", membership_->self.cluster),
        "Leave that cluster first with paravane cluster leave.");
  }
  if (auto none = check_no_files(); !none) return std::unexpected(none.error());
  if (auto good = check_address(); !good) return std::unexpected(good.error());
  if (init.etcd) {
    if (auto good = check_urls(init.etcd->urls); !good) return std::unexpected(good.error());
  }
  if (init.etcd && init.etcd->authority.empty()) {
    return model::refuse(model::ApiErrorCode::kInvalidRequest,
                         fmt::format("the CA that signed the certificate of {} was not given",
                                     init.etcd->urls.front()),
                         "Use --etcd-authority to specify the file with the CA's certificate.");
  }
  const auto host = choose_name(init.host, config_.host.name);
  if (!host) return std::unexpected(host.error());
  const auto id = authority::make_secret(16);
  if (!id) return model::refuse(model::ApiErrorCode::kInternal, id.error().message);
  const std::string& address = config_.cluster.address;
  Membership membership{.self = {.cluster = *id, .host = *host},
                        .authority = *host,
                        .door = Endpoint::of(address, config_.cluster.door_port)->print(),
                        .runs_etcd = !init.etcd,
                        .own_etcd_authority = !init.etcd,
                        .etcd = init.etcd ? init.etcd->urls : std::vector{own_etcd_url()},
                        .etcd_user = inventory::host_user(*host),
                        .etcd_password = {}};
  if (auto made = found(init, membership); !made) {
    if (membership.runs_etcd) reach_etcd(privsep::EtcdReach::kOff);
    remove_cluster_directory(paths_);
    return std::unexpected(made.error());
  }
  if (Status in = enter(std::move(membership)); !in) return not_kept(in.error());
  log::info("cluster: cluster {} was created, and host {} is its authority",
            membership_->self.cluster, membership_->self.host);
  warn_of_other_name(membership_->self.host, config_.host.name);
  await_inventory();
  return cluster_status();
}

// The files and what stands in etcd; the membership is kept last, so that what is not
// whole is nothing.
model::ApiResult<void> ClusterService::found(const model::ClusterInit& init,
                                             Membership& membership) {
  if (Status made = make_cluster_directory(paths_); !made) return not_kept(made.error());
  EtcdRoot root;
  auto password = authority::make_secret(32);
  auto root_password = authority::make_secret(32);
  if (!password || !root_password)
    return model::refuse(model::ApiErrorCode::kInternal, "cannot generate random numbers");
  membership.etcd_password = std::move(*password);
  root.password = std::move(*root_password);
  if (init.etcd && !init.etcd->user.empty()) {
    root = {.user = init.etcd->user, .password = init.etcd->password};
  }
  const ClusterAuthority::Config config = authority_config(membership);
  if (Status made = ClusterAuthority::make(config, root, authority::wall_clock()); !made) {
    return not_kept(made.error());
  }
  if (init.etcd) {
    if (Status kept = write_file(paths_.etcd_authority(), init.etcd->authority); !kept) {
      return not_kept(kept.error());
    }
  }
  inventory::EtcdAccess access = etcd_access(paths_, membership);
  access.user = root.user;
  access.password = root.password;
  if (auto ready = prepare_etcd(access, membership); !ready) return ready;
  if (Status kept = save_membership(paths_, membership); !kept) return not_kept(kept.error());
  return {};
}

// Of this host's own: whether it has users, once it answers.
Result<bool> ClusterService::start_etcd(inventory::EtcdClient& anybody, privsep::EtcdReach reach) {
  run_own_etcd(reach);
  Result<bool> closed = anybody.auth_enabled();
  const auto late = now() + kEtcdStarts;
  while (!closed && !stopping_ && now() < late) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    closed = anybody.auth_enabled();
  }
  return closed;
}

model::ApiResult<void> ClusterService::prepare_etcd(const inventory::EtcdAccess& root_access,
                                                    const Membership& membership) {
  inventory::EtcdAccess open_access = root_access;
  open_access.user.clear();
  inventory::EtcdClient anybody(open_access, open_);
  // No other host has a certificate of this authority yet.
  const Result<bool> closed = membership.runs_etcd
                                  ? start_etcd(anybody, privsep::EtcdReach::kCluster)
                                  : anybody.auth_enabled();
  if (!closed) return etcd_failed(closed.error());
  if (!*closed && !membership.runs_etcd) {
    return model::refuse(
        model::ApiErrorCode::kInvalidRequest,
        fmt::format("{} accepts writes without authentication", anybody.endpoint()),
        "Enable authentication (etcdctl auth enable), and use --etcd-user and --etcd-password-file "
        "to specify a user with all rights.");
  }
  if (!*closed) {
    if (Status done = inventory::close_etcd(anybody, root_access.password); !done) {
      return etcd_failed(done.error());
    }
  }
  inventory::EtcdClient root(root_access, open_);
  const auto first =
      root.create(std::string(inventory::kConfigPrefix) + std::string(inventory::kClusterDocument),
                  inventory::print_cluster(membership.self.cluster, membership.authority, {}));
  if (!first) return etcd_failed(first.error());
  if (!*first) {
    return model::refuse(model::ApiErrorCode::kExists,
                         "the given etcd already contains another Paravane cluster",
                         "Join that cluster, or use another etcd.");
  }
  const Status in =
      inventory::admit_host(root, membership.self.host, membership.etcd_password, true);
  if (in) {
    auto brought = bring_network(root, membership.self.host);
    if (brought) return {};
    static_cast<void>(root.erase_prefix(std::string(inventory::kConfigPrefix)));
    return brought;
  }
  static_cast<void>(root.erase_prefix(std::string(inventory::kConfigPrefix)));
  return etcd_failed(in.error());
}

model::ApiResult<void> ClusterService::bring_network(inventory::EtcdClient& etcd,
                                                     const std::string& host) const {
  const model::Network network = network_as(host);
  const std::string config(inventory::kConfigPrefix);
  for (const auto& [name, vds] : network.switches) {
    const Status put =
        etcd.put(config + inventory::switch_document(name), inventory::print_switch(vds));
    if (!put) return etcd_failed(put.error());
  }
  for (const auto& [name, group] : network.port_groups) {
    const Status put =
        etcd.put(config + inventory::port_group_document(name), inventory::print_port_group(group));
    if (!put) return etcd_failed(put.error());
  }
  return {};
}

// What this host has, under the name that it has in a cluster.
model::Network ClusterService::network_as(const std::string& host) const {
  model::Network network = network_;
  for (auto& [name, vds] : network.switches) {
    model::rename_member(vds, network_host_, host);
  }
  return network;
}

// ---- tokens, hosts ----

model::ApiResult<void> ClusterService::need_authority() const {
  if (authority_) return {};
  if (auto whole = check_whole(); !whole) return whole;
  if (!membership_) return no_cluster();
  return model::refuse(model::ApiErrorCode::kDenied, "this host is not the cluster's authority",
                       fmt::format("Run the command on host {}.", membership_->authority));
}

model::ApiResult<model::JoinToken> ClusterService::do_token(const model::TokenRequest& request) {
  if (auto may = need_authority(); !may) return std::unexpected(may.error());
  const auto time = authority::wall_clock();
  auto token =
      authority_->make_token(request.host, time + std::chrono::seconds(request.valid_s), time);
  if (!token) return std::unexpected(token.error());
  return model::JoinToken{std::move(*token), request.host, request.valid_s};
}

model::ApiResult<void> ClusterService::do_remove(const std::string& host) {
  if (auto may = need_authority(); !may) return may;
  if (host == membership_->self.host) {
    return model::refuse(model::ApiErrorCode::kInvalidRequest,
                         "this host is the cluster's authority and cannot be removed",
                         "End the whole cluster with paravane cluster leave.");
  }
  if (!compared_) {
    return model::refuse(model::ApiErrorCode::kClusterAway,
                         "the authority has not compared its records with etcd yet",
                         "See paravane cluster status, and try again.");
  }
  const Status gone = authority_->remove(host);
  if (gone) return {};
  if (gone.error().code == Errc::kNotFound) {
    return model::refuse(model::ApiErrorCode::kNotFound, gone.error().message,
                         "List the hosts with paravane cluster status.");
  }
  return etcd_failed(gone.error());
}

// ---- leave ----

model::ApiResult<void> ClusterService::say_goodbye() {
  const TlsClient client{.identity = paths_.identity(),
                         .accept = [this](const auto& shown) { return accept_authority(shown); }};
  const auto answer = talk_at_door(
      membership_->door, client,
      {.kind = authority::DoorRequest::Kind::kLeave, .token_id = {}, .secret = {}, .request = {}});
  const std::string problem = answer ? answer->problem : answer.error().message;
  if (problem.empty()) return {};
  const bool is_out = answer && answer->refusal == authority::DoorRefusal::kRemoved;
  return model::refuse(
      model::ApiErrorCode::kClusterAway,
      fmt::format("the request to the authority at {} failed: {}", membership_->door, problem),
      is_out ? "Leave with paravane cluster leave --force."
             : "Use --force to leave while the authority still lists this host as a member; then "
               "remove it on the authority's host with paravane cluster remove.");
}

model::ApiResult<void> ClusterService::do_leave(bool force) {
  if (auto whole = check_whole(); !whole && !force) return whole;
  if (!membership_ && left_out()) {
    log::info("cluster: this host deletes its unusable cluster files");
    forget();
    return {};
  }
  if (!membership_) return no_cluster();
  if (authority_ && !authority_->others().empty() && !force) {
    return model::refuse(
        model::ApiErrorCode::kDenied,
        fmt::format("this host is the cluster's authority, and other hosts need it: {}",
                    fmt::join(authority_->others(), ", ")),
        "Let these hosts leave first, or end the cluster at once with --force.");
  }
  if (authority_ && !membership_->runs_etcd && !force) {
    if (auto cleared = clear_etcd(); !cleared) return cleared;
  }
  if (!authority_) {
    // Not while we write there ourselves.
    if (auto gone = say_goodbye(); !gone && !force) return gone;
  }
  log::info("cluster: this host has left cluster {}", membership_->self.cluster);
  forget();
  return {};
}

// What this cluster has left in an etcd that is not ours.
model::ApiResult<void> ClusterService::clear_etcd() {
  const Status cleared = authority_->clear();
  if (cleared) return {};
  return etcd_failed(cleared.error());
}

}  // namespace paravane::cluster
