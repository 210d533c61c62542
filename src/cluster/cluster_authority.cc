#include "cluster/cluster_authority.h"

#include <fmt/core.h>

#include <chrono>
#include <string_view>
#include <utility>

#include "authority/damage_check.h"
#include "authority/succession.h"
#include "base/log.h"
#include "cluster/cluster_refusals.h"
#include "cluster/member_documents.h"
#include "cluster/wall_clocks.h"
#include "inventory/keys.h"
#include "inventory/users.h"

namespace paravane::cluster {

using authority::DoorAnswer;
using authority::DoorRefusal;
using authority::DoorRequest;
using authority::Seconds;
using model::ApiResult;

namespace {

constexpr std::chrono::seconds kLoginEvery{5};  // of one host
// Of its certificate's life, in which the authority's host does without etcd: that may wait
// for this very certificate.
constexpr int kLastPart = 10;

DoorAnswer refusal(std::string problem, DoorRefusal reason = {}) {
  DoorAnswer answer;
  answer.problem = std::move(problem);
  answer.refusal = reason;
  return answer;
}

Result<std::string> sign_for(const authority::KeyPair& keys, const ClusterAuthority::Config& config,
                             const std::string& request, const std::string& host, Seconds now) {
  const std::string cluster = config.membership.self.cluster;
  return authority::sign(keys, request,
                         {.identity = {.cluster = cluster, .host = host},
                          .address = host == config.membership.authority ? config.address : "",
                          .from = now - kClocksApart,
                          .until = now + std::chrono::seconds(config.lifetime_s)});
}

}  // namespace

inventory::EtcdAccess etcd_access(const settings::ClusterPaths& paths,
                                  const Membership& membership) {
  return {.endpoints = membership.etcd,
          .authority = membership.own_etcd_authority ? paths.authority() : paths.etcd_authority(),
          .identity = membership.own_etcd_authority ? paths.identity() : std::filesystem::path(),
          .user = membership.etcd_user,
          .password = membership.etcd_password};
}

Status ClusterAuthority::make(const Config& config, const EtcdRoot& root, Seconds now) {
  const auto keys = authority::make_authority(config.membership.self.cluster, now);
  if (!keys) return std::unexpected(keys.error());
  return write(config, *keys, {.root = root}, now);
}

Status ClusterAuthority::write(const Config& config, const authority::KeyPair& keys,
                               AuthorityBook book, Seconds now, std::string_view own) {
  const std::string& self = config.membership.self.host;
  const auto request = own.empty() ? authority::make_request() : authority::make_request_with(own);
  if (!request) return std::unexpected(request.error());
  const auto certificate = sign_for(keys, config, request->certificate, self, now);
  if (!certificate) return std::unexpected(certificate.error());
  const auto seen = authority::inspect(*certificate);
  if (!seen) return std::unexpected(seen.error());
  const auto known = book.members.members().find(self);
  if (known != book.members.members().end() && !known->second.present.empty()) {
    const std::string before = known->second.present;
    book.members.renew(self, before, seen->key);
  } else {
    book.members.admit(self, seen->key);
  }
  const settings::ClusterPaths& paths = config.paths;
  // This host's own last: the others know its key by the book.
  if (Status written = write_book(paths, book); !written) return written;
  for (const auto& [file, text] :
       {std::pair(paths.authority_key(), keys.key), std::pair(paths.authority(), keys.certificate),
        std::pair(paths.identity(), request->key + *certificate)}) {
    if (Status written = write_file(file, text); !written) return written;
  }
  return {};
}

Result<std::unique_ptr<ClusterAuthority>> ClusterAuthority::load(Config config) {
  std::unique_ptr<ClusterAuthority> self(new ClusterAuthority(std::move(config)));
  const settings::ClusterPaths& paths = self->config_.paths;
  auto key = read_file(paths.authority_key());
  auto certificate = read_file(paths.authority());
  auto book = load_book(paths);
  if (!key) return std::unexpected(key.error());
  if (!certificate) return std::unexpected(certificate.error());
  if (const Status good = authority::check_key(*key, *certificate); !good) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("{} is damaged: {}{}{}", paths.authority_key().string(), good.error().message,
                    book ? "" : "; ", book ? std::string() : book.error().message));
  }
  if (!book) return std::unexpected(book.error());
  const auto seen = authority::inspect(*certificate);
  if (!seen) return std::unexpected(seen.error());
  self->fingerprint_ = seen->fingerprint;
  self->keys_ = {.key = std::move(*key), .certificate = std::move(*certificate)};
  self->book_ = std::move(*book);
  if (Status own = self->read_own_key(); !own) return std::unexpected(own.error());
  return self;
}

