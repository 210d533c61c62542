#include "fabric/directory.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/undo.h"

namespace paravane::fabric {

using verbs::AdapterId;
using verbs::Gid;
using verbs::GidType;
using verbs::HostId;
using verbs::Path;
using verbs::SegmentId;

class Directory::Port final : public verbs::FabricPort {
 public:
  Port(Directory& directory, AdapterId id) : directory_(directory), id_(id) {}
  ~Port() override { directory_.leave(id_); }

  Status announce(const Gid& gid, GidType type) override {
    return directory_.announce(id_, gid, type);
  }
  void withdraw(const Gid& gid, GidType type) override { directory_.withdraw(id_, gid, type); }
  std::optional<Path> find(const Gid& dgid, GidType type) const override {
    return directory_.find(id_, dgid, type);
  }
  std::uint64_t epoch() const override { return directory_.epoch_; }
  bool is_learning() const override { return directory_.learning_; }

 private:
  Directory& directory_;
  const AdapterId id_;
};

namespace {

// RFC 4291, 2.5.6: no router forwards it.
bool is_link_local(const Gid& gid) {
  return gid.raw[0] == 0xFE && (gid.raw[1] & 0xC0) == 0x80;
}

bool can_be_owned(const Gid& gid) {
  const bool is_zero = std::ranges::all_of(gid.raw, [](std::uint8_t byte) { return byte == 0; });
  const bool is_multicast = gid.raw[0] == 0xFF;
  return !is_zero && !is_multicast;
}

GidType twin_of(GidType type) {
  return type == GidType::kRoceV1 ? GidType::kRoceV2 : GidType::kRoceV1;
}

const char* which_has(GidType type) {
  return type == GidType::kRoceV1 ? ", which has it as RoCE v1 only"
                                  : ", which has it as RoCE v2 only";
}

}  // namespace

Gid link_local_gid(const MacAddress& mac) {
  Gid gid;
  gid.raw = {0xFE, 0x80, 0, 0, 0, 0, 0, 0};
  gid.raw[8] = mac[0] ^ 0x02;  // the universal/local bit is inverted
  gid.raw[9] = mac[1];
  gid.raw[10] = mac[2];
  gid.raw[11] = 0xFF;
  gid.raw[12] = 0xFE;
  gid.raw[13] = mac[3];
  gid.raw[14] = mac[4];
  gid.raw[15] = mac[5];
  return gid;
}

Directory::Directory(verbs::Transport& local) : local_(local) {}

Directory::~Directory() {
  assert(members_.empty());
}

std::unique_ptr<verbs::FabricPort> Directory::join(AdapterId id, std::string name,
                                                   const MacAddress& mac, SegmentId segment) {
  return join_with_gid(id, std::move(name), link_local_gid(mac), segment);
}

std::unique_ptr<verbs::FabricPort> Directory::join_with_gid(AdapterId id, std::string name,
                                                            const Gid& own, SegmentId segment) {
  assert(!members_.contains(id));
  const auto [member, is_new] =
      members_.emplace(id, Member{.name = std::move(name), .reserved = own, .segment = segment});
  Undo forget([this, id] { leave(id); });
  reserve(id, member->second);
  auto port = std::make_unique<Port>(*this, id);
  forget.keep();
  ++epoch_;
  return port;
}

void Directory::reserve(AdapterId id, const Member& member) {
  reserved_.insert_or_assign({member.segment, member.reserved}, id);
  for (const GidType type : {GidType::kRoceV1, GidType::kRoceV2}) {
    const auto owner = owners_.find({member.reserved, type, member.segment});
    if (owner != owners_.end() && owner->second != Owner(id)) owners_.erase(owner);
  }
}

void Directory::unreserve(AdapterId id, const Member& member) {
  const auto reserved = reserved_.find({member.segment, member.reserved});
  if (reserved != reserved_.end() && reserved->second == id) reserved_.erase(reserved);
}

void Directory::set_link(AdapterId id, bool up) {
  bool& linked = members_.at(id).linked;
  if (linked == up) return;
  linked = up;
  ++epoch_;
}

void Directory::set_native(AdapterId id, verbs::Transport* native) {
  members_.at(id).native = native;
  ++epoch_;
}

void Directory::set_held(const std::vector<HeldGid>& held) {
  std::map<Key, std::string> now;
  for (const auto& [remote, owner] : held) {
    now.emplace(Key{remote.gid, remote.type, remote.segment}, owner);
  }
  if (now == held_) return;
  held_ = std::move(now);
  ++epoch_;
}

void Directory::set_networks(std::map<SegmentId, NetworkRules> networks) {
  if (networks == networks_) return;
  networks_ = std::move(networks);
  ++epoch_;
}

void Directory::set_others_known(bool known) {
  if (std::exchange(others_known_, known) != known) ++epoch_;
}

void Directory::set_segment(AdapterId id, SegmentId segment) {
  Member& member = members_.at(id);
  if (member.segment == segment) return;
  std::vector<Key> moving;
  for (const auto& [key, owner] : owners_) {
    if (owner == Owner(id)) moving.push_back(key);
  }
  for (const Key& key : moving) owners_.erase(key);
  unreserve(id, member);
  member.segment = segment;
  reserve(id, member);
  for (const auto& [gid, type, from] : moving) static_cast<void>(announce(id, gid, type));
  ++epoch_;
}

void Directory::set_host(HostId host, std::string name, verbs::Transport& via,
                         const std::vector<RemoteGid>& gids) {
  remove_host(host);
  hosts_.insert_or_assign(host, Host{.name = std::move(name), .via = &via});
  for (const RemoteGid& remote : gids) {
    if (!can_be_owned(remote.gid) || reserved_.contains({remote.segment, remote.gid})) continue;
    owners_.emplace(Key{remote.gid, remote.type, remote.segment}, host);
  }
}

void Directory::set_via(HostId id, verbs::Transport& via) {
  const auto host = hosts_.find(id);
  if (host == hosts_.end() || host->second.via == &via) return;
  host->second.via = &via;
  ++epoch_;
}

void Directory::remove_host(HostId host) {
  std::erase_if(owners_, [host](const auto& entry) { return entry.second == Owner(host); });
  hosts_.erase(host);
  ++epoch_;
}

std::string Directory::name_of(const Owner& owner) const {
  if (const AdapterId* id = std::get_if<AdapterId>(&owner)) return members_.at(*id).name;
  return "an adapter of host " + hosts_.at(std::get<HostId>(owner)).name;
}

Status Directory::announce(AdapterId id, const Gid& gid, GidType type) {
  if (!can_be_owned(gid)) {
    return fail(Errc::kInvalidArgument, "gid: not a unicast address");
  }
  const SegmentId segment = members_.at(id).segment;
  const auto reserved = reserved_.find({segment, gid});
  if (reserved != reserved_.end() && reserved->second != id) {
    return fail(Errc::kBadState, "gid: it is that of " + members_.at(reserved->second).name);
  }
  const auto [owner, is_new] = owners_.emplace(Key{gid, type, segment}, id);
  if (!is_new && owner->second != Owner(id)) {
    return fail(Errc::kBadState, "gid: belongs to " + name_of(owner->second));
  }
  if (is_new) ++epoch_;
  return {};
}

void Directory::withdraw(AdapterId id, const Gid& gid, GidType type) {
  const auto owner = owners_.find({gid, type, members_.at(id).segment});
  if (owner == owners_.end() || owner->second != Owner(id)) return;
  owners_.erase(owner);
  ++epoch_;
}

std::optional<Path> Directory::find(AdapterId from, const Gid& dgid, GidType type) const {
  const Member& member = members_.at(from);
  const auto owner = owners_.find({dgid, type, member.segment});
  if (!member.linked) return std::nullopt;
  if (owner == owners_.end()) {
    if (why_not_native(member, dgid, type).why != Absence::Why::kNone) return std::nullopt;
    const Crossing::Kind kind = find_elsewhere(member.segment, dgid, type).kind;
    return Path{.transport = member.native,
                .peer = from,
                .segment = member.segment,
                .one_hop = kind == Crossing::Kind::kOff,
                .routed = kind == Crossing::Kind::kRouted};
  }
  if (const AdapterId* id = std::get_if<AdapterId>(&owner->second)) {
    if (!members_.at(*id).linked) return std::nullopt;
    return Path{.transport = way(from, dgid, *id), .peer = *id, .segment = member.segment};
  }
  const HostId host = std::get<HostId>(owner->second);
  return Path{.transport = way(from, dgid, host), .host = host, .segment = member.segment};
}

verbs::Transport* Directory::way(AdapterId from, const Gid& dgid, const Owner& owner) const {
  const AdapterId* id = std::get_if<AdapterId>(&owner);
  const auto peer = id != nullptr ? std::optional(*id) : std::nullopt;
  verbs::Transport* usual = peer ? &local_ : hosts_.at(std::get<HostId>(owner)).via;
  verbs::Transport* detour =
      detour_ ? detour_({.from = from, .dgid = dgid, .peer = peer, .usual = usual}) : nullptr;
  return detour != nullptr ? detour : usual;
}

std::optional<Path> Directory::route(AdapterId from, const Gid& sgid, const Gid& dgid,
                                     GidType type) const {
  if (!owns(from, sgid, type)) return std::nullopt;
  return find(from, dgid, type);
}

bool Directory::owns(AdapterId id, const Gid& gid, GidType type) const {
  const auto member = members_.find(id);
  if (member == members_.end()) return false;
  const auto owner = owners_.find({gid, type, member->second.segment});
  return owner != owners_.end() && owner->second == Owner(id);
}

Directory::Absence Directory::why_not_native(const Member& member, const Gid& dgid,
                                             GidType type) const {
  using enum Absence::Why;
  if (!can_be_owned(dgid)) return {.why = kNotUnicast};
  // Of either type, for the network would take both to one machine.
  for (const GidType each : {type, twin_of(type)}) {
    const auto held = held_.find({dgid, each, member.segment});
    if (held != held_.end()) return {.why = kHeld, .owner = held->second};
  }
  if (const auto twin = owners_.find({dgid, twin_of(type), member.segment});
      twin != owners_.end()) {
    return {.why = kHeld, .owner = name_of(twin->second) + which_has(twin_of(type))};
  }
  if (const auto its = reserved_.find({member.segment, dgid}); its != reserved_.end()) {
    return {.why = kHeld, .owner = members_.at(its->second).name + ", whose guest does not use it"};
  }
  if (!others_known_) return {.why = kUnknown};
  return {.why = member.native == nullptr ? kNoOwner : kNone};
}

Directory::Absence Directory::why_no_route(AdapterId from, const Gid& sgid, const Gid& dgid,
                                           GidType type) const {
  using enum Absence::Why;
  if (!owns(from, sgid, type)) return {.why = kNoSource};
  const Member& member = members_.at(from);
  if (!member.linked) return {.why = kOwnLink};
  const auto owner = owners_.find({dgid, type, member.segment});
  if (owner == owners_.end()) return why_not_native(member, dgid, type);
  const AdapterId* id = std::get_if<AdapterId>(&owner->second);
  if (id == nullptr || members_.at(*id).linked) return {.why = kNone};
  return {.why = kPeerLink, .owner = members_.at(*id).name};
}

const Directory::NetworkRules& Directory::rules_of(SegmentId segment) const {
  static const NetworkRules nothing;
  const auto rules = networks_.find(segment);
  return rules == networks_.end() ? nothing : rules->second;
}

Directory::Crossing::Kind Directory::judge(SegmentId from, SegmentId to, GidType type) const {
  using enum Crossing::Kind;
  const NetworkRules& there = rules_of(to);
  if (!there.native) return kNotNative;
  if (type == GidType::kRoceV1) return kVersion1;
  return there.routed && rules_of(from).routed ? kRouted : kOff;
}

Directory::Neighbour Directory::find_elsewhere(SegmentId from, const Gid& dgid,
                                               GidType type) const {
  Neighbour decides;
  if (is_link_local(dgid)) return decides;
  const auto look = [&](const auto& entries) {
    for (auto at = entries.lower_bound({dgid, type, SegmentId{0}}); at != entries.end(); ++at) {
      const auto& [gid, its_type, segment] = at->first;
      if (gid != dgid || its_type != type) return;
      if (segment == from) continue;
      const Crossing::Kind kind = judge(from, segment, type);
      if (kind > decides.kind) decides = {.kind = kind, .segment = segment};
    }
  };
  look(owners_);
  look(held_);
  return decides;
}

Directory::Crossing Directory::crossing(AdapterId from, const Gid& dgid, GidType type) const {
  const SegmentId own = members_.at(from).segment;
  const auto [kind, segment] = find_elsewhere(own, dgid, type);
  if (kind == Crossing::Kind::kNone) return {};
  const Key key{dgid, type, segment};
  const auto owner = owners_.find(key);
  const NetworkRules& there = rules_of(segment);
  Crossing crossing{.kind = kind,
                    .owner = owner != owners_.end() ? name_of(owner->second) : held_.at(key),
                    .port_group = there.port_group};
  if (kind == Crossing::Kind::kOff) {
    const NetworkRules& here = rules_of(own);
    crossing.off = here.routed ? there.port_group : here.port_group;
  }
  if (owner == owners_.end()) {
    if (kind == Crossing::Kind::kRouted) crossing.absence = "that adapter cannot be reached now";
    return crossing;
  }
  if (const HostId* host = std::get_if<HostId>(&owner->second)) crossing.host = *host;
  const AdapterId* id = std::get_if<AdapterId>(&owner->second);
  if (id != nullptr && kind == Crossing::Kind::kRouted) {
    const Member& its = members_.at(*id);
    if (its.native == nullptr) crossing.absence = "that adapter has no RoCE port";
    if (!its.linked) crossing.absence = "that adapter is disconnected from its switch";
  }
  return crossing;
}

std::optional<AdapterId> Directory::find_local(SegmentId segment, const Gid& gid,
                                               GidType type) const {
  const auto owner = owners_.find({gid, type, segment});
  if (owner == owners_.end()) return std::nullopt;
  const AdapterId* id = std::get_if<AdapterId>(&owner->second);
  if (id == nullptr || !members_.at(*id).linked) return std::nullopt;
  return *id;
}

std::vector<Gid> Directory::gids_in(SegmentId segment, GidType type) const {
  std::vector<Gid> gids;
  for (const auto& [key, owner] : owners_) {
    const auto& [gid, gid_type, owner_segment] = key;
    if (owner_segment != segment || gid_type != type) continue;
    const auto* member = std::get_if<AdapterId>(&owner);
    if (member == nullptr || members_.at(*member).linked) gids.push_back(gid);
  }
  return gids;
}

std::vector<Directory::LocalGid> Directory::shared_gids() const {
  std::vector<LocalGid> gids;
  for (const auto& [key, owner] : owners_) {
    const AdapterId* id = std::get_if<AdapterId>(&owner);
    const auto& [gid, type, segment] = key;
    if (id == nullptr || segment == SegmentId::kBuiltIn) continue;
    gids.push_back({.adapter = *id,
                    .segment = segment,
                    .gid = gid,
                    .type = type,
                    .linked = members_.at(*id).linked});
  }
  return gids;
}

void Directory::leave(AdapterId id) {
  std::erase_if(owners_, [id](const auto& entry) {
    const AdapterId* owner = std::get_if<AdapterId>(&entry.second);
    return owner != nullptr && *owner == id;
  });
  const auto member = members_.find(id);
  unreserve(id, member->second);
  members_.erase(member);
  ++epoch_;
}

}  // namespace paravane::fabric
