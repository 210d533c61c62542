// Directory: the owner of each GID, and the paths between adapters.
//
// Adapters reach each other only within a segment. First come, first served: a GID belongs to the
// adapter that announced it until it is withdrawn or the adapter leaves, and no other adapter in
// the segment can take it over in the meantime. A GID that is derived from the MAC address of an
// adapter may only be announced by that adapter; if another adapter held it before, it becomes
// free. RoCE v1 and RoCE v2 GIDs of one address are separate entries.
//
// The GIDs of other hosts' adapters are set as a whole, host by host; the caller resolves
// conflicts between hosts.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "verbs/fabric_port.h"
#include "verbs/types.h"

namespace paravane::fabric {

using MacAddress = std::array<std::uint8_t, 6>;

// fe80:: and the modified EUI-64 of the MAC address (RFC 4291, appendix A).
verbs::Gid link_local_gid(const MacAddress& mac);

class Directory {
 public:
  // `local` carries everything between adapters of this host; it outlives us.
  explicit Directory(verbs::Transport& local);
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  // Another host's adapter has this GID.
  struct RemoteGid {
    verbs::SegmentId segment{};
    verbs::Gid gid;
    verbs::GidType type{};
  };
  // All that the host's adapters have, instead of what was told before; `via` leads there
  // and outlives us. What an adapter of this host has stays its own.
  void set_host(verbs::HostId host, std::string name, verbs::Transport& via,
                const std::vector<RemoteGid>& gids);
  // No adapter on that host is reachable any more.
  void remove_host(verbs::HostId host);

  // One adapter joins; its port leaves with the returned object, which must not
  // outlive the directory. `name` is for error texts. REQUIRES: no member has
  // that id.
  std::unique_ptr<verbs::FabricPort> join(verbs::AdapterId id, std::string name,
                                          const MacAddress& mac, verbs::SegmentId segment = {});

  // The adapter moves, with its GIDs, except those that another adapter has there.
  // REQUIRES: it is a member.
  void set_segment(verbs::AdapterId id, verbs::SegmentId segment);

  // Whether the adapter's link to the switch is up, as it is when it joins. While it is
  // down it neither reaches others nor is reached; it keeps the GIDs that it has announced.
  // REQUIRES: it is a member.
  void set_link(verbs::AdapterId id, bool up);

  // What stands before the transport that would carry from an adapter to a GID, which is
  // that of `peer` or of another host's adapter; null: nothing does.
  using Detour = std::function<verbs::Transport*(verbs::AdapterId from, const verbs::Gid& dgid,
                                                 std::optional<verbs::AdapterId> peer)>;
  void set_detour(Detour detour) { detour_ = std::move(detour); }
  // It may answer differently from now on.
  void detours_changed() { ++epoch_; }

  // The path of an adapter's GID to another, as the adapter would find it now. nullopt:
  // there is none, or it is not the adapter's.
  std::optional<verbs::Path> route(verbs::AdapterId from, const verbs::Gid& sgid,
                                   const verbs::Gid& dgid, verbs::GidType type) const;

  // nullopt: no adapter of this host has it, or its link is down.
  std::optional<verbs::AdapterId> find_local(verbs::SegmentId segment, const verbs::Gid& gid,
                                             verbs::GidType type) const;

  // What adapters of this host have announced, but for those of the built-in switch,
  // which no other host knows.
  struct LocalGid {
    verbs::AdapterId adapter{};
    verbs::SegmentId segment{};
    verbs::Gid gid;
    verbs::GidType type{};
  };
  std::vector<LocalGid> shared_gids() const;

  // Changes whenever anybody's GIDs, links or segments do.
  std::uint64_t epoch() const { return epoch_; }

  // How many GIDs are known.
  std::size_t gid_count() const { return owners_.size(); }

 private:
  class Port;
  using Key = std::tuple<verbs::SegmentId, verbs::Gid, verbs::GidType>;
  using Reserved = std::pair<verbs::SegmentId, verbs::Gid>;
  using Owner = std::variant<verbs::AdapterId, verbs::HostId>;
  struct Member {
    std::string name;
    verbs::Gid reserved;  // made from its MAC address
    verbs::SegmentId segment{};
    bool linked = true;
  };
  struct Host {
    std::string name;
    verbs::Transport* via;
  };

  Status announce(verbs::AdapterId id, const verbs::Gid& gid, verbs::GidType type);
  void withdraw(verbs::AdapterId id, const verbs::Gid& gid, verbs::GidType type);
  std::optional<verbs::Path> find(verbs::AdapterId from, const verbs::Gid& dgid,
                                  verbs::GidType type) const;
  void leave(verbs::AdapterId id);
  void reserve(verbs::AdapterId id, const Member& member);
  void unreserve(verbs::AdapterId id, const Member& member);
  std::string name_of(const Owner& owner) const;
  verbs::Transport* way(verbs::AdapterId from, const verbs::Gid& dgid, const Owner& owner) const;

  verbs::Transport& local_;
  Detour detour_;
  std::map<Key, Owner> owners_;
  std::map<verbs::AdapterId, Member> members_;
  std::map<verbs::HostId, Host> hosts_;
  std::map<Reserved, verbs::AdapterId> reserved_;
  std::uint64_t epoch_ = 1;
};

}  // namespace paravane::fabric
