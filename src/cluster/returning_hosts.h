// ReturningHosts: remembers the other hosts while they write their keys to an empty etcd again. An
// etcd that has lost its data, or was started on another host, is empty at first, and every host
// writes its keys again within seconds. Until then, this host keeps the last known keys of each
// host to which it has a channel, so that the channel and its connections stay open.
//
// A host is forgotten if it was removed from the cluster, if it appeared in the new etcd and left
// again, or if it has not returned within kReturn.
//
// Owner thread only.

#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>

#include "base/instant.h"
#include "inventory/view.h"

namespace paravane::cluster {

class ReturningHosts {
 public:
  using SharedView = std::shared_ptr<const inventory::View>;
  static constexpr Duration kReturn = std::chrono::seconds(60);

  // The connection to etcd was lost. The next state that is read may come from another etcd.
  void on_away() { was_away_ = true; }
  // Returns the state to follow, which is `read` and the hosts that are expected to return.
  // `known`: the state that was followed before (null: there was none). `connected`: the hosts to
  // which there are channels.
  SharedView complete(SharedView read, const inventory::View* known,
                      const std::set<std::string>& connected, Instant now);
  // The time at which hosts that have not returned are given up; kNever: no host is expected.
  Instant deadline() const { return awaited_.empty() ? kNever : deadline_; }
  // Stops waiting, and returns the last state that was read, without the expected hosts. REQUIRES:
  // some hosts are expected.
  SharedView give_up();

 private:
  bool was_away_ = false;
  std::set<std::string> awaited_;
  Instant deadline_{};
  SharedView read_;  // the state read last; null: no host is expected
};

}  // namespace paravane::cluster
