// The keys that a host publishes about itself, within the limits that other hosts accept: a guest
// that fills the GID tables of its adapters displaces similar GIDs only, and no adapter.
//
// Any thread.

#pragma once

#include <cstddef>
#include <map>

#include "inventory/view.h"

namespace paravane::inventory {

// Below View::kMaxKeysPerHost, since keys of an earlier time may still stand there.
inline constexpr std::size_t kMaxOwnKeys = 20'000;

struct Said {
  OwnKeys keys;
  std::size_t left_out = 0;  // that found no room
};

// Adapters come first, then of each the GIDs that are made from its MAC address, then of
// each in turn one of the others.
Said say_all(const HostInfo& info, const std::map<model::AdapterName, AdapterInfo>& adapters,
             const std::map<GidId, model::AdapterName>& gids);

}  // namespace paravane::inventory
