// PacketQueue: packets within this host that are on their way from one node to another. A packet
// that is sent is put here and arrives in a later step, so no node is called from within its own
// call.
//
// Bounded in bytes, so that a loop in a switch's tables, which a manager may write, costs nothing
// but the packets in it. Packets have a share of it by the port of the switch through which they
// came in, or else by the port that sends them: a VM or another host that floods a group does not
// use up the room of all, however many members of this host the group has. Subnet management
// (virtual lane 15, IBTA volume 1, 7.6.3) has room of its own and goes first, with at most half of
// what is delivered, so that a subnet under load can be managed. The subnet's thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>

#include "subnet/link_end.h"
#include "subnet/port.h"
#include "wire/infiniband/local_route.h"
#include "wire/roce/header_at.h"

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
  // Of subnet management, which is in datagrams of 280 bytes.
  static constexpr std::size_t kMostManagementBytes = std::size_t{1} * 1024 * 1024;

  // `sender`: the port that sends; nullptr: it has no bound of its own. False: there is no room and
  // the packet is dropped. Throws std::bad_alloc: it is dropped, too.
  bool put(PacketReceiver& to, PortNumber port, Packet packet, const Port* sender = nullptr) {
    Lane& lane = is_management(packet) ? management_ : data_;
    const void* source = packet.entered != nullptr ? packet.entered : sender;
    return lane.put({.to = &to, .port = port, .packet = std::move(packet), .source = source});
  }

  // Delivers packets until `limit` of them were delivered, or sent on by a switch meanwhile.
  // Returns how many were delivered.
  std::size_t deliver(std::size_t limit) {
    const std::uint64_t before = sent_on_;
    std::size_t delivered = 0;
    const auto deliver_of = [&](Lane& lane, std::size_t most) {
      for (; delivered + (sent_on_ - before) < most && !lane.empty(); ++delivered) {
        Waiting next = lane.take();
        next.to->on_packet(next.port, std::move(next.packet));
      }
    };
    deliver_of(management_, data_.empty() ? limit : limit / 2);
    deliver_of(data_, limit);
    return delivered;
  }

  // A switch has sent a packet on through one of its ports: one to a group goes through many.
  void count_sent_on() { ++sent_on_; }

  bool empty() const { return management_.empty() && data_.empty(); }
  // Drops what is on its way to `to`, which goes.
  void forget(const PacketReceiver& to) {
    management_.forget(to);
    data_.forget(to);
  }

 private:
  struct Waiting {
    PacketReceiver* to;
    PortNumber port;
    Packet packet;
    const void* source;
  };

  // In line, with the bytes of all and of each source.
  class Lane {
   public:
    explicit Lane(std::size_t most) : most_(most) {}
    bool put(Waiting waiting) {
      const std::size_t bytes = waiting.packet.size();
      if (bytes_ + bytes > most_) return false;
      std::size_t& of_source = by_source_[waiting.source];
      if (waiting.source != nullptr && of_source + bytes > most_ / kShares) return false;
      waiting_.push_back(std::move(waiting));
      bytes_ += bytes;  // last: what finds no memory is not counted
      of_source += bytes;
      return true;
    }
    // REQUIRES: it is not empty.
    Waiting take() {
      Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      take_out(next);
      return next;
    }
    bool empty() const { return waiting_.empty(); }
    void forget(const PacketReceiver& to) {
      std::erase_if(waiting_, [this, &to](const Waiting& waiting) {
        if (waiting.to != &to) return false;
        take_out(waiting);
        return true;
      });
    }

   private:
    void take_out(const Waiting& waiting) {
      bytes_ -= waiting.packet.size();
      const auto found = by_source_.find(waiting.source);
      if (found == by_source_.end()) return;  // one without bytes
      found->second -= waiting.packet.size();
      if (found->second == 0) by_source_.erase(found);
    }

    const std::size_t most_;
    std::deque<Waiting> waiting_;
    std::size_t bytes_ = 0;
    std::unordered_map<const void*, std::size_t> by_source_;  // bytes
  };

  // One that is too short for a header is data, which its receiver refuses.
  static bool is_management(const Packet& packet) {
    using wire::infiniband::LocalRouteHeader;
    return packet.size() >= sizeof(LocalRouteHeader) &&
           wire::roce::header_at<LocalRouteHeader>(packet).lane() ==
               wire::infiniband::kManagementLane;
  }

  static constexpr std::size_t kShares = kMostBytes / kMostOfSource;
  Lane management_{kMostManagementBytes};
  Lane data_{kMostBytes};
  std::uint64_t sent_on_ = 0;  // in all
};

}  // namespace paravane::subnet