// What this host has in its own file needs no proof.
Status ClusterAuthority::read_own_key() {
  const std::string& self = config_.membership.self.host;
  const auto own = read_file(config_.paths.identity());
  if (!own) return std::unexpected(own.error());
  const auto seen = authority::inspect(*own);
  if (!seen) return std::unexpected(seen.error());
  if (!book_.members.contains(self)) book_.members.admit_by_name(self);
  book_.members.note_use(self, seen->key);
  if (!book_.members.is_member(self, seen->key)) book_.members.admit(self, seen->key);
  return {};
}

std::set<std::string> ClusterAuthority::others() const {
  std::set<std::string> names;
  for (const auto& [host, keys] : book_.members.members()) names.insert(host);
  names.erase(config_.membership.self.host);
  return names;
}

Status ClusterAuthority::save(const authority::MemberBook& members) const {
  AuthorityBook book = book_;
  book.members = members;
  return write_book(config_.paths, book);
}

Status ClusterAuthority::change(authority::MemberBook members, const std::string& host) {
  if (Status saved = save(members); !saved) return saved;
  book_.members = std::move(members);
  return publish(host);
}

Result<std::string> ClusterAuthority::make_mark() {
  return authority::make_secret(inventory::Generation::kMarkDigits / 2);
}

Status ClusterAuthority::count(std::vector<inventory::Write>& writes) {
  auto mark = make_mark();
  if (!mark) return std::unexpected(mark.error());
  inventory::Generation before = book_.generation;
  book_.generation = next_generation(before, std::move(*mark));
  if (Status saved = save(book_.members); !saved) {
    book_.generation = std::move(before);
    return saved;
  }
  writes.push_back(
      {.key = std::string(inventory::kClusterDocument),
       .value = inventory::print_cluster(config_.membership.self.cluster,
                                         config_.membership.authority, book_.generation)});
  return {};
}

Status ClusterAuthority::write_documents(std::vector<inventory::Write> documents) {
  if (Status counted = count(documents); !counted) return counted;
  return config_.write_documents(std::move(documents));
}

Status ClusterAuthority::write_as_root(inventory::EtcdClient& root,
                                       std::vector<inventory::Write> documents) {
  if (Status counted = count(documents); !counted) return counted;
  for (inventory::Write& write : documents) write.key.insert(0, inventory::kConfigPrefix);
  return root.write_all(documents);
}

Status ClusterAuthority::publish(const std::string& host) {
  const MemberDocuments documents = member_documents(book_.members, config_.membership.self.host);
  inventory::Write write{.key = inventory::member_document(host), .value = std::nullopt};
  const auto found = documents.find(write.key);
  if (found != documents.end()) write.value = found->second;
  return write_documents({std::move(write)});
}

inventory::EtcdAccess ClusterAuthority::root_access() const {
  inventory::EtcdAccess access = etcd_access(config_.paths, config_.membership);
  access.user = book_.root.user;
  access.password = book_.root.password;
  return access;
}

model::ApiResult<std::string> ClusterAuthority::make_token(const std::string& host, Seconds until,
                                                           Seconds now) {
  if (book_.members.contains(host)) {
    return model::refuse(model::ApiErrorCode::kExists,
                         fmt::format("host {} is already a member", host),
                         "Choose another name, or remove the host with paravane cluster remove.");
  }
  if (is_full()) {
    return model::refuse(
        model::ApiErrorCode::kLimitReached,
        fmt::format("host {} cannot join: the cluster has {} hosts, which is the limit", host,
                    book_.members.members().size()),
        "Remove a host first with paravane cluster remove NAME.");
  }
  const auto made = book_.tokens.make(host, until, now);
  if (!made && made.error().code == Errc::kResourceExhausted) {
    return model::refuse(model::ApiErrorCode::kLimitReached, made.error().message,
                         "Wait until some of these tokens expire.");
  }
  if (!made) return not_kept(made.error());
  if (Status saved = save(book_.members); !saved) return not_kept(saved.error());
  return authority::print_token({.door = config_.membership.door,
                                 .fingerprint = fingerprint_,
                                 .keeper = config_.membership.self,
                                 .id = made->id,
                                 .secret = made->secret});
}

