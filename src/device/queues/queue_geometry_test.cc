#include "device/queues/queue_geometry.h"

#include <gtest/gtest.h>

namespace paravane::device {
namespace {

constexpr DeviceLimits kLimits;

abi::CreateQpCommand command_for(std::uint32_t send_wr, std::uint32_t send_sge,
                                 std::uint32_t recv_wr, std::uint32_t recv_sge) {
  abi::CreateQpCommand command{};
  command.max_send_wr.set(send_wr);
  command.max_send_sge.set(send_sge);
  command.max_recv_wr.set(recv_wr);
  command.max_recv_sge.set(recv_sge);
  const std::uint64_t send = ring_pages(send_wr, send_stride(send_sge));
  const std::uint64_t receive = ring_pages(recv_wr, receive_stride(recv_sge));
  command.send_chunks.set(static_cast<std::uint16_t>(send));
  command.total_chunks.set(static_cast<std::uint16_t>(1 + send + receive));
  return command;
}

TEST(QueueGeometry, C57_StridesAreThoseOfTheSpec) {
  struct Row {
    std::uint32_t sges, send, receive;
  };
  for (const Row row :
       {Row{1, 128, 32}, Row{2, 128, 64}, Row{3, 128, 64}, Row{4, 256, 128}, Row{8, 256, 256},
        Row{16, 512, 512}, Row{32, 1024, 1024}, Row{64, 2048, 2048}, Row{128, 4096, 4096}}) {
    EXPECT_EQ(send_stride(row.sges), row.send) << row.sges;
    EXPECT_EQ(receive_stride(row.sges), row.receive) << row.sges;
  }
}

TEST(QueueGeometry, C57_TheRoundingOfTheKernelDoesNotChangeAStride) {
  for (std::uint32_t sges = 1; sges <= 128; ++sges) {
    EXPECT_EQ(send_stride(std::bit_ceil(sges)), send_stride(std::bit_ceil(std::bit_ceil(sges))));
    EXPECT_GE(send_stride(std::bit_ceil(sges)), send_stride(sges));
    EXPECT_EQ(receive_stride(std::bit_ceil(sges)) % receive_stride(sges), 0u);
  }
}

TEST(QueueGeometry, C58_TheReceiveRingStartsBehindTheSendPages) {
  const auto geometry = queue_geometry(command_for(512, 3, 1024, 1), kLimits);

  ASSERT_TRUE(geometry.has_value());
  EXPECT_EQ(geometry->pages, 1u + 16u + 8u);
  EXPECT_EQ(geometry->send.elements_at, 4096u);
  EXPECT_EQ(geometry->send.element_bytes, 128u);
  EXPECT_EQ(geometry->send.elements, 512u);
  EXPECT_EQ(geometry->receive.elements_at, 4096u * 17);
  EXPECT_EQ(geometry->receive.element_bytes, 32u);
  EXPECT_EQ(geometry->receive.producer_at, 8u);
}

TEST(QueueGeometry, SmallQueuesTakeAPageEach) {
  const auto geometry = queue_geometry(command_for(1, 1, 1, 1), kLimits);

  ASSERT_TRUE(geometry.has_value());
  EXPECT_EQ(geometry->pages, 3u);
}

TEST(QueueGeometry, AtTheLimitIsFineAndOneAboveIsAQuota) {
  EXPECT_TRUE(queue_geometry(command_for(16384, 32, 1, 1), kLimits).has_value());

  const auto requests = queue_geometry(command_for(32768, 1, 1, 1), kLimits);
  ASSERT_FALSE(requests.has_value());
  EXPECT_EQ(requests.error().code, Errc::kResourceExhausted);
  const auto sges = queue_geometry(command_for(1, 1, 1, 33), kLimits);
  ASSERT_FALSE(sges.has_value());
  EXPECT_EQ(sges.error().code, Errc::kResourceExhausted);
}

TEST(QueueGeometry, APageCountThatWrapsIn16BitsIsRefused) {
  DeviceLimits limits;
  limits.queue_pair_requests = 1u << 21;
  auto command = command_for(1u << 21, 1, 1, 1);  // 65,536 pages: 0 in the field
  EXPECT_EQ(command.send_chunks.get(), 0u);

  EXPECT_FALSE(queue_geometry(command, limits).has_value());
}

}  // namespace
}  // namespace paravane::device
