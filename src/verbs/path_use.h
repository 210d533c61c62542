// PathUse counts how many connections of one adapter use each path, and how often this has changed.
// A monitor can read these counts and does not need to check every queue pair.
//
// A path is a Transport and its destination, which is this host or another one. Connection updates
// the counts when it finds or loses a path, not for each message. If the last connection that left
// a path lost it and found no other, PathUse remembers its ends, so that a monitor can say why.
//
// Owner thread only.

#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>

#include "verbs/fabric_port.h"
#include "verbs/types.h"

namespace paravane::verbs {

class PathUse {
 public:
  struct Way {
    const Transport* transport = nullptr;  // outlives the adapter
    HostId host{};                         // none: this one

    friend auto operator<=>(const Way&, const Way&) = default;
  };

  // The GIDs of a connection.
  struct Ends {
    Gid source;
    Gid peer;
    GidType type{};

    friend bool operator==(const Ends&, const Ends&) = default;
  };

  // One connection stops using the path `from`, or begins to use `to`, or both.
  void move(const std::optional<Way>& from, const std::optional<Way>& to) {
    if (from == to) return;
    if (to) {
      ++counts_[*to];
      losses_.erase(*to);
    }
    ++changes_;
    if (!from) return;
    losses_.erase(*from);
    const auto left = counts_.find(*from);
    if (--left->second == 0) counts_.erase(left);
  }

  // The paths that at least one connection uses.
  const std::map<Way, std::uint32_t>& counts() const { return counts_; }
  std::uint64_t changes() const { return changes_; }

  // A connection stops using the path `from`, and finds no other.
  void lose(const Way& from, const Ends& ends) {
    move(from, std::nullopt);
    losses_[from] = ends;
  }
  // By path, the connection that left it last, if it lost it. It may have ended since.
  const std::map<Way, Ends>& losses() const { return losses_; }

 private:
  std::map<Way, std::uint32_t> counts_;
  std::map<Way, Ends> losses_;  // one for each host at most, and a few
  std::uint64_t changes_ = 0;
};

}  // namespace paravane::verbs
