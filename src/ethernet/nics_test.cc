// What the kernel says of interfaces, in a network namespace of its own.

#include "ethernet/nics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/own_network.h"

namespace paravane::ethernet {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

class NicsTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(network_.made()) << "needs root"; }

  OwnNetwork network_;
};

TEST_F(NicsTest, ListsNothingThatIsNotHardwareUnlessItIsNamed) {
  ASSERT_TRUE(network_.ip("link add nic type veth peer name far"));
  ASSERT_TRUE(network_.ip("link add br0 type bridge"));
  ASSERT_TRUE(network_.ip("tuntap add tap0 mode tap"));
  EXPECT_THAT(*list_nics({}, ""), IsEmpty());
  EXPECT_THAT(*list_nics({"nic", "lo", "br0", "tap0", "none"}, ""),
              ElementsAre(Field(&Nic::name, "nic")));
}

TEST_F(NicsTest, TellsHowANicIs) {
  ASSERT_TRUE(
      network_.ip("link add nic address 02:00:00:00:00:05 mtu 9000 type veth peer name far"));
  ASSERT_TRUE(network_.ip("link set nic up"));
  Nic nic{.name = "nic",
          .kind = "veth",
          .driver = "veth",
          .mac = "02:00:00:00:00:05",
          .mtu = 9000,
          .up = true};
  EXPECT_THAT(*list_nics({"nic"}, ""), ElementsAre(nic));
  ASSERT_TRUE(network_.ip("link set far up"));
  nic.carrier = true;
  nic.speed_mbps = 10'000;
  nic.full_duplex = true;
  EXPECT_THAT(*list_nics({"nic"}, ""), ElementsAre(nic));
}

TEST_F(NicsTest, ListsTheOneThatHoldsAnAddress) {
  ASSERT_TRUE(network_.ip("link add nic type veth peer name far"));
  ASSERT_TRUE(network_.ip("addr add 10.9.8.7/24 dev nic"));
  EXPECT_THAT(*list_nics({}, "10.9.8.7"), ElementsAre(Field(&Nic::name, "nic")));
  EXPECT_THAT(*list_nics({}, "10.9.8.8"), IsEmpty());
}

TEST_F(NicsTest, KnowsTheTeamThatANicIsIn) {
  if (!network_.ip("link add team0 type bond")) GTEST_SKIP() << "this kernel has no bonds";
  ASSERT_TRUE(network_.ip("link add nic type veth peer name far"));
  ASSERT_TRUE(network_.ip("link set nic master team0"));
  EXPECT_THAT(*list_nics({"nic"}, ""), ElementsAre(Field(&Nic::team, "team0")));
}

}  // namespace
}  // namespace paravane::ethernet