DoorAnswer ClusterAuthority::answer(const std::optional<authority::Peer>& peer,
                                    const DoorRequest& request, Seconds now) {
  if (request.kind == DoorRequest::Kind::kJoin) return join(request, now);
  if (request.kind == DoorRequest::Kind::kCompare) return compare_host(request, now);
  if (!peer) return refusal("the request requires a certificate of this cluster");
  const std::string& host = peer->identity.host;
  if (peer->identity.cluster != config_.membership.self.cluster || !book_.members.contains(host)) {
    return refusal(fmt::format("host {} is no longer a member", host), DoorRefusal::kRemoved);
  }
  // It asks itself, so another machine would have its certificate.
  if (host == config_.membership.self.host) {
    return refusal(fmt::format(
        "host {} is the authority and must not send requests to its own join endpoint", host));
  }
  if (!book_.members.is_member(host, peer->key)) {
    refused_keys_.warn(std::chrono::steady_clock::now(),
                       "cluster: a request from the machine that was formerly host {} was refused",
                       host);
    return refusal(
        fmt::format("another machine is host {} now, and this machine is no longer a member", host),
        DoorRefusal::kRemoved);
  }
  if (request.kind == DoorRequest::Kind::kLeave) return dismiss(host);
  if (request.kind == DoorRequest::Kind::kLogin) return log_in(host, now);
  return renew(*peer, request.request, now);
}

DoorAnswer ClusterAuthority::join(const DoorRequest& request, Seconds now) {
  const auto host = book_.tokens.check(request.token_id, request.secret, now);
  if (!host) {
    refused_joins_.warn(std::chrono::steady_clock::now(), "cluster: a join was refused: {}",
                        host.error().message);
    return refusal(host.error().message);
  }
  if (is_full()) {
    return refusal(
        "the cluster has reached its maximum number of hosts; remove a host before adding another",
        DoorRefusal::kBusy);
  }
  DoorAnswer answer = sign(request.request, *host, now);
  if (!answer.problem.empty()) return answer;
  const auto seen = authority::inspect(answer.certificate);
  if (!seen) return refusal(seen.error().message);
  auto password = authority::make_secret(kEtcdPasswordBytes);
  if (!password) return refusal(password.error().message);
  const inventory::EtcdAccess access = root_access();
  inventory::EtcdClient root(access, config_.open);
  if (Status in = inventory::admit_host(root, *host, *password, false); !in) {
    refused_joins_.error(std::chrono::steady_clock::now(), "cluster: host {} cannot join: {}",
                         *host, in.error().message);
    return refusal("the authority cannot reach etcd now", DoorRefusal::kBusy);
  }
  authority::MemberBook members = book_.members;
  members.admit(*host, seen->key);
  const MemberDocuments documents = member_documents(members, config_.membership.self.host);
  const std::string name = inventory::member_document(*host);
  const Status told = write_as_root(root, {{.key = name, .value = documents.at(name)}});
  if (!told) {
    refused_joins_.error(
        std::chrono::steady_clock::now(),
        "cluster: host {} cannot join, because the other hosts cannot be informed: {}", *host,
        told.error().message);
    return refusal("the authority cannot inform the other hosts now", DoorRefusal::kBusy);
  }
  book_.tokens.burn(request.token_id);
  if (Status saved = save(members); !saved) return refusal(saved.error().message);
  book_.members = std::move(members);
  log::info("cluster: host {} has joined", *host);
  answer.etcd = config_.membership.etcd;
  answer.etcd_user = inventory::host_user(*host);
  answer.etcd_password = std::move(*password);
  if (!config_.membership.own_etcd_authority) {
    answer.etcd_authority = read_file(config_.paths.etcd_authority()).value_or("");
  }
  return answer;
}

// The new key is known to all before it is used: else they would refuse it.
DoorAnswer ClusterAuthority::renew(const authority::Peer& peer, const std::string& request,
                                   Seconds now) {
  const std::string& host = peer.identity.host;
  DoorAnswer answer = sign(request, host, now);
  if (!answer.problem.empty()) return answer;
  const auto seen = authority::inspect(answer.certificate);
  if (!seen) return refusal(seen.error().message);
  authority::MemberBook members = book_.members;
  members.renew(host, peer.key, seen->key);
  const Status known = change(std::move(members), host);
  if (!known)
    return refusal("the authority cannot inform the other hosts now: " + known.error().message);
  return answer;
}

// etcd does not let this host in with a certificate that is not in force, so that the others
// can hear of the new key only afterwards.
Result<std::string> ClusterAuthority::renew_own(const std::string& shown,
                                                const authority::Validity& valid,
                                                const std::string& request, Seconds now) {
  const std::string& self = config_.membership.self.host;
  const DoorAnswer answer = sign(request, self, now);
  if (!answer.problem.empty()) return fail(Errc::kIo, answer.problem);
  const auto seen = authority::inspect(answer.certificate);
  if (!seen) return std::unexpected(seen.error());
  authority::MemberBook members = book_.members;
  members.renew(self, shown, seen->key);
  if (Status saved = save(members); !saved) return std::unexpected(saved.error());
  book_.members = std::move(members);
  const Status known = publish(self);
  const bool in_time =
      valid.covers(now) && valid.until - now > std::chrono::seconds(config_.lifetime_s) / kLastPart;
  if (known || !in_time) {
    return answer.certificate;
  }
  return std::unexpected(known.error());
}

