#include "inventory/own_keys.h"

#include <algorithm>
#include <vector>

namespace paravane::inventory {
namespace {

// Two at most are said of an adapter.
constexpr std::size_t kKeysOfAdapter = 2;

}  // namespace

Said say_all(const HostInfo& info, const std::map<model::AdapterName, AdapterInfo>& adapters,
             const AdapterGids& gids, const AdapterGids& unlinked) {
  Said said;
  say_info(said.keys, info);
  std::map<model::AdapterName, std::vector<GidId>> own, others;
  std::size_t longest = 0;
  for (const auto& [gid, id] : gids) {
    const auto adapter = adapters.find(id);
    if (adapter == adapters.end()) continue;
    const bool is_own = gid.gid == link_local_gid(adapter->second.mac);
    std::vector<GidId>& list = (is_own ? own : others)[id];
    list.push_back(gid);
    longest = std::max(longest, list.size());
  }
  for (const auto& [id, adapter] : adapters) {
    if (said.keys.size() + kKeysOfAdapter > kMaxOwnKeys) {
      said.left_out += kKeysOfAdapter;
    } else {
      say_adapter(said.keys, id, adapter);
    }
  }
  for (const auto* table : {&own, &others}) {
    for (std::size_t round = 0; round < longest; ++round) {
      for (const auto& [id, list] : *table) {
        if (round >= list.size()) continue;
        if (said.keys.size() < kMaxOwnKeys) {
          say_gid(said.keys, list[round], id);
        } else {
          ++said.left_out;
        }
      }
    }
  }
  for (const auto& [gid, id] : unlinked) {
    if (!adapters.contains(id)) continue;
    if (said.keys.size() < kMaxOwnKeys) {
      say_unlinked_gid(said.keys, gid, id);
    } else {
      ++said.left_out;
    }
  }
  return said;
}

}  // namespace paravane::inventory
