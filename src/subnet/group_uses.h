// GroupUses: what the users of a port use its memberships in multicast groups for, as numbers.
// Subnet administration knows a port as a member and not for whom, so the port leaves a group with
// the last of its users that needs it.
//
// A full membership and one to send only are two. The subnet's thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "wire/infiniband/datagram.h"

namespace paravane::subnet {

class GroupUses {
 public:
  struct Group {
    wire::infiniband::Gid gid{};
    bool is_send_only = false;
    friend auto operator<=>(const Group&, const Group&) = default;
  };

  // One more user. Throws std::bad_alloc: it is not counted.
  void add(const Group& group) { ++users_[group]; }
  // One less; true: it was the last. One that was not added is not counted.
  bool remove(const Group& group) {
    const auto found = users_.find(group);
    if (found == users_.end()) return true;
    if (--found->second != 0) return false;
    users_.erase(found);
    return true;
  }
  std::size_t size() const { return users_.size(); }

 private:
  std::map<Group, std::uint32_t> users_;
};

}  // namespace paravane::subnet
