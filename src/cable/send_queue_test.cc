#include "cable/send_queue.h"

#include <gtest/gtest.h>

namespace paravane::cable {
namespace {

subnet::Packet packet_of(std::size_t bytes) {
  return subnet::Packet(bytes, std::byte{1});
}

TEST(SendQueue, ManagementGoesFirst) {
  SendQueue queue;
  EXPECT_TRUE(queue.put(false, packet_of(100)));
  EXPECT_TRUE(queue.put(true, packet_of(200)));
  EXPECT_EQ(queue.front().size(), 200U);
  queue.pop();
  EXPECT_EQ(queue.front().size(), 100U);
  queue.pop();
  EXPECT_TRUE(queue.empty());
}

TEST(SendQueue, ManagementIsBoundedInPackets) {
  SendQueue queue;
  for (std::size_t i = 0; i < SendQueue::kMostManagement; ++i)
    EXPECT_TRUE(queue.put(true, packet_of(28)));
  EXPECT_FALSE(queue.put(true, packet_of(28)));
  EXPECT_TRUE(queue.put(false, packet_of(28))) << "data has a room of its own";
  queue.pop();
  EXPECT_TRUE(queue.put(true, packet_of(28)));
}

TEST(SendQueue, DataIsBoundedInBytesAndSmallPacketsCostMore) {
  for (const std::size_t bytes : {std::size_t{28}, std::size_t{4096}}) {
    SendQueue queue;
    std::size_t taken = 0;
    while (queue.put(false, packet_of(bytes))) ++taken;
    EXPECT_EQ(taken, SendQueue::kMostData / (bytes + SendQueue::kCostOfPacket));
    queue.pop();
    EXPECT_TRUE(queue.put(false, packet_of(bytes)));
    queue.clear();
    EXPECT_TRUE(queue.empty());
    EXPECT_TRUE(queue.put(false, packet_of(bytes)));
  }
}

}  // namespace
}  // namespace paravane::cable
