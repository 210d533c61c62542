#include "capture/packet_ring.h"

#include <gtest/gtest.h>

#include <thread>

namespace paravane::capture {
namespace {

std::vector<std::byte> packet_of(std::size_t bytes, unsigned value) {
  return std::vector<std::byte>(bytes, static_cast<std::byte>(value));
}

bool push(PacketRing& ring, const std::vector<std::byte>& packet, std::uint32_t interface = 0) {
  return ring.push({.timestamp_ns = 7,
                    .interface = interface,
                    .original_bytes = 5000,
                    .kept_bytes = static_cast<std::uint32_t>(packet.size()),
                    .is_outbound = true},
                   packet);
}

TEST(PacketRingTest, GivesBackWhatWasPutIn) {
  PacketRing ring(1024, 2);
  std::vector<std::byte> out;
  EXPECT_FALSE(ring.take(out));
  ASSERT_TRUE(push(ring, packet_of(3, 1)));
  ASSERT_TRUE(push(ring, packet_of(0, 2), 1));
  const auto first = ring.take(out);
  ASSERT_TRUE(first);
  EXPECT_EQ(out, packet_of(3, 1));
  EXPECT_EQ(first->original_bytes, 5000u);
  EXPECT_TRUE(first->is_outbound);
  const auto second = ring.take(out);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->interface, 1u);
  EXPECT_TRUE(out.empty());
  EXPECT_FALSE(ring.take(out));
}

TEST(PacketRingTest, CountsWhatFindsNoRoom) {
  PacketRing ring(256, 1);
  const auto packet = packet_of(256 - sizeof(PacketInfo), 1);
  ASSERT_TRUE(push(ring, packet));
  EXPECT_FALSE(push(ring, {}));
  ring.count_dropped(0, 10);
  EXPECT_EQ(ring.counts(0).seen, 12u);
  EXPECT_EQ(ring.counts(0).dropped, 11u);
  std::vector<std::byte> out;
  ASSERT_TRUE(ring.take(out));
  EXPECT_EQ(out, packet);
  EXPECT_TRUE(push(ring, packet));
}

TEST(PacketRingTest, TellsBetweenWhichPacketsSomeWereDropped) {
  PacketRing ring(256, 2);
  const auto packet = packet_of(256 - sizeof(PacketInfo), 1);
  std::vector<std::byte> out;
  const auto dropped = [&] {
    const auto info = ring.take(out);
    return info ? info->dropped_before : 99;
  };
  ASSERT_TRUE(push(ring, packet));
  EXPECT_FALSE(push(ring, packet));
  ring.count_dropped(0, 2);
  ring.count_dropped(1, 5);
  EXPECT_EQ(dropped(), 0u);
  ASSERT_TRUE(push(ring, {}));
  ASSERT_TRUE(push(ring, {}));
  ASSERT_TRUE(push(ring, {}, 1));
  EXPECT_EQ(dropped(), 3u);
  EXPECT_EQ(dropped(), 0u);
  EXPECT_EQ(dropped(), 5u);
}

TEST(PacketRingTest, WrapsAtEveryPlace) {
  PacketRing ring(256, 1);
  std::vector<std::byte> out;
  for (unsigned i = 0; i < 2000; ++i) {
    const auto packet = packet_of(i % 90, i);
    ASSERT_TRUE(push(ring, packet));
    ASSERT_TRUE(ring.take(out));
    ASSERT_EQ(out, packet);
  }
}

TEST(PacketRingTest, CarriesFromOneThreadToAnother) {
  PacketRing ring(4096, 1);
  constexpr unsigned kPackets = 20'000;
  std::thread producer([&ring] {
    for (unsigned i = 0; i < kPackets; ++i) push(ring, packet_of(1 + i % 100, i));
    push(ring, {});
    while (ring.counts(0).seen == ring.counts(0).dropped) push(ring, {});
  });
  std::vector<std::byte> out;
  std::uint64_t got = 0;
  const auto drain = [&] {
    while (ring.take(out)) {
      ++got;
      for (const std::byte byte : out) ASSERT_EQ(byte, out.front());
    }
  };
  while (ring.counts(0).seen < kPackets) drain();
  producer.join();
  drain();
  EXPECT_EQ(got, ring.counts(0).seen - ring.counts(0).dropped);
}

}  // namespace
}  // namespace paravane::capture
