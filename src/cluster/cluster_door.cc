// ClusterService: a host's door, from both sides: what this host asks at the authority's door, and
// what other hosts ask here. A member's door tells them which host has the authority, and takes the
// proof of a promotion; it does nothing else.

#include <chrono>
#include <optional>
#include <utility>

#include "base/endpoint.h"
#include "cluster/clock.h"
#include "cluster/cluster_service.h"

namespace paravane::cluster {
namespace {

constexpr auto kDoorAgain = std::chrono::seconds(5);

}  // namespace

Result<authority::DoorAnswer> ClusterService::talk_at_door(const std::string& door,
                                                           const TlsClient& client,
                                                           const authority::DoorRequest& request) {
  const auto socket = dialer_.dial_and_wait(door);
  if (!socket) return std::unexpected(socket.error());
  const auto line = exchange_line(*socket, client, authority::print_request(request));
  if (!line) return std::unexpected(line.error());
  return authority::parse_answer(*line);
}

Result<authority::DoorAnswer> ClusterService::ask_door(const std::string& door,
                                                       const TlsClient& client,
                                                       const authority::DoorRequest& request) {
  auto answer = talk_at_door(door, client, request);
  if (answer && !answer->problem.empty()) return fail(Errc::kBadState, answer->problem);
  return answer;
}

// That it is the authority's host, by the authority's signature.
Status ClusterService::accept_authority(const ShownCertificates& shown) const {
  const auto known = read_file(paths_.authority());
  if (!known) return std::unexpected(known.error());
  const auto time = authority::wall_clock();
  const authority::Identity keeper{membership_->self.cluster, membership_->authority};
  const bool good = !shown.empty() && authority::is_signed_by(shown.front(), *known, time) &&
                    authority::inspect(shown.front())->identity == keeper;
  if (good) return {};
  return fail(Errc::kBadState, "the host that answered is not the cluster's authority");
}

Status ClusterService::accept_host(const ShownCertificates& shown,
                                   const std::optional<authority::Identity>& whom) const {
  const auto known = read_file(paths_.authority());
  if (!known) return std::unexpected(known.error());
  const bool is_signed =
      !shown.empty() && authority::is_signed_by(shown.front(), *known, authority::wall_clock());
  const auto seen = is_signed ? authority::inspect(shown.front()) : authority::Certificate{};
  if (seen && seen->identity && (!whom || seen->identity == whom)) return {};
  return fail(Errc::kBadState, "the host that answered is not the expected host of the cluster");
}

Result<std::string> ClusterService::sign(const std::string& request) {
  if (authority_) {
    const auto time = authority::wall_clock();
    return authority_->renew_own(certificate_->key(), certificate_->valid(), request, time);
  }
  const TlsClient client{.identity = paths_.identity(),
                         .accept = [this](const auto& shown) { return accept_authority(shown); }};
  auto answer = ask_door(membership_->door, client,
                         {.kind = authority::DoorRequest::Kind::kRenew,
                          .token_id = {},
                          .secret = {},
                          .request = request});
  if (!answer) return std::unexpected(answer.error());
  return std::move(answer->certificate);
}

// The authority's once it has asked the others; without a book that can be read it has none.
bool ClusterService::wants_door() const {
  if (!membership_ || door_) return false;
  if (authority_) return asked_others_;
  return !membership_->has_authority() && !config_.cluster.address.empty();
}

void ClusterService::open_door() {
  next_door_ = now() + kDoorAgain;
  const auto own = Endpoint::of(config_.cluster.address, config_.cluster.door_port);
  auto listener = dialer_.listen_and_wait(authority_ || !own ? membership_->door : own->print());
  if (!listener) {
    no_door_.error(now(), "cluster: no host can {}: {}",
                   authority_ ? "join" : "ask this host which host is the authority",
                   listener.error().message);
    return;
  }
  no_door_.clear();
  door_ = std::make_unique<JoinDoor>(
      std::move(*listener), TlsServer{.identity = paths_.identity(),
                                      .authority = paths_.authority(),
                                      .answer = [this](const auto& peer, const std::string& line) {
                                        return answer_at_door(peer, line);
                                      }});
}

// The door's thread.
std::string ClusterService::answer_at_door(const std::optional<authority::Peer>& peer,
                                           const std::string& line) {
  authority::DoorAnswer refusal;
  refusal.problem = "the authority is busy";
  refusal.refusal = authority::DoorRefusal::kBusy;
  const auto request = authority::parse_request(line);
  if (!request) {
    refusal = {.problem = request.error().message};
    return authority::print_answer(refusal);
  }
  if (request->kind == authority::DoorRequest::Kind::kAuthority && peer) {
    return authority::print_answer(answer_of_authority().value_or(refusal));
  }
  const auto answer = mailbox_.ask(
      [this, peer, asked = *request]() -> std::optional<authority::DoorAnswer> {
        if (!membership_) return std::nullopt;
        using Kind = authority::DoorRequest::Kind;
        if (asked.kind == Kind::kSucceeded) return hear_succession(asked.succession);
        // What is counted before would hide that the book, or etcd, is from a copy.
        if (!authority_ || !compared_) return std::nullopt;
        const auto time = authority::wall_clock();
        return authority_->answer(peer, asked, time);
      },
      kTlsPatience);
  return authority::print_answer(answer && *answer ? **answer : refusal);
}

}  // namespace paravane::cluster
