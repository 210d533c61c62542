#include "ethernet/link_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/own_network.h"

namespace paravane::ethernet {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kMerges = "rx-udp-gro-forwarding";

TEST(LinkFeatures, AreSetTogetherAndOnOneInterface) {
  const OwnNetwork network;
  ASSERT_TRUE(network.ip("link add nic type veth peer name far")) << "needs root";
  auto nic = LinkFeatures::read("nic");
  ASSERT_TRUE(nic) << nic.error().message;
  EXPECT_THAT(nic->names(), Contains("rx-gro"));
  const std::vector<FeatureWish> wishes = {{.name = "rx-gro", .on = true},
                                           {.name = kMerges, .on = true},
                                           {.name = "tx-udp-segmentation", .on = false},
                                           {.name = "no such feature", .on = false}};
  ASSERT_FALSE(nic->is_on("rx-gro"));
  ASSERT_TRUE(nic->is_on("tx-udp-segmentation"));
  EXPECT_THAT(nic->differences(wishes), SizeIs(3));
  const Status set = nic->set(wishes);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_THAT(nic->differences(wishes), IsEmpty());
  EXPECT_THAT(LinkFeatures::read("nic")->differences(wishes), IsEmpty());
  EXPECT_THAT(LinkFeatures::read("far")->differences(wishes), SizeIs(3));
  EXPECT_TRUE(nic->set(wishes));
}

TEST(LinkFeatures, SaysWhatTheKernelAndTheDriverDoNot) {
  const OwnNetwork network;
  ASSERT_TRUE(network.ip("link add nic type veth peer name far")) << "needs root";
  auto nic = LinkFeatures::read("nic");
  ASSERT_TRUE(nic) << nic.error().message;
  const Status unknown = nic->set({{.name = "rx-such", .on = true}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::kUnsupported);
  EXPECT_THAT(unknown.error().message, HasSubstr("rx-such"));
  // An Ethernet interface of two ends in one kernel has no Fibre Channel.
  const Status fixed = nic->set({{.name = "tx-fcoe-segmentation", .on = true}});
  ASSERT_FALSE(fixed);
  EXPECT_EQ(fixed.error().code, Errc::kBadState);
  EXPECT_THAT(fixed.error().message, HasSubstr("nic: its driver does not turn tx-fcoe-segm"));
  EXPECT_EQ(LinkFeatures::read("none").error().code, Errc::kIo);
}

}  // namespace
}  // namespace paravane::ethernet
