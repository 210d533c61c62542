#include "subnet/packet_queue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "testing/bare_node.h"
#include "testing/heard_packets.h"
#include "wire/infiniband/datagram.h"

namespace paravane::subnet {
namespace {

using fake::BareNode;
using fake::HeardPackets;
using wire::infiniband::NodeType;

Packet management_packet(std::size_t bytes) {
  Packet packet;
  wire::infiniband::write_datagram({.destination = 0xFFFF, .lane = 15}, {}, packet);
  packet.resize(bytes);
  return packet;
}

Packet entered_through(const BareNode& node, PortNumber port, std::size_t bytes = 4096) {
  Packet packet(bytes);
  packet.entered = node.port(port);
  return packet;
}

TEST(PacketQueueTest, AllSourcesTogetherAreBounded) {
  PacketQueue queue;
  HeardPackets receiver;
  BareNode sources(NodeType::kSwitch, 6);
  std::size_t taken = 0;
  for (PortNumber source = 1; source <= 6; ++source) {
    while (queue.put(receiver, 1, Packet(4096), sources.port(source))) ++taken;
  }
  EXPECT_EQ(taken, PacketQueue::kMostBytes / 4096);
  EXPECT_EQ(queue.deliver(taken), taken);
  // What was delivered, or forgotten, is not counted any more.
  while (queue.put(receiver, 1, Packet(4096), sources.port(1))) ++taken;
  queue.forget(receiver);
  EXPECT_TRUE(queue.put(receiver, 1, Packet(PacketQueue::kMostOfSource), sources.port(1)));
}

TEST(PacketQueueTest, DeliversInOrderAndNoMoreThanItIsTold) {
  PacketQueue queue;
  HeardPackets receiver;
  for (std::size_t i = 1; i <= 5; ++i) EXPECT_TRUE(queue.put(receiver, 2, Packet(i * 10)));
  EXPECT_EQ(queue.deliver(2), 2u);
  EXPECT_EQ(receiver.bytes, (std::vector<std::size_t>{10, 20}));
  EXPECT_FALSE(queue.empty());
  EXPECT_EQ(queue.deliver(99), 3u);
  EXPECT_TRUE(queue.empty());
}

TEST(PacketQueueTest, ForgetsWhatIsOnItsWayToAReceiverThatGoes) {
  PacketQueue queue;
  HeardPackets stays;
  HeardPackets goes;
  const std::size_t half = PacketQueue::kMostBytes / 2;
  EXPECT_TRUE(queue.put(goes, 1, Packet(half)));
  EXPECT_TRUE(queue.put(stays, 1, Packet(half)));
  EXPECT_FALSE(queue.put(stays, 1, Packet(1)));
  queue.forget(goes);
  EXPECT_TRUE(queue.put(stays, 1, Packet(half)));  // its room is free again
  EXPECT_EQ(queue.deliver(9), 2u);
  EXPECT_TRUE(goes.ports.empty());
}

// However many ports a flood goes out through.
TEST(PacketQueueTest, TheShareIsThatOfThePortWhereAPacketCameIn) {
  PacketQueue queue;
  HeardPackets receiver;
  BareNode node(NodeType::kSwitch, 6);
  std::size_t taken = 0;
  for (PortNumber out = 1; out <= 5; ++out) {
    while (queue.put(receiver, 1, entered_through(node, 6), node.port(out))) ++taken;
  }
  EXPECT_EQ(taken, PacketQueue::kMostOfSource / 4096);
  EXPECT_TRUE(queue.put(receiver, 1, entered_through(node, 5), node.port(1)));
  EXPECT_TRUE(queue.put(receiver, 1, Packet(4096), node.port(1)));
}

TEST(PacketQueueTest, ManagementHasRoomOfItsOwnAndGoesFirst) {
  PacketQueue queue;
  HeardPackets receiver;
  while (queue.put(receiver, 1, Packet(4096))) continue;
  EXPECT_TRUE(queue.put(receiver, 2, management_packet(280)));
  EXPECT_EQ(queue.deliver(4), 4u);
  EXPECT_EQ(receiver.ports, (std::vector<PortNumber>{2, 1, 1, 1}));
  std::size_t bytes = 0;
  while (queue.put(receiver, 2, management_packet(4000))) bytes += 4000;
  EXPECT_LE(bytes, PacketQueue::kMostManagementBytes);
}

TEST(PacketQueueTest, ASourceThatFloodsManagementLeavesRoomForOthers) {
  PacketQueue queue;
  HeardPackets receiver;
  BareNode node(NodeType::kSwitch, 2);
  std::size_t bytes = 0;
  while (queue.put(receiver, 1, management_packet(4096), node.port(1))) bytes += 4096;
  EXPECT_EQ(bytes, PacketQueue::kMostManagementBytes / 4);
  EXPECT_TRUE(queue.put(receiver, 1, management_packet(280), node.port(2)));
}

TEST(PacketQueueTest, ManagementIsAtMostHalfOfWhatIsDelivered) {
  PacketQueue queue;
  HeardPackets receiver;
  for (int i = 0; i < 10; ++i) {
    queue.put(receiver, 1, Packet(100));
    queue.put(receiver, 2, management_packet(280));
  }
  EXPECT_EQ(queue.deliver(8), 8u);
  EXPECT_EQ(receiver.ports, (std::vector<PortNumber>{2, 2, 2, 2, 1, 1, 1, 1}));
  EXPECT_EQ(queue.deliver(100), 12u);
  EXPECT_TRUE(queue.empty());
}

// A packet to a group is as many packets as there are ports.
TEST(PacketQueueTest, WhatIsSentOnCountsAsDelivered) {
  class Copier final : public PacketReceiver {
   public:
    explicit Copier(PacketQueue& queue) : queue_(queue) {}
    void on_packet(PortNumber arrived, Packet /*packet*/) override {
      ++packets;
      for (unsigned i = 0; arrived == 1 && i < 64; ++i) {
        queue_.put(*this, 2, Packet(10));
        queue_.count_sent_on();
      }
    }
    unsigned packets = 0;

   private:
    PacketQueue& queue_;
  };
  PacketQueue queue;
  Copier copier(queue);
  for (unsigned i = 0; i < 100; ++i) queue.put(copier, 1, Packet(10));
  EXPECT_EQ(queue.deliver(130), 2u);
  EXPECT_EQ(queue.deliver(1), 1u) << "one at least";
  while (!queue.empty()) queue.deliver(1000);
  EXPECT_EQ(copier.packets, 100 + 100 * 64u);
}

}  // namespace
}  // namespace paravane::subnet
