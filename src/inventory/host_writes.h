// HostWrites: how much each host writes to the inventory, measured from the watch. etcd keeps
// every change until it is compacted, and accepts no more writes from any host once its space is
// used up.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"

namespace paravane::inventory {

class HostWrites {
 public:
  // Of keys and values. A host that says all that it may, anew on each lease, stays below.
  static constexpr std::uint64_t kBurst = std::uint64_t{32} << 20;
  static constexpr std::uint64_t kPerSecond = std::uint64_t{64} << 10;
  // What all may write until it is time to compact: an eighth of the space of an etcd of ours.
  static constexpr std::uint64_t kUntilCompaction = std::uint64_t{64} << 20;

  // And until it is time to look how much space is left.
  static constexpr std::uint64_t kUntilLook = std::uint64_t{256} << 10;

  // `key` was written, or taken away; it takes so many bytes there.
  void note(std::string_view key, std::uint64_t bytes, Instant now);

  // Hosts that have written more than they may since they were last asked for, each once.
  std::vector<std::string> take_excessive();
  // Whether it is time, and not again until as much was written.
  bool take_compaction();
  bool take_look();

 private:
  struct Bucket {
    std::uint64_t used = 0;
    Instant at{};
    bool told = false;
  };
  std::map<std::string, Bucket> hosts_;  // View::kMaxHosts at most
  std::vector<std::string> excessive_;
  std::uint64_t since_compaction_ = 0;
  std::uint64_t since_look_ = 0;
};

}  // namespace paravane::inventory
