// SendQueue: packets that wait to go out over a cable. Those of subnet management go first
// (virtual lane 15, IBTA volume 1, 7.6.3), so that a subnet under load can be managed.
//
// Bounded in packets and in bytes; what has no room is the caller's to drop and to count. The
// subnet's thread only.

#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "subnet/link_end.h"

namespace paravane::cable {

class SendQueue {
 public:
  static constexpr std::size_t kMostManagement = 256;                     // packets
  static constexpr std::size_t kMostData = std::size_t{2} * 1024 * 1024;  // bytes
  // What a packet costs besides its bytes, so that many small ones are bounded, too.
  static constexpr std::size_t kCostOfPacket = 64;

  // False: there is no room. Throws std::bad_alloc: it was not taken.
  bool put(bool is_management, subnet::Packet&& packet) {
    if (is_management) {
      if (management_.size() >= kMostManagement) return false;
      management_.push_back(std::move(packet));
      return true;
    }
    const std::size_t cost = packet.size() + kCostOfPacket;
    if (data_bytes_ + cost > kMostData) return false;
    data_.push_back(std::move(packet));
    data_bytes_ += cost;
    return true;
  }

  bool empty() const { return management_.empty() && data_.empty(); }
  // REQUIRES: it is not empty.
  const subnet::Packet& front() const {
    return management_.empty() ? data_.front() : management_.front();
  }
  void pop() {
    if (!management_.empty()) return management_.pop_front();
    data_bytes_ -= data_.front().size() + kCostOfPacket;
    data_.pop_front();
  }
  void clear() {
    management_.clear();
    data_.clear();
    data_bytes_ = 0;
  }

 private:
  std::deque<subnet::Packet> management_;
  std::deque<subnet::Packet> data_;
  std::size_t data_bytes_ = 0;
};

}  // namespace paravane::cable
