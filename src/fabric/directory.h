// Directory: records which adapter owns each GID (the address of an RDMA port), and finds the path
// from one adapter to another. Adapters can reach each other only within the same segment, which is
// the network of a port group; with native RoCE, also through a router between segments where the
// operator allows it in both.
//
// A GID belongs to the first adapter in a segment that announces it, until that adapter withdraws
// it or leaves. A GID that is derived from an adapter's MAC address can only be announced by that
// adapter. If another adapter held such a GID before, the GID becomes free. The RoCE v1 GID and the
// RoCE v2 GID of one address are separate entries.
//
// The GIDs of another host's adapters are replaced as a whole. The caller has already resolved
// conflicts between hosts. Owner thread only.

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

// The GID that consists of the prefix fe80:: and the modified EUI-64 of the MAC address (RFC 4291,
// appendix A).
verbs::Gid link_local_gid(const MacAddress& mac);

class Directory {
 public:
  // `local` is the transport between adapters of this host. It outlives the directory.
  explicit Directory(verbs::Transport& local);
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  // A GID of an adapter of another host.
  struct RemoteGid {
    verbs::SegmentId segment{};
    verbs::Gid gid;
    verbs::GidType type{};

    friend bool operator==(const RemoteGid&, const RemoteGid&) = default;
  };
  // Replaces all GIDs of the adapters of that host. `via` is the transport to the host and outlives
  // the directory. A GID that an adapter of this host owns stays with it.
  void set_host(verbs::HostId host, std::string name, verbs::Transport& via,
                const std::vector<RemoteGid>& gids);
  // Another transport leads to that host from now on. A host that is not there is no error.
  void set_via(verbs::HostId host, verbs::Transport& via);
  // Removes all GIDs of that host, so its adapters cannot be reached any more.
  void remove_host(verbs::HostId host);

  // Adds an adapter. It leaves when the returned object is destroyed, which must not outlive the
  // directory. `name` is for error messages. REQUIRES: no member has that id.
  std::unique_ptr<verbs::FabricPort> join(verbs::AdapterId id, std::string name,
                                          const MacAddress& mac, verbs::SegmentId segment = {});

  // The same for an adapter whose own GID is derived from something else than a MAC address.
  std::unique_ptr<verbs::FabricPort> join_with_gid(verbs::AdapterId id, std::string name,
                                                   const verbs::Gid& own, verbs::SegmentId segment);

  // Moves an adapter to another segment, with its GIDs except those that another adapter owns
  // there. REQUIRES: the adapter is a member.
  void set_segment(verbs::AdapterId id, verbs::SegmentId segment);

  // Sets whether the link from the adapter to the switch is up, which is so when the adapter joins.
  // While the link is down, the adapter can neither reach other adapters nor be reached, but keeps
  // its GIDs. REQUIRES: the adapter is a member.
  void set_link(verbs::AdapterId id, bool up);

  // Sets the transport to native endpoints, which are GIDs that no adapter of the cluster owns;
  // null: the adapter cannot reach any, which is so when it joins. A GID that an adapter owns, or
  // that is derived from its MAC address, is never reached this way, even while that adapter cannot
  // be reached. `native` outlives the directory. REQUIRES: the adapter is a member.
  void set_native(verbs::AdapterId id, verbs::Transport* native);

  // A GID of an adapter that cannot be reached, but to which the GID belongs all the same.
  struct HeldGid {
    RemoteGid gid;
    std::string owner;  // in words

    friend bool operator==(const HeldGid&, const HeldGid&) = default;
  };
  // Replaces all held GIDs. None of them is a native endpoint's, and each may be announced.
  void set_held(const std::vector<HeldGid>& held);
  // What the operator allows in a segment.
  struct NetworkRules {
    std::string port_group;
    bool native = false;  // its adapters may reach native endpoints
    bool routed = false;  // and those of other such segments, through a router

    friend bool operator==(const NetworkRules&, const NetworkRules&) = default;
  };
  // Replaces the rules of all segments; one without rules allows nothing.
  void set_networks(std::map<verbs::SegmentId, NetworkRules> networks);

  // Sets whether all GIDs of other hosts are known, which is so at first. While they are not, no
  // GID counts as a native endpoint's.
  void set_others_known(bool known);
  // Sets whether they are being learnt (FabricPort::is_learning()), which is not so at first. The
  // caller bounds the time.
  void set_learning(bool learning) { learning_ = learning; }

  // The way from an adapter to a GID.
  struct Leg {
    verbs::AdapterId from{};
    verbs::Gid dgid;
    std::optional<verbs::AdapterId> peer;  // that owns the GID; nullopt: one of another host
    verbs::Transport* usual = nullptr;     // the transport that leads there
  };
  // Returns a transport to use instead of the usual one, for example to inject faults; null: use
  // the usual one.
  using Detour = std::function<verbs::Transport*(const Leg& leg)>;
  void set_detour(Detour detour) { detour_ = std::move(detour); }
  // The detour function may return other transports from now on.
  void detours_changed() { ++epoch_; }

  // The path from a GID of an adapter to another GID, as the adapter would find it now. nullopt:
  // there is no path, or the adapter does not own `sgid`.
  std::optional<verbs::Path> route(verbs::AdapterId from, const verbs::Gid& sgid,
                                   const verbs::Gid& dgid, verbs::GidType type) const;

