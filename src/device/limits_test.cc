#include "device/limits.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>

namespace paravane::device {
namespace {

std::string problem(const DeviceConfig& config) {
  const Status status = check_config(config);
  return status ? "" : status.error().message;
}

TEST(Limits, TheDefaultsFitTheGuestAbi) {
  EXPECT_EQ(problem({}), "");
}

TEST(Limits, AProblemNamesTheLimitAndWhatItMayBe) {
  DeviceConfig config;
  config.limits.queue_pairs = 65536;
  EXPECT_EQ(problem(config), "queue_pairs: 65536 is not a number from 2 to 65535");
  config.limits.queue_pairs = 1;
  EXPECT_NE(problem(config), "");

  config = {};
  config.limits.sges = 12;
  EXPECT_EQ(problem(config), "sges: 12 is not a power of two from 2 to 32");
}

TEST(Limits, EachLimitHasAnUpperEnd) {
  const auto refused = [](auto member, std::uint32_t highest) {
    DeviceConfig config;
    config.limits.*member = highest;
    const bool fits = check_config(config).has_value();
    config.limits.*member = highest * 2;
    return fits && !check_config(config).has_value();
  };
  EXPECT_TRUE(refused(&DeviceLimits::completion_queues, 65536));
  EXPECT_TRUE(refused(&DeviceLimits::completion_queue_entries, 1u << 23));
  EXPECT_TRUE(refused(&DeviceLimits::contexts, 65536));
  EXPECT_TRUE(refused(&DeviceLimits::shared_receive_queues, 65536));
  EXPECT_TRUE(refused(&DeviceLimits::shared_receive_queue_requests, 1u << 17));
  EXPECT_TRUE(refused(&DeviceLimits::gids, 256));
  EXPECT_TRUE(refused(&DeviceLimits::reads_outstanding, 255));
  EXPECT_TRUE(refused(&DeviceLimits::protection_domains, (1u << 24) - 1));
}

TEST(Limits, VersionsFrom17To20) {
  DeviceConfig config;
  config.version = 16;
  EXPECT_NE(problem(config), "");
  config.version = 17;
  EXPECT_EQ(problem(config), "");
  config.version = 21;
  EXPECT_NE(problem(config), "");
}

TEST(Limits, C16_TheLargestQueuePairMustFitItsPageCount) {
  DeviceConfig config;
  config.limits.queue_pair_requests = 131072;
  config.limits.sges = 32;  // 1024 + 1024 bytes per request: 65,537 pages
  EXPECT_NE(problem(config), "");
  config.limits.sges = 8;
  EXPECT_EQ(problem(config), "");
}

TEST(Limits, C13_ExactlyOneGidTypeAndVersion17KnowsOnlyTheFirst) {
  DeviceConfig config;
  EXPECT_EQ(make_caps(config).gid_types, 2u);
  config.gid_type = verbs::GidType::kRoceV1;
  EXPECT_EQ(make_caps(config).gid_types, 1u);
  config.gid_type = verbs::GidType::kRoceV2;
  config.version = 17;
  EXPECT_EQ(make_caps(config).gid_types, 1u);
}

TEST(Limits, WhatIsExecutedIsOfferedAndNothingElse) {
  const abi::DeviceCaps caps = make_caps({});
  EXPECT_EQ(caps.max_srq.get(), 16384u);
  EXPECT_EQ(caps.max_srq_wr.get(), 16384u);
  EXPECT_EQ(caps.max_srq_sge.get(), caps.max_sge.get());
  EXPECT_EQ(caps.atomic_ops, 3u);
  EXPECT_EQ(caps.bmme_flags, 7u);
  EXPECT_EQ(caps.max_fast_reg_page_list_len.get(), 128u);
  EXPECT_EQ(caps.max_mw.get(), 0u);
  EXPECT_EQ(caps.device_cap_flags.get(), 0u);
}

TEST(Limits, WithoutSharedReceiveQueuesNothingOfThemIsOffered) {
  DeviceConfig config;
  config.limits.shared_receive_queues = 0;
  EXPECT_EQ(problem(config), "");
  const abi::DeviceCaps caps = make_caps(config);
  EXPECT_EQ(caps.max_srq.get(), 0u);
  EXPECT_EQ(caps.max_srq_wr.get(), 0u);
  EXPECT_EQ(caps.max_srq_sge.get(), 0u);
}

TEST(Limits, TheNodeGuidComesFromTheMacAddress) {
  DeviceConfig config;
  config.mac = {0x52, 0x54, 0x00, 0xAA, 0xBB, 0xCC};
  EXPECT_EQ(make_caps(config).node_guid.get(), 0x5254'0000'00AA'BBCCu);
  EXPECT_NE(make_caps({}).node_guid.get(), 0u);
}

}  // namespace
}  // namespace paravane::device
