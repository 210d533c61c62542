#include "cluster/cluster_authority.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "authority/damage_check.h"
#include "base/log.h"
#include "cluster/cluster_refusals.h"
#include "cluster/kept_json.h"
#include "cluster/member_documents.h"
#include "inventory/keys.h"
#include "inventory/users.h"
#include "json/json_reader.h"
#include "json/json_text.h"

namespace paravane::cluster {

using authority::DoorAnswer;
using authority::DoorRequest;
using authority::Seconds;
using model::ApiErrorCode;
using model::ApiResult;
using model::refuse;
using nlohmann::json;

namespace {

constexpr std::size_t kPasswordBytes = 32;
constexpr std::chrono::minutes kClockSkew{5};
constexpr std::chrono::seconds kLoginEvery{5};  // of one host
// Of its certificate's life, in which the authority's host does without etcd: that may wait
// for this very certificate.
constexpr int kLastPart = 10;

DoorAnswer refusal(std::string problem, std::string_view more = {}) {
  DoorAnswer answer;
  answer.problem = std::move(problem);
  answer.problem += more;
  return answer;
}

Status write_book(const settings::ClusterPaths& paths, const EtcdRoot& root,
                  const authority::TokenBook& book, const authority::MemberBook& members,
                  const inventory::Generation& generation, const std::set<std::string>& curbed) {
  json value = {{"etcd_user", root.user},
                {"etcd_password", root.password},
                {"members", members.print()},
                {"tokens", book.print()}};
  if (generation.number != 0) value["generation"] = inventory::print_generation(generation);
  if (!curbed.empty()) value["curbed"] = curbed;
  return write_file(paths.book(), print_kept(value));
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

// An older version has names in "hosts", and skips there what is no name: the list of now has
// another key, so that such a version says that the book is damaged instead of having no members.
Result<authority::MemberBook> read_members(const json* members, const json* names) {
  if ((members == nullptr) == (names == nullptr)) {
    return fail(Errc::kInvalidArgument, "there must be one list of members");
  }
  return names == nullptr ? authority::MemberBook::parse(*members)
                          : authority::MemberBook::parse_names(*names);
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
  const auto own = authority::make_request();
  if (!own) return std::unexpected(own.error());
  const auto certificate =
      sign_for(*keys, config, own->certificate, config.membership.self.host, now);
  if (!certificate) return std::unexpected(certificate.error());
  const settings::ClusterPaths& paths = config.paths;
  for (const auto& [file, text] : {std::pair(paths.authority_key(), keys->key),
                                   std::pair(paths.authority(), keys->certificate),
                                   std::pair(paths.identity(), own->key + *certificate)}) {
    if (Status written = write_file(file, text); !written) return written;
  }
  authority::MemberBook members;
  const auto seen = authority::inspect(*certificate);
  if (!seen) return std::unexpected(seen.error());
  members.admit(config.membership.self.host, seen->key);
  return write_book(paths, root, {}, members, {}, {});
}

Result<std::unique_ptr<ClusterAuthority>> ClusterAuthority::load(Config config) {
  std::unique_ptr<ClusterAuthority> self(new ClusterAuthority(std::move(config)));
  const settings::ClusterPaths& paths = self->config_.paths;
  auto key = read_file(paths.authority_key());
  auto certificate = read_file(paths.authority());
  const auto book = read_file(paths.book());
  if (!key) return std::unexpected(key.error());
  if (!certificate) return std::unexpected(certificate.error());
  if (!book) return std::unexpected(book.error());
  if (const Status good = authority::check_key(*key, *certificate); !good) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("{} is damaged: {}", paths.authority_key().string(), good.error().message));
  }
  const auto seen = authority::inspect(*certificate);
  if (!seen) return std::unexpected(seen.error());
  self->fingerprint_ = seen->fingerprint;
  self->keys_ = {.key = std::move(*key), .certificate = std::move(*certificate)};
  const auto value = parse_kept(*book);
  if (!value) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} is damaged: {}", paths.book().string(), value.error().message));
  }
  JsonReader reader(*value, "authority");
  self->root_ = {.user = reader.need_text("etcd_user"),
                 .password = reader.need_text("etcd_password")};
  const json* tokens = reader.array("tokens");
  auto parsed = authority::TokenBook::parse(tokens == nullptr ? json() : *tokens);
  auto members = read_members(reader.array("members"), reader.array("hosts"));
  Result<inventory::Generation> generation{};
  if (const json* counted = reader.object("generation")) {
    generation = inventory::parse_generation(*counted);
  }
  if (const json* curbed = reader.array("curbed")) {
    for (const json& host : *curbed) {
      if (host.is_string()) self->curbed_.insert(host.get<std::string>());
    }
  }
  if (!reader.finish_ignoring_unknown() || !members || !parsed || !generation) {
    return fail(Errc::kInvalidArgument, paths.book().string() + " is damaged");
  }
  self->book_ = std::move(*parsed);
  self->members_ = std::move(*members);
  self->generation_ = std::move(*generation);
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
  if (!members_.contains(self)) members_.admit_by_name(self);
  members_.note_use(self, seen->key);
  if (!members_.is_member(self, seen->key)) members_.admit(self, seen->key);
  return {};
}

