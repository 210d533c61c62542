// ReturningHosts: keeps hosts known while they write their keys to an empty etcd again. An etcd
// that lost its data, or was started on another host, is empty at first, and each host writes its
// keys again within seconds. Until then, the other hosts keep the last known keys of a host to
// which they have a channel, so the channel and its connections stay open.
//
// A host is not kept if it was removed from the cluster, if it already appeared in the new etcd and
// left, or after kReturn.
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

  // The inventory is out of reach: what is read next may be another etcd's.
  void on_away() { was_away_ = true; }
  // What to follow of `read`, where `known` was followed before it (null: nothing was) and there
  // are channels to `connected`.
  SharedView complete(SharedView read, const inventory::View* known,
                      const std::set<std::string>& connected, Instant now);
  // When the hosts that have not returned are given up; kNever: none is awaited.
  Instant deadline() const { return awaited_.empty() ? kNever : deadline_; }
  // What was read last, without them. REQUIRES: some are awaited.
  SharedView give_up();

 private:
  bool was_away_ = false;
  std::set<std::string> awaited_;
  Instant deadline_{};
  SharedView read_;  // last; null: no host is awaited
};

}  // namespace paravane::cluster
