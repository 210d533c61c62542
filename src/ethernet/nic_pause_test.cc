#include "ethernet/nic_pause.h"

#include <gtest/gtest.h>
#include <linux/ethtool.h>

#include "ethernet/ethtool.h"
#include "testing/own_network.h"

namespace paravane::ethernet {
namespace {

// Each row of IEEE 802.3, table 28B-3.
TEST(NicPauseTest, TwoEndsAgreeAsTheStandardHasIt) {
  constexpr std::uint32_t kPause = ADVERTISED_Pause;
  constexpr std::uint32_t kAsymmetric = ADVERTISED_Asym_Pause;
  constexpr PauseDirections kNone{};
  constexpr PauseDirections kBoth{.rx = true, .tx = true};
  constexpr PauseDirections kReceives{.rx = true};
  constexpr PauseDirections kSends{.tx = true};
  EXPECT_EQ(negotiated_pause(0, kPause | kAsymmetric), kNone);
  EXPECT_EQ(negotiated_pause(kAsymmetric, 0), kNone);
  EXPECT_EQ(negotiated_pause(kAsymmetric, kAsymmetric), kNone);
  EXPECT_EQ(negotiated_pause(kAsymmetric, kPause), kNone);
  EXPECT_EQ(negotiated_pause(kAsymmetric, kPause | kAsymmetric), kSends);
  EXPECT_EQ(negotiated_pause(kPause, 0), kNone);
  EXPECT_EQ(negotiated_pause(kPause, kPause), kBoth);
  EXPECT_EQ(negotiated_pause(kPause | kAsymmetric, kAsymmetric), kReceives);
  EXPECT_EQ(negotiated_pause(kPause | kAsymmetric, kPause), kBoth);
  EXPECT_EQ(negotiated_pause(kPause | kAsymmetric, kPause | kAsymmetric), kBoth);
}

TEST(NicPauseTest, ADriverWithoutItReportsNone) {
  OwnNetwork network;
  ASSERT_TRUE(network.made()) << "needs root";
  ASSERT_TRUE(network.ip("link add nic type veth peer name far"));
  EXPECT_EQ(read_pause(Ethtool(), "nic"), std::nullopt);
  EXPECT_EQ(read_pause(Ethtool(), "none"), std::nullopt);
}

}  // namespace
}  // namespace paravane::ethernet
