#include "daemon/cluster_authority.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"
#include "control/json_reader.h"
#include "control/vm_json.h"
#include "inventory/keys.h"
#include "inventory/users.h"

namespace paravane::daemon {

using authority::DoorAnswer;
using authority::DoorRequest;
using authority::Seconds;
using nlohmann::json;

namespace {

constexpr std::size_t kPasswordBytes = 32;
constexpr std::chrono::minutes kClockSkew{5};

DoorAnswer refusal(std::string problem) {
  DoorAnswer answer;
  answer.problem = std::move(problem);
  return answer;
}

Status write_book(const ClusterPaths& paths, const EtcdRoot& root, const authority::TokenBook& book,
                  const std::set<std::string>& hosts) {
  const json value = {{"etcd_user", root.user},
                      {"etcd_password", root.password},
                      {"hosts", hosts},
                      {"tokens", book.print()}};
  return write_file(paths.book(), value.dump(1) + "\n");
}

Result<std::string> sign_for(const authority::KeyPair& keys, const ClusterAuthority::Config& config,
                             const std::string& request, const std::string& host, Seconds now) {
  const std::string cluster = config.membership.self.cluster;
  return authority::sign(keys, request,
                         {.identity = {.cluster = cluster, .host = host},
                          .address = host == config.membership.authority ? config.address : "",
                          .from = now - kClockSkew,
                          .until = now + std::chrono::seconds(config.lifetime_s)});
}

}  // namespace

inventory::EtcdAccess etcd_access(const ClusterPaths& paths, const Membership& membership) {
  return {.endpoints = membership.etcd,
          .authority = membership.own_etcd_authority ? paths.authority() : paths.etcd_authority(),
          .identity = membership.own_etcd_authority ? paths.identity() : std::filesystem::path(),
          .user = membership.etcd_user,
          .password = membership.etcd_password};
}

Status ClusterAuthority::make(const Config& config, const EtcdRoot& root, Seconds now) {
  const auto keys = authority::make_authority(config.membership.self.cluster, now);
  if (!keys) return std::unexpected(keys.error());
  const auto own = authority::make_request();
  if (!own) return std::unexpected(own.error());
  const auto certificate =
      sign_for(*keys, config, own->certificate, config.membership.self.host, now);
  if (!certificate) return std::unexpected(certificate.error());
  const ClusterPaths& paths = config.paths;
  for (const auto& [file, text] : {std::pair(paths.authority_key(), keys->key),
                                   std::pair(paths.authority(), keys->certificate),
                                   std::pair(paths.identity(), own->key + *certificate)}) {
    if (Status written = write_file(file, text); !written) return written;
  }
  return write_book(paths, root, {}, {});
}

Result<std::unique_ptr<ClusterAuthority>> ClusterAuthority::load(Config config) {
  std::unique_ptr<ClusterAuthority> self(new ClusterAuthority(std::move(config)));
  const ClusterPaths& paths = self->config_.paths;
  auto key = read_file(paths.authority_key());
  auto certificate = read_file(paths.authority());
  const auto book = read_file(paths.book());
  if (!key) return std::unexpected(key.error());
  if (!certificate) return std::unexpected(certificate.error());
  if (!book) return std::unexpected(book.error());
  const auto seen = authority::inspect(*certificate);
  if (!seen) return std::unexpected(seen.error());
  self->fingerprint_ = seen->fingerprint;
  self->keys_ = {.key = std::move(*key), .certificate = std::move(*certificate)};
  const auto value = control::parse_json(*book);
  if (!value || !value->is_object()) {
    return fail(Errc::kInvalidArgument, paths.book().string() + " is damaged");
  }
  control::JsonReader reader(*value, "authority");
  self->root_ = {.user = reader.need_text("etcd_user"),
                 .password = reader.need_text("etcd_password")};
  const json* hosts = reader.array("hosts");
  const json* tokens = reader.array("tokens");
  auto parsed = authority::TokenBook::parse(tokens == nullptr ? json() : *tokens);
  if (!reader.finish() || hosts == nullptr || !parsed) {
    return fail(Errc::kInvalidArgument, paths.book().string() + " is damaged");
  }
  self->book_ = std::move(*parsed);
  for (const json& host : *hosts) {
    if (host.is_string()) self->hosts_.insert(host.get<std::string>());
  }
  return self;
}

Status ClusterAuthority::save() const {
  return write_book(config_.paths, root_, book_, hosts_);
}

inventory::EtcdAccess ClusterAuthority::root_access() const {
  inventory::EtcdAccess access = etcd_access(config_.paths, config_.membership);
  access.user = root_.user;
  access.password = root_.password;
  return access;
}

Result<std::string> ClusterAuthority::make_token(const std::string& host, Seconds until,
                                                 Seconds now) {
  if (hosts_.contains(host) || host == config_.membership.self.host) {
    return fail(Errc::kBadState, fmt::format("host {} is a member already", host));
  }
  const auto made = book_.make(host, until, now);
  if (!made) return std::unexpected(made.error());
  if (Status saved = save(); !saved) return std::unexpected(saved.error());
  return authority::print_token({.door = config_.membership.door,
                                 .fingerprint = fingerprint_,
                                 .keeper = config_.membership.self,
                                 .id = made->id,
                                 .secret = made->secret});
}

DoorAnswer ClusterAuthority::answer(const std::optional<authority::Identity>& peer,
                                    const DoorRequest& request, Seconds now) {
  if (request.kind == DoorRequest::Kind::kJoin) return join(request, now);
  if (!peer) return refusal("a certificate of this cluster must be shown");
  if (peer->cluster != config_.membership.self.cluster || !hosts_.contains(peer->host)) {
    return refusal(fmt::format("host {} is no member any more", peer->host));
  }
  if (request.kind == DoorRequest::Kind::kLeave) return dismiss(peer->host);
  return renew(peer->host, request.request, now);
}

DoorAnswer ClusterAuthority::join(const DoorRequest& request, Seconds now) {
  const auto host = book_.check(request.token_id, request.secret, now);
  if (!host) {
    if (const auto kept_back = refused_joins_.allow(std::chrono::steady_clock::now())) {
      log::warn("cluster: a join was refused: {}{}", host.error().message,
                kept_back_note(*kept_back));
    }
    return refusal(host.error().message);
  }
  DoorAnswer answer = renew(*host, request.request, now);
  if (!answer.problem.empty()) return answer;
  auto password = authority::make_secret(kPasswordBytes);
  if (!password) return refusal(password.error().message);
  const inventory::EtcdAccess access = root_access();
  inventory::EtcdClient root(access, config_.open);
  if (Status in = inventory::admit_host(root, *host, *password, false); !in) {
    log::error("cluster: host {} cannot be let in: {}", *host, in.error().message);
    return refusal("the authority cannot reach etcd now; try again");
  }
  book_.burn(request.token_id);
  hosts_.insert(*host);
  if (Status saved = save(); !saved) return refusal(saved.error().message);
  log::info("cluster: host {} has joined", *host);
  answer.etcd = config_.membership.etcd;
  answer.etcd_user = inventory::host_user(*host);
  answer.etcd_password = std::move(*password);
  if (!config_.membership.own_etcd_authority) {
    answer.etcd_authority = read_file(config_.paths.etcd_authority()).value_or("");
  }
  return answer;
}

Result<std::string> ClusterAuthority::sign(const std::string& request, const std::string& host,
                                           Seconds now) const {
  return sign_for(keys_, config_, request, host, now);
}

DoorAnswer ClusterAuthority::renew(const std::string& host, const std::string& request,
                                   Seconds now) const {
  auto certificate = sign(request, host, now);
  if (!certificate) return refusal(certificate.error().message);
  DoorAnswer answer;
  answer.host = host;
  answer.certificate = std::move(*certificate);
  answer.authority = keys_.certificate;
  return answer;
}

DoorAnswer ClusterAuthority::dismiss(const std::string& host) {
  if (Status gone = remove(host); !gone) return refusal(gone.error().message);
  DoorAnswer answer;
  answer.host = host;
  return answer;
}

Status ClusterAuthority::remove(const std::string& host) {
  if (!hosts_.contains(host)) {
    return fail(Errc::kNotFound, fmt::format("host {} is no member of the cluster", host));
  }
  const inventory::EtcdAccess access = root_access();
  inventory::EtcdClient root(access, config_.open);
  if (Status gone = inventory::dismiss_host(root, host); !gone) return gone;
  hosts_.erase(host);
  log::info("cluster: host {} has left", host);
  return save();
}

Status ClusterAuthority::silence(const std::string& host) {
  const inventory::EtcdAccess access = root_access();
  inventory::EtcdClient root(access, config_.open);
  return root.erase_prefix(inventory::host_prefix(host));
}

Status ClusterAuthority::clear() {
  const inventory::EtcdAccess access = root_access();
  inventory::EtcdClient root(access, config_.open);
  const Status gone = inventory::dismiss_host(root, config_.membership.self.host);
  return gone ? root.erase_prefix(std::string(inventory::kRoot)) : gone;
}

}  // namespace paravane::daemon
