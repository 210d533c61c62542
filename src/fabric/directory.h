// Directory: who has which GID, and who may talk to whom along which path.
//
// On one host there is one switch and one path (local). First come, first
// served: a GID belongs to the adapter that announced it until it is withdrawn
// or the adapter leaves, and nobody can take it over meanwhile. A GID that is
// made from the MAC address of an adapter may only be announced by that adapter;
// one that somebody else held before the adapter joined goes back to nobody.
// RoCE v1 and RoCE v2 GIDs of one address are separate entries.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

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

  // One adapter joins; its port leaves with the returned object, which must not
  // outlive the directory. `name` is for error texts. REQUIRES: no member has
  // that id.
  std::unique_ptr<verbs::FabricPort> join(verbs::AdapterId id, std::string name,
                                          const MacAddress& mac);

  // Whether the adapter's link to the switch is up, as it is when it joins. While it is
  // down it reaches nobody and nobody reaches it; what it has announced stays its own.
  // REQUIRES: it is a member.
  void set_link(verbs::AdapterId id, bool up);

  // How many GIDs are announced.
  std::size_t gid_count() const { return owners_.size(); }

 private:
  class Port;
  using Key = std::pair<verbs::Gid, verbs::GidType>;
  struct Member {
    std::string name;
    verbs::Gid reserved;  // made from its MAC address
    bool linked = true;
  };

  Status announce(verbs::AdapterId id, const Key& key);
  void withdraw(verbs::AdapterId id, const Key& key);
  void leave(verbs::AdapterId id);

  verbs::Transport& local_;
  std::map<Key, verbs::AdapterId> owners_;
  std::map<verbs::AdapterId, Member> members_;
  std::map<verbs::Gid, verbs::AdapterId> reserved_;
  std::uint64_t epoch_ = 1;
};

}  // namespace paravane::fabric
