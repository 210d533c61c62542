// Selects the keys that a host publishes about itself, within the limits that the other hosts
// accept. The keys of adapters come first. If a guest fills the GID tables of its adapters, some
// GIDs can be left out, but no adapter is left out.
//
// Any thread.

#pragma once

#include <cstddef>
#include <map>

#include "inventory/view.h"

namespace paravane::inventory {

// Below View::kMaxKeysPerHost, because older keys of this host may still be in etcd.
inline constexpr std::size_t kMaxOwnKeys = 20'000;

struct Said {
  OwnKeys keys;
  std::size_t left_out = 0;  // GIDs and adapters beyond the limit
};

// Adapters come first, then the GIDs that are derived from their MAC addresses. The other GIDs
// follow, one from each adapter in turn, and at last the GIDs of adapters whose link is down.
Said say_all(const HostInfo& info, const std::map<model::AdapterName, AdapterInfo>& adapters,
             const AdapterGids& gids, const AdapterGids& unlinked = {});

}  // namespace paravane::inventory
