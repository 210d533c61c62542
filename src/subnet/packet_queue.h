// PacketQueue: packets within this host that are on their way from one node to another. A packet
// that is sent is put here and arrives in a later step, so no node is called from within its own
// call.
//
// Bounded in bytes, so that a loop in a switch's tables, which a manager may write, costs nothing
// but the packets in it. The subnet's thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
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

  // False: the queue is full and the packet dropped. Throws std::bad_alloc: it is dropped, too.
  bool put(PacketReceiver& to, PortNumber port, Packet packet) {
    if (bytes_ + packet.size() > kMostBytes) return false;
    const std::size_t bytes = packet.size();
    waiting_.push_back({.to = &to, .port = port, .packet = std::move(packet)});
    bytes_ += bytes;  // last: what finds no memory is not counted
    return true;
  }

  // Delivers at most `limit` packets; returns how many.
  std::size_t deliver(std::size_t limit) {
    std::size_t delivered = 0;
    for (; delivered < limit && !waiting_.empty(); ++delivered) {
      Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      bytes_ -= next.packet.size();
      next.to->on_packet(next.port, std::move(next.packet));
    }
    return delivered;
  }

  bool empty() const { return waiting_.empty(); }
  // Drops what is on its way to `to`, which goes.
  void forget(const PacketReceiver& to) {
    std::erase_if(waiting_, [this, &to](const Waiting& waiting) {
      if (waiting.to != &to) return false;
      bytes_ -= waiting.packet.size();
      return true;
    });
  }

 private:
  struct Waiting {
    PacketReceiver* to;
    PortNumber port;
    Packet packet;
  };
  std::deque<Waiting> waiting_;
  std::size_t bytes_ = 0;
};

}  // namespace paravane::subnet
