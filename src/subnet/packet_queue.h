// PacketQueue: packets within this host that are on their way from one node to another. A packet
// that is sent is put here and arrives in a later step, so no node is called from within its own
// call.
//
// Bounded in bytes, so that a loop in a switch's tables, which a manager may write, costs nothing
// but the packets in it. A port that sends has a share of it, so that one program that floods its
// port does not use up the room of all. The subnet's thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>

#include "subnet/link_end.h"
#include "subnet/port.h"

namespace paravane::subnet {

class PacketReceiver {
 public:
  virtual ~PacketReceiver() = default;
  virtual void on_packet(PortNumber arrived, Packet packet) = 0;
};

class PacketQueue {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{8} * 1024 * 1024;
  static constexpr std::size_t kMostOfSource = kMostBytes / 4;

  // `source`: the port that sends; nullptr: it has no bound of its own. False: there is no room and
  // the packet is dropped. Throws std::bad_alloc: it is dropped, too.
  bool put(PacketReceiver& to, PortNumber port, Packet packet, const Port* source = nullptr) {
    const std::size_t bytes = packet.size();
    if (bytes_ + bytes > kMostBytes) return false;
    std::size_t& of_source = by_source_[source];
    if (source != nullptr && of_source + bytes > kMostOfSource) return false;
    waiting_.push_back({.to = &to, .port = port, .packet = std::move(packet), .source = source});
    bytes_ += bytes;  // last: what finds no memory is not counted
    of_source += bytes;
    return true;
  }

  // Delivers at most `limit` packets; returns how many.
  std::size_t deliver(std::size_t limit) {
    std::size_t delivered = 0;
    for (; delivered < limit && !waiting_.empty(); ++delivered) {
      Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      take_out(next);
      next.to->on_packet(next.port, std::move(next.packet));
    }
    return delivered;
  }

  bool empty() const { return waiting_.empty(); }
  // Drops what is on its way to `to`, which goes.
  void forget(const PacketReceiver& to) {
    std::erase_if(waiting_, [this, &to](const Waiting& waiting) {
      if (waiting.to != &to) return false;
      take_out(waiting);
      return true;
    });
  }

 private:
  struct Waiting {
    PacketReceiver* to;
    PortNumber port;
    Packet packet;
    const Port* source;
  };
  void take_out(const Waiting& waiting) {
    bytes_ -= waiting.packet.size();
    const auto found = by_source_.find(waiting.source);
    if (found == by_source_.end()) return;  // one without bytes
    found->second -= waiting.packet.size();
    if (found->second == 0) by_source_.erase(found);
  }

  std::deque<Waiting> waiting_;
  std::size_t bytes_ = 0;
  std::unordered_map<const Port*, std::size_t> by_source_;  // bytes
};

}  // namespace paravane::subnet