std::set<std::string> ClusterAuthority::others() const {
  std::set<std::string> names;
  for (const auto& [host, keys] : members_.members()) names.insert(host);
  names.erase(config_.membership.self.host);
  return names;
}

Status ClusterAuthority::save(const authority::MemberBook& members) const {
  return write_book(config_.paths, root_, book_, members, generation_, curbed_);
}

Status ClusterAuthority::change(authority::MemberBook members, const std::string& host) {
  if (Status saved = save(members); !saved) return saved;
  members_ = std::move(members);
  return publish(host);
}

Result<std::string> ClusterAuthority::make_mark() {
  return authority::make_secret(inventory::Generation::kMarkDigits / 2);
}

Status ClusterAuthority::count(std::vector<inventory::Write>& writes) {
  auto mark = make_mark();
  if (!mark) return std::unexpected(mark.error());
  inventory::Generation before = generation_;
  generation_ = next_generation(before, std::move(*mark));
  if (Status saved = save(members_); !saved) {
    generation_ = std::move(before);
    return saved;
  }
  writes.push_back({.key = std::string(inventory::kClusterDocument),
                    .value = inventory::print_cluster(config_.membership.self.cluster,
                                                      config_.membership.authority, generation_)});
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
  const MemberDocuments documents = member_documents(members_, config_.membership.self.host);
  inventory::Write write{.key = inventory::member_document(host), .value = std::nullopt};
  const auto found = documents.find(write.key);
  if (found != documents.end()) write.value = found->second;
  return write_documents({std::move(write)});
}

inventory::EtcdAccess ClusterAuthority::root_access() const {
  inventory::EtcdAccess access = etcd_access(config_.paths, config_.membership);
  access.user = root_.user;
  access.password = root_.password;
  return access;
}

model::ApiResult<std::string> ClusterAuthority::make_token(const std::string& host, Seconds until,
                                                           Seconds now) {
  if (members_.contains(host)) {
    return model::refuse(model::ApiErrorCode::kExists,
                         fmt::format("host {} is a member already", host),
                         "Choose another name, or take the host out with paravane cluster remove.");
  }
  if (is_full()) {
    return model::refuse(
        model::ApiErrorCode::kLimitReached,
        fmt::format("host {} cannot join: the cluster has {} hosts, which is the most", host,
                    members_.members().size()),
        "Take one out first with paravane cluster remove NAME.");
  }
  const auto made = book_.make(host, until, now);
  if (!made && made.error().code == Errc::kResourceExhausted) {
    return model::refuse(model::ApiErrorCode::kLimitReached, made.error().message,
                         "Wait until they expire.");
  }
  if (!made) return not_kept(made.error());
  if (Status saved = save(members_); !saved) return not_kept(saved.error());
  return authority::print_token({.door = config_.membership.door,
                                 .fingerprint = fingerprint_,
                                 .keeper = config_.membership.self,
                                 .id = made->id,
                                 .secret = made->secret});
}