  // Why route() finds no path.
  struct Absence {
    enum class Why : std::uint8_t {
      kNone,        // it finds one
      kNoSource,    // the adapter does not own `sgid`
      kOwnLink,     // the adapter's link is down
      kNotUnicast,  // no adapter can own `dgid`
      kPeerLink,    // `dgid` belongs to `owner`, whose link is down
      kHeld,        // `dgid` belongs to `owner`, which cannot be reached
      kUnknown,     // not all GIDs of other hosts are known
      kNoOwner,     // no adapter owns `dgid`, and this one reaches no native endpoints
    };
    Why why{};
    std::string owner{};  // in words

    friend bool operator==(const Absence&, const Absence&) = default;
  };
  Absence why_no_route(verbs::AdapterId from, const verbs::Gid& sgid, const verbs::Gid& dgid,
                       verbs::GidType type) const;

  // What the GID of a native endpoint is in the other segments. The same address may be another
  // machine's there, and only where both segments are routed do they share their addresses.
  // Therefore an owner in another segment never takes a GID away from the adapters of this one:
  // packets to it leave, but not through a router where that is not allowed.
  struct Crossing {
    // Of several owners, the one of the later kind decides.
    enum class Kind : std::uint8_t {
      kNone,       // no adapter of another segment owns it
      kNotNative,  // one does, but no adapter there reaches native endpoints
      kVersion1,   // one does, and RoCE v1 is not routed
      kRouted,     // one does, and both segments are routed
      kOff,        // one does, but `off` is not routed
    };
    Kind kind{};
    std::string owner{};       // in words
    std::string port_group{};  // the owner's
    std::string off{};         // the port group that is not routed
    // kRouted: why the owner cannot be reached through any router, in words; empty: it can, as far
    // as this host knows.
    std::string absence{};
    verbs::HostId host{};  // of the owner; none: this one, or one that is away

    friend bool operator==(const Crossing&, const Crossing&) = default;
  };
  // REQUIRES: the adapter is a member.
  Crossing crossing(verbs::AdapterId from, const verbs::Gid& dgid, verbs::GidType type) const;

  // The adapter of this host that owns the GID. nullopt: no adapter of this host owns it, or its
  // link is down.
  std::optional<verbs::AdapterId> find_local(verbs::SegmentId segment, const verbs::Gid& gid,
                                             verbs::GidType type) const;

  // A GID that an adapter of this host has announced. GIDs on the built-in switch are not included,
  // because other hosts cannot reach it.
  struct LocalGid {
    verbs::AdapterId adapter{};
    verbs::SegmentId segment{};
    verbs::Gid gid;
    verbs::GidType type{};
    bool linked = true;  // false: the adapter's link is down
  };
  std::vector<LocalGid> shared_gids() const;

  // All GIDs of that type in the segment whose adapters can be reached, of all hosts.
  std::vector<verbs::Gid> gids_in(verbs::SegmentId segment, verbs::GidType type) const;

  // A number that changes whenever a GID, a link or a segment of any adapter changes.
  std::uint64_t epoch() const { return epoch_; }

  // The number of known GIDs.
  std::size_t gid_count() const { return owners_.size(); }

 private:
  class Port;
  // The segment is last, so that all owners of one GID are neighbours.
  using Key = std::tuple<verbs::Gid, verbs::GidType, verbs::SegmentId>;
  using Reserved = std::pair<verbs::SegmentId, verbs::Gid>;
  using Owner = std::variant<verbs::AdapterId, verbs::HostId>;
  struct Member {
    std::string name;
    verbs::Gid reserved;  // derived from its MAC address
    verbs::SegmentId segment{};
    bool linked = true;
    verbs::Transport* native = nullptr;
  };
  struct Host {
    std::string name;
    verbs::Transport* via;
  };

  Status announce(verbs::AdapterId id, const verbs::Gid& gid, verbs::GidType type);
  void withdraw(verbs::AdapterId id, const verbs::Gid& gid, verbs::GidType type);
  std::optional<verbs::Path> find(verbs::AdapterId from, const verbs::Gid& dgid,
                                  verbs::GidType type) const;
  bool owns(verbs::AdapterId id, const verbs::Gid& gid, verbs::GidType type) const;
  Absence why_not_native(const Member& member, const verbs::Gid& dgid, verbs::GidType type) const;
  // The segment of the owner that decides, and how.
  struct Neighbour {
    Crossing::Kind kind{};
    verbs::SegmentId segment{};
  };
  Neighbour find_elsewhere(verbs::SegmentId from, const verbs::Gid& dgid,
                           verbs::GidType type) const;
  Crossing::Kind judge(verbs::SegmentId from, verbs::SegmentId to, verbs::GidType type) const;
  const NetworkRules& rules_of(verbs::SegmentId segment) const;
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
  std::map<Key, std::string> held_;  // the owner, in words
  std::map<verbs::SegmentId, NetworkRules> networks_;
  bool others_known_ = true;
  bool learning_ = false;
  std::uint64_t epoch_ = 1;
};

}  // namespace paravane::fabric
