// ClusterService: joining a cluster with a token.

#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "base/log.h"
#include "cluster/cluster_refusals.h"
#include "cluster/cluster_service.h"
#include "cluster/network_differences.h"
#include "cluster/wall_clocks.h"
#include "inventory/view.h"

namespace paravane::cluster {

using model::ApiErrorCode;
using model::ApiResult;
using model::refuse;

namespace {

constexpr const char* kMakeToken =
    "Create a token on the authority's host with paravane cluster token NAME, and enter all of it.";

// The token says whom to trust, before the secret is told.
TlsClient client_for(const authority::Token& token) {
  return {.identity = {}, .accept = [&token](const ShownCertificates& shown) -> Status {
            for (const std::string& issuer : shown) {
              const auto seen = authority::inspect(issuer);
              if (!seen || seen->fingerprint != token.fingerprint) continue;
              const auto host = authority::inspect(shown.front());
              if (!host || host->identity != token.keeper) continue;
              const auto clock = authority::wall_clock();
              if (authority::is_signed_by(shown.front(), issuer, clock)) return {};
              if (authority::is_signed_by(shown.front(), issuer, host->valid.from)) {
                return fail(Errc::kBadState,
                            fmt::format("this host's clock shows {}, a time at which the "
                                        "certificate of the authority's host is not valid. {}",
                                        print_time(clock), kSetClock));
              }
            }
            return fail(Errc::kBadState,
                        "the host that answered is not the authority that issued the token");
          }};
}

std::unexpected<model::ApiError> authority_away(const authority::Token& token, const Error& error) {
  return refuse(
      ApiErrorCode::kClusterAway,
      fmt::format("the request to the authority at {} failed: {}", token.door, error.message),
      "Check that the authority's daemon runs and that this host can reach it, and join again. The "
      "token is still valid, unless the authority accepted it and only the answer was lost.");
}

}  // namespace

// What can be known to stand in the way is looked at before the token is used: by this host, and
// then by the authority.
model::ApiResult<model::ClusterStatus> ClusterService::do_join(const std::string& text) {
  if (membership_) {
    return model::refuse(
        model::ApiErrorCode::kExists,
        fmt::format("this host is already in cluster {}", membership_->self.cluster),
        "Leave that cluster first with paravane cluster leave.");
  }
  if (auto none = check_no_files(); !none) return std::unexpected(none.error());
  if (auto good = check_address(); !good) return std::unexpected(good.error());
  const auto token = authority::parse_token(text);
  if (!token) return refuse(ApiErrorCode::kInvalidRequest, token.error().message, kMakeToken);
  const auto own = authority::make_request();
  if (!own) return model::refuse(model::ApiErrorCode::kInternal, own.error().message);
  Status kept = make_cluster_directory(paths_);
  if (kept) kept = write_file(paths_.identity(), own->key);
  if (!kept) {
    remove_cluster_directory(paths_);
    return not_kept(kept.error());
  }
  if (auto same = compare_at_door(*token); !same) {
    remove_cluster_directory(paths_);
    return std::unexpected(same.error());
  }
  const auto answer = ask_to_join(*token, own->certificate);
  if (!answer) {
    remove_cluster_directory(paths_);
    return std::unexpected(answer.error());
  }
  const Membership membership{.self = *authority::inspect(answer->certificate)->identity,
                              .authority = token->keeper.host,
                              .door = token->door,
                              .runs_etcd = false,
                              .own_etcd_authority = answer->etcd_authority.empty(),
                              .etcd = answer->etcd,
                              .etcd_user = answer->etcd_user,
                              .etcd_password = answer->etcd_password};
  kept = write_file(paths_.identity(), own->key + answer->certificate);
  if (kept) kept = write_file(paths_.authority(), answer->authority);
  if (kept) kept = write_file(paths_.etcd_authority(), answer->etcd_authority);
  if (kept) {
    if (auto same = check_network(membership); !same) {
      membership_ = membership;
      if (auto gone = say_goodbye(); !gone) log::warn("cluster: {}", gone.error().message);
      forget();
      return std::unexpected(same.error());
    }
    kept = save_membership(paths_, membership);
  }
  if (kept) kept = enter(membership);
  if (!kept) {
    forget();
    return not_kept(kept.error());
  }
  log::info("cluster: this host is now {} in cluster {}", membership.self.host,
            membership.self.cluster);
  warn_of_other_name(membership.self.host, config_.host.name);
  await_inventory();
  return cluster_status();
}

// The authority of an older release does not know the question, and one that refuses the token does
// so again when it is asked to join. What is too long for its door is compared afterwards alone.
model::ApiResult<void> ClusterService::compare_at_door(const authority::Token& token) {
  const model::Network own = without_others(network_, network_host_);
  authority::DoorRequest question{.kind = authority::DoorRequest::Kind::kCompare,
                                  .token_id = token.id,
                                  .secret = token.secret,
                                  .request = {}};
  for (const auto& [name, vds] : own.switches) {
    question.documents[inventory::switch_document(name)] = inventory::print_switch(vds);
  }
  for (const auto& [name, group] : own.port_groups) {
    question.documents[inventory::port_group_document(name)] = inventory::print_port_group(group);
  }
  if (authority::print_request(question).size() > authority::kMaxDoorLine) {
    question.documents.clear();
  }
  const auto answer = ask_door(token.door, client_for(token), question);
  if (!answer && answer.error().code == Errc::kIo) return authority_away(token, answer.error());
  if (!answer) return {};
  const auto clock = authority::wall_clock();
  const authority::Seconds theirs{std::chrono::seconds(answer->clock_s.value_or(0))};
  if (answer->clock_s && are_apart(theirs, clock)) {
    return refuse(
        ApiErrorCode::kDenied,
        fmt::format("this host's clock shows {}, but the clock of the authority's host shows {}",
                    print_time(clock), print_time(theirs)),
        fmt::format("{} The token is still valid.", kSetClock));
  }
  const NetworkDifferences differences{.switches = answer->other_switches,
                                       .port_groups = answer->other_port_groups};
  if (differences.empty()) return {};
  return refuse_differences(differences, "the same token");
}

// The answer, as far as it can be seen to be the authority's and good.
model::ApiResult<authority::DoorAnswer> ClusterService::ask_to_join(const authority::Token& token,
                                                                    const std::string& request) {
  const auto answer = talk_at_door(token.door, client_for(token),
                                   {.kind = authority::DoorRequest::Kind::kJoin,
                                    .token_id = token.id,
                                    .secret = token.secret,
                                    .request = request});
  if (!answer) return authority_away(token, answer.error());
  if (!answer->problem.empty()) return join_refused(token.door, *answer);
  const auto issuer = authority::inspect(answer->authority);
  const auto seen = authority::inspect(answer->certificate);
  const bool good =
      issuer && issuer->fingerprint == token.fingerprint && seen && seen->identity &&
      seen->identity->cluster == token.keeper.cluster && !answer->etcd.empty() &&
      authority::is_signed_by(answer->certificate, answer->authority, authority::wall_clock());
  if (!good) {
    return model::refuse(
        model::ApiErrorCode::kDenied, "the authority's answer is not valid",
        "Check that both hosts run the same version, and that their clocks show the same time.");
  }
  return *answer;
}

// What this host has must be in the cluster as it is, or a name would mean another network
// for its VMs from one moment to the next.
model::ApiResult<void> ClusterService::check_network(const Membership& membership) {
  const model::Network own = network_as(membership.self.host);
  if (own.switches.empty()) return {};
  const inventory::EtcdAccess access = etcd_access(paths_, membership);
  inventory::EtcdClient etcd(access, open_);
  inventory::Records records;
  const auto read =
      etcd.for_each(std::string(inventory::kConfigPrefix),
                    [&](inventory::KeyValue&& pair) { return records.put(std::move(pair)); });
  if (!read) return etcd_failed(read.error());
  const NetworkDifferences differences =
      find_differences(own, records.build()->network, membership.self.host);
  if (differences.empty()) return {};
  return refuse_differences(differences, "a new token, because the current one has been used");
}

}  // namespace paravane::cluster
