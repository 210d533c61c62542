#include "fabric/directory.h"

#include <algorithm>
#include <cassert>

namespace paravane::fabric {

using verbs::AdapterId;
using verbs::Gid;
using verbs::GidType;
using verbs::Path;

class Directory::Port final : public verbs::FabricPort {
 public:
  Port(Directory& directory, AdapterId id) : directory_(directory), id_(id) {}
  ~Port() override { directory_.leave(id_); }

  Status announce(const Gid& gid, GidType type) override {
    return directory_.announce(id_, {gid, type});
  }
  void withdraw(const Gid& gid, GidType type) override { directory_.withdraw(id_, {gid, type}); }

  std::optional<Path> find(const Gid& dgid, GidType type) const override {
    const auto owner = directory_.owners_.find({dgid, type});
    if (owner == directory_.owners_.end()) return std::nullopt;
    if (!directory_.members_.at(id_).linked) return std::nullopt;
    if (!directory_.members_.at(owner->second).linked) return std::nullopt;
    return Path{.transport = &directory_.local_, .peer = owner->second};
  }

  std::uint64_t epoch() const override { return directory_.epoch_; }

 private:
  Directory& directory_;
  const AdapterId id_;
};

namespace {

bool can_be_owned(const Gid& gid) {
  const bool is_zero = std::ranges::all_of(gid.raw, [](std::uint8_t byte) { return byte == 0; });
  const bool is_multicast = gid.raw[0] == 0xFF;
  return !is_zero && !is_multicast;
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
                                                   const MacAddress& mac) {
  assert(!members_.contains(id));
  const Gid reserved = link_local_gid(mac);
  members_.emplace(id, Member{.name = std::move(name), .reserved = reserved});
  reserved_.insert_or_assign(reserved, id);
  owners_.erase({reserved, GidType::kRoceV1});
  owners_.erase({reserved, GidType::kRoceV2});
  ++epoch_;
  return std::make_unique<Port>(*this, id);
}

void Directory::set_link(AdapterId id, bool up) {
  bool& linked = members_.at(id).linked;
  if (linked == up) return;
  linked = up;
  ++epoch_;
}

Status Directory::announce(AdapterId id, const Key& key) {
  if (!can_be_owned(key.first)) {
    return fail(Errc::kInvalidArgument, "gid: not an address that one adapter can have");
  }
  const auto reserved = reserved_.find(key.first);
  if (reserved != reserved_.end() && reserved->second != id) {
    return fail(Errc::kBadState,
                "gid: made from the MAC address of " + members_.at(reserved->second).name);
  }
  const auto [owner, is_new] = owners_.emplace(key, id);
  if (!is_new && owner->second != id) {
    return fail(Errc::kBadState, "gid: belongs to " + members_.at(owner->second).name);
  }
  if (is_new) ++epoch_;
  return {};
}

void Directory::withdraw(AdapterId id, const Key& key) {
  const auto owner = owners_.find(key);
  if (owner == owners_.end() || owner->second != id) return;
  owners_.erase(owner);
  ++epoch_;
}

void Directory::leave(AdapterId id) {
  std::erase_if(owners_, [id](const auto& entry) { return entry.second == id; });
  const auto member = members_.find(id);
  const auto reserved = reserved_.find(member->second.reserved);
  if (reserved != reserved_.end() && reserved->second == id) reserved_.erase(reserved);
  members_.erase(member);
  ++epoch_;
}

}  // namespace paravane::fabric
