// PathUse counts how many connections of one adapter use each path, and how often this has changed.
// A monitor can read these counts and does not need to check every queue pair.
//
// A path is a Transport and its destination, which is this host or another one. Connection updates
// the counts when it finds or loses a path, not for each message.
//
// Owner thread only.

#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>

#include "verbs/fabric_port.h"

namespace paravane::verbs {

class PathUse {
 public:
  struct Way {
    const Transport* transport = nullptr;  // outlives the adapter
    HostId host{};                         // none: this one

    friend auto operator<=>(const Way&, const Way&) = default;
  };

  // One connection stops using the path `from`, or begins to use `to`, or both.
  void move(const std::optional<Way>& from, const std::optional<Way>& to) {
    if (from == to) return;
    if (to) ++counts_[*to];
    ++changes_;
    if (!from) return;
    const auto left = counts_.find(*from);
    if (--left->second == 0) counts_.erase(left);
  }

  // The paths that at least one connection uses.
  const std::map<Way, std::uint32_t>& counts() const { return counts_; }
  std::uint64_t changes() const { return changes_; }

 private:
  std::map<Way, std::uint32_t> counts_;
  std::uint64_t changes_ = 0;
};

}  // namespace paravane::verbs
