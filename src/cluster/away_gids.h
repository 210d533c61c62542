// AwayGids remembers which GIDs belong to adapters of other hosts, also while these hosts are away
// and etcd has none of their keys. In a port group with native RoCE, such a GID must not be taken
// for one of a machine on the network: whatever answers for it there is not the adapter.
//
// A host's GIDs are remembered as they were when it was last seen, until it is back or has been
// removed from the cluster. The GIDs of adapters whose link is down are held too: their hosts say
// so. A GID that another adapter holds by now is that adapter's. The GIDs
// that are derived from the MAC addresses of other hosts' adapters are among them, since they are
// never another's.
//
// Owner thread only.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "inventory/view.h"

namespace paravane::cluster {

class AwayGids {
 public:
  // A GID of an adapter that cannot be reached by it now, and that adapter in words.
  struct Held {
    inventory::GidId gid;
    std::string owner;

    friend bool operator==(const Held&, const Held&) = default;
  };
  // The GIDs that are held according to the current state of the cluster, in order. `self`: this
  // host's name.
  std::vector<Held> look(const inventory::View& view, const std::string& self);
  // Takes over what was known of hosts that are away, before the first look().
  void recall(const inventory::View& away);
  // This host is not in that cluster any more.
  void clear() { hosts_.clear(); }

 private:
  using Gids = std::map<inventory::GidId, model::AdapterName>;

  void remember(const inventory::View& view, const std::string& self);
  std::map<std::string, Gids> hosts_;  // as last seen, with derived GIDs; View::kMaxHosts at most
};

}  // namespace paravane::cluster
