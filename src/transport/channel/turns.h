// Turns decides which link sends next. Adapters take turns, and in an adapter's turn, the link that
// has waited longest may send. A guest with thousands of sending queue pairs therefore gets no more
// turns than a guest with one.
//
// Owner thread only.

#pragma once

#include <unordered_map>

#include "base/line.h"
#include "verbs/fabric_port.h"

namespace paravane::transport_channel {

template <typename T>
class Turns {
  struct Lane {
    explicit Lane(Turns& its_turns) : turns(its_turns) {}
    Turns& turns;
    Line<T> line;
    typename Line<Lane>::Place place;
  };

 public:
  // A member of each object that can wait. leave() must be called before it is destroyed.
  class Place {
   public:
    bool taken() const { return in_lane_.taken(); }
    // Does nothing if it is not taken.
    void leave() {
      if (!taken()) return;
      lane_->line.leave(in_lane_);
      if (lane_->line.empty()) lane_->turns.lanes_.leave(lane_->place);
    }

   private:
    friend class Turns;
    typename Line<T>::Place in_lane_;
    Lane* lane_ = nullptr;
  };

  bool empty() const { return lanes_.empty(); }

  // Adds the object at the end of its adapter's line. REQUIRES: !place.taken().
  void join(T& who, verbs::AdapterId adapter, Place& place) {
    Lane& lane = all_.try_emplace(adapter, *this).first->second;
    place.lane_ = &lane;
    lane.line.join(who, place.in_lane_);
    if (!lane.place.taken()) lanes_.join(lane, lane.place);
  }

  // Removes and returns the object whose turn it is; nullptr: no object waits.
  T* call() {
    Lane* lane = lanes_.call();
    if (lane == nullptr) return nullptr;
    T* who = lane->line.call();
    if (!lane->line.empty()) lanes_.join(*lane, lane->place);
    return who;
  }

 private:
  std::unordered_map<verbs::AdapterId, Lane> all_;  // ids are few, and used again
  Line<Lane> lanes_;                                // those that are not empty
};

}  // namespace paravane::transport_channel
