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
using testing::Pair;
using testing::UnorderedElementsAre;

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

// By values, since not every kernel has bonds or teams.
TEST(TeamsTest, AreBondsAndTeams) {
  const auto link = [](int index, const char* name, const char* kind) {
    Link one;
    one.index = index;
    one.name = name;
    one.kind = kind;
    return one;
  };
  EXPECT_THAT(teams_of({link(1, "lo", ""), link(2, "bond0", "bond"), link(3, "br0", "bridge"),
                        link(4, "team0", "team")}),
              UnorderedElementsAre(Pair(2, "bond0"), Pair(4, "team0")));
}

}  // namespace
}  // namespace paravane::ethernet
