// HostWrites measures how much each host writes to the inventory, the data that the hosts of a
// cluster share in etcd. This matters because etcd keeps every change until it is compacted. Once
// its space is used up, it accepts no writes from any host.
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
  // Bytes of keys and values. A host that writes all the keys it may, again with each lease, stays
  // below these limits.
  static constexpr std::uint64_t kBurst = std::uint64_t{32} << 20;
  static constexpr std::uint64_t kPerSecond = std::uint64_t{64} << 10;
  // The bytes that all hosts may write until etcd is compacted: an eighth of the space of an etcd
  // that Paravane runs.
  static constexpr std::uint64_t kUntilCompaction = std::uint64_t{64} << 20;

  // The bytes that all hosts may write until the remaining space is checked.
  static constexpr std::uint64_t kUntilLook = std::uint64_t{256} << 10;

  // `key` was written or deleted, which uses `bytes` of etcd's space.
  void note(std::string_view key, std::uint64_t bytes, Instant now);

  // The hosts that have exceeded their limit since the last call, each once.
  std::vector<std::string> take_excessive();
  // Whether it is time to compact, or to check the space. If true, the count starts again.
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