DoorAnswer ClusterAuthority::answer(const std::optional<authority::Peer>& peer,
                                    const DoorRequest& request, Seconds now) {
  if (request.kind == DoorRequest::Kind::kJoin) return join(request, now);
  if (!peer) return refusal("a certificate of this cluster must be shown");
  const std::string& host = peer->identity.host;
  if (peer->identity.cluster != config_.membership.self.cluster || !members_.contains(host)) {
    return refusal(fmt::format("host {} is no member any more", host));
  }
  // It asks itself, so another machine would have its certificate.
  if (host == config_.membership.self.host) {
    return refusal(fmt::format("host {} has the authority and does not ask at its door", host));
  }
  if (!members_.is_member(host, peer->key)) {
    if (const auto kept_back = refused_keys_.allow(std::chrono::steady_clock::now())) {
      log::warn("cluster: what was host {} before came to the door and was refused{}", host,
                kept_back_note(*kept_back));
    }
    return refusal(
        fmt::format("another machine is host {} now, and this one is no member any more", host));
  }
  if (request.kind == DoorRequest::Kind::kLeave) return dismiss(host);
  if (request.kind == DoorRequest::Kind::kLogin) return log_in(host, now);
  return renew(*peer, request.request, now);
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
  if (is_full()) {
    return refusal("the cluster has as many hosts as it may, until one is taken out",
                   authority::kTryAgain);
  }
  DoorAnswer answer = sign(request.request, *host, now);
  if (!answer.problem.empty()) return answer;
  const auto seen = authority::inspect(answer.certificate);
  if (!seen) return refusal(seen.error().message);
  auto password = authority::make_secret(kPasswordBytes);
  if (!password) return refusal(password.error().message);
  const inventory::EtcdAccess access = root_access();
  inventory::EtcdClient root(access, config_.open);
  if (Status in = inventory::admit_host(root, *host, *password, false); !in) {
    log::error("cluster: host {} cannot be let in: {}", *host, in.error().message);
    return refusal("the authority cannot reach etcd now", authority::kTryAgain);
  }
  authority::MemberBook members = members_;
  members.admit(*host, seen->key);
  const MemberDocuments documents = member_documents(members, config_.membership.self.host);
  const std::string name = inventory::member_document(*host);
  const Status told = write_as_root(root, {{.key = name, .value = documents.at(name)}});
  if (!told) {
    log::error("cluster: host {} cannot be let in, the others cannot be told: {}", *host,
               told.error().message);
    return refusal("the authority cannot tell the others now", authority::kTryAgain);
  }
  book_.burn(request.token_id);
  if (Status saved = save(members); !saved) return refusal(saved.error().message);
  members_ = std::move(members);
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
  authority::MemberBook members = members_;
  members.renew(host, peer.key, seen->key);
  const Status known = change(std::move(members), host);
  if (!known) return refusal("the authority cannot tell the others now: " + known.error().message);
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
  authority::MemberBook members = members_;
  members.renew(self, shown, seen->key);
  if (Status saved = save(members); !saved) return std::unexpected(saved.error());
  members_ = std::move(members);
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
  if (members_.members().at(host).present.empty()) {
    return refusal(fmt::format("host {} is known by its name alone; it joins again", host));
  }
  if (curbed_.contains(host)) {
    return refusal(fmt::format("host {} has written too much into the inventory", host),
                   authority::kTryAgain);
  }
  const auto last = logins_.find(host);
  if (last != logins_.end() && last->second <= now && now < last->second + kLoginEvery) {
    return refusal(fmt::format("host {} was given a password a moment ago", host),
                   authority::kTryAgain);
  }
  auto password = authority::make_secret(kPasswordBytes);
  if (!password) return refusal(password.error().message);
  const inventory::EtcdAccess access = root_access();
  inventory::EtcdClient root(access, config_.open);
  if (Status in = inventory::admit_host(root, host, *password, false); !in) {
    return refusal("the authority cannot reach etcd now", authority::kTryAgain);
  }
  logins_[host] = now;
  log::info("cluster: host {} has another password for etcd", host);
  DoorAnswer answer;
  answer.host = host;
  answer.etcd = config_.membership.etcd;
  answer.etcd_user = inventory::host_user(host);
  answer.etcd_password = std::move(*password);
  return answer;
}

Status ClusterAuthority::remove(const std::string& host) {
  if (!members_.contains(host)) {
    return fail(Errc::kNotFound, fmt::format("host {} is no member of the cluster", host));
  }
  const inventory::EtcdAccess access = root_access();
  inventory::EtcdClient root(access, config_.open);
  const Status unknown =
      write_as_root(root, {{.key = inventory::member_document(host), .value = std::nullopt}});
  if (!unknown) return unknown;
  if (Status gone = inventory::dismiss_host(root, host); !gone) return gone;
  authority::MemberBook members = members_;
  members.remove(host);
  curbed_.erase(host);
  if (Status saved = save(members); !saved) return saved;  // and it can be taken out again
  members_ = std::move(members);
  log::info("cluster: host {} has left", host);
  return {};
}

Status ClusterAuthority::settle(const inventory::View& view) {
  authority::MemberBook members = members_;
  bool news = false;
  for (const auto& [host, keys] : members_.members()) {
    const auto seen = view.hosts.find(host);
    if (seen == view.hosts.end() || !seen->second.info) continue;
    if (!members.note_use(host, seen->second.info->key)) continue;
    news = true;
    if (keys.present.empty()) log::info("cluster: the key of host {} is known now", host);
  }
  if (news) {
    if (Status saved = save(members); !saved) return saved;
    members_ = std::move(members);
  }
  const std::string& self = config_.membership.self.host;
  std::vector<inventory::Write> writes =
      member_writes(member_documents(members_, self), view, self);
  return writes.empty() ? Status() : write_documents(std::move(writes));
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