DoorAnswer ClusterAuthority::sign(const std::string& request, const std::string& host,
                                  Seconds now) const {
  auto certificate = sign_for(keys_, config_, request, host, now);
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

// Its user is gone, or has the password of another time: etcd came back older.
DoorAnswer ClusterAuthority::log_in(const std::string& host, Seconds now) {
  // Any machine that ever had the name could ask, and then say its own key (settle()).
  if (book_.members.members().at(host).present.empty()) {
    return refusal(fmt::format("host {} is identified by its name only and must join again", host));
  }
  if (book_.curbed.contains(host)) {
    return refusal(fmt::format("host {} has written too much to the inventory", host),
                   DoorRefusal::kBusy);
  }
  const auto last = logins_.find(host);
  if (last != logins_.end() && last->second <= now && now < last->second + kLoginEvery) {
    return refusal(fmt::format("host {} received a password a moment ago", host),
                   DoorRefusal::kBusy);
  }
  auto password = authority::make_secret(kEtcdPasswordBytes);
  if (!password) return refusal(password.error().message);
  const inventory::EtcdAccess access = root_access();
  inventory::EtcdClient root(access, config_.open);
  if (const Status in = inventory::admit_host(root, host, *password, false); !in) {
    return refusal("the authority cannot reach etcd now", DoorRefusal::kBusy);
  }
  logins_[host] = now;
  news_of_hosts_.info(std::chrono::steady_clock::now(),
                      "cluster: host {} has received a new password for etcd", host);
  DoorAnswer answer;
  answer.host = host;
  answer.etcd = config_.membership.etcd;
  answer.etcd_user = inventory::host_user(host);
  answer.etcd_password = std::move(*password);
  return answer;
}

Status ClusterAuthority::remove(const std::string& host) {
  if (!book_.members.contains(host)) {
    return fail(Errc::kNotFound, fmt::format("host {} is not a member of the cluster", host));
  }
  const inventory::EtcdAccess access = root_access();
  inventory::EtcdClient root(access, config_.open);
  const Status unknown =
      write_as_root(root, {{.key = inventory::member_document(host), .value = std::nullopt}});
  if (!unknown) return unknown;
  if (Status gone = inventory::dismiss_host(root, host); !gone) return gone;
  authority::MemberBook members = book_.members;
  members.remove(host);
  book_.curbed.erase(host);
  if (Status saved = save(members); !saved) return saved;  // and it can be taken out again
  book_.members = std::move(members);
  news_of_hosts_.info(std::chrono::steady_clock::now(), "cluster: host {} has left", host);
  return {};
}

Status ClusterAuthority::settle(const inventory::View& view) {
  authority::MemberBook members = book_.members;
  bool news = false;
  for (const auto& [host, keys] : book_.members.members()) {
    const auto seen = view.hosts.find(host);
    if (seen == view.hosts.end() || !seen->second.info) continue;
    if (!members.note_use(host, seen->second.info->key)) continue;
    news = true;
    if (keys.present.empty()) log::info("cluster: the key of host {} is now recorded", host);
  }
  if (news) {
    if (Status saved = save(members); !saved) return saved;
    book_.members = std::move(members);
  }
  const std::string& self = config_.membership.self.host;
  std::vector<inventory::Write> writes =
      member_writes(member_documents(book_.members, self), view, self);
  if (auto write = succession_write(view)) writes.push_back(std::move(*write));
  return writes.empty() ? Status() : write_documents(std::move(writes));
}

// A host without this proof that finds another named in etcd may be the one that was replaced.
bool ClusterAuthority::has_succeeded() const {
  const auto text = read_file(config_.paths.succession());
  if (!text) return false;
  const auto succession = authority::parse_succession(*text, keys_.certificate);
  return succession && succession->keeper.host == self();
}

// Members that are connected to etcd learn of a promotion only there.
std::optional<inventory::Write> ClusterAuthority::succession_write(
    const inventory::View& view) const {
  auto succession = read_file(config_.paths.succession());
  if (!succession) return std::nullopt;
  std::string name(inventory::kSuccessionDocument);
  const auto seen = view.documents.find(name);
  if (seen != view.documents.end() && seen->second == *succession) return std::nullopt;
  return inventory::Write{.key = std::move(name), .value = std::move(*succession)};
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

}  // namespace paravane::cluster
