// PathUse: how many connections of one adapter use each path, and how often that has changed, so
// that a monitor need not look at every queue pair.
//
// A path is a Transport plus its destination (this host or another). Connection updates the counts
// when it finds or loses a path, never per message.
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

  // One connection leaves its way, or takes one, or both.
  void move(const std::optional<Way>& from, const std::optional<Way>& to) {
    if (from == to) return;
    if (to) ++counts_[*to];
    ++changes_;
    if (!from) return;
    const auto left = counts_.find(*from);
    if (--left->second == 0) counts_.erase(left);
  }

  // Ways that at least one connection takes.
  const std::map<Way, std::uint32_t>& counts() const { return counts_; }
  std::uint64_t changes() const { return changes_; }

 private:
  std::map<Way, std::uint32_t> counts_;
  std::uint64_t changes_ = 0;
};

}  // namespace paravane::verbs
