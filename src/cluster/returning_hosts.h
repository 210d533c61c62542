// ReturningHosts: an etcd that lost its data, or was started anew on another host, is empty at
// first, and each host says again what it said before, within seconds. Until it has, the others
// keep what they knew of it while they have a channel to it: the channel stays, and so do the
// connections over it.
//
// A host that was taken out of the cluster is not kept, nor one that was seen in the new etcd and
// went, nor any for longer than kReturn.
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
