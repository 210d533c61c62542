// What the kernel says of DCB, in messages that are made here: no driver without hardware has it.

#include "ethernet/nic_dcb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/dcbnl.h>

#include <algorithm>

#include "ethernet/rtnl_socket.h"
#include "testing/own_network.h"

namespace paravane::ethernet {
namespace {

using testing::ElementsAre;

// As mlx5_core answers after `mlnx_qos --pfc 0,0,0,1,0,0,0,0 --trust dscp`.
ieee_ets some_ets() {
  ieee_ets ets{};
  ets.willing = 1;
  ets.ets_cap = 8;
  std::ranges::copy(DcbBytes{13, 13, 13, 13, 12, 12, 12, 12}, ets.tc_tx_bw);
  std::ranges::fill(ets.tc_tsa, std::uint8_t{IEEE_8021QAZ_TSA_ETS});
  std::ranges::copy(DcbBytes{1, 0, 2, 3, 4, 5, 6, 7}, ets.prio_tc);
  return ets;
}

ieee_pfc some_pfc() {
  ieee_pfc pfc{};
  pfc.pfc_cap = 8;
  pfc.pfc_en = 1U << 3U;
  pfc.delay = 7;
  pfc.requests[3] = 5;
  pfc.indications[3] = std::uint64_t{1} << 40U;
  return pfc;
}

NicDcb read(const Message& answer) {
  NicDcb dcb;
  add_dcb_answer(nlmsg_hdr(answer.get()), dcb);
  return dcb;
}

TEST(NicDcbTest, TellsBandwidthAndPrioritiesByTheStandard) {
  const ieee_ets ets = some_ets();
  const ieee_pfc pfc = some_pfc();
  const dcb_app app{.selector = IEEE_8021QAZ_APP_SEL_DSCP, .priority = 3, .protocol = 26};
  const NicDcb dcb =
      read(Message::of_dcb(DCB_CMD_IEEE_GET).nest(DCB_ATTR_IEEE, [&](Message& message) {
        message.bytes(DCB_ATTR_IEEE_ETS, &ets, sizeof ets)
            .bytes(DCB_ATTR_IEEE_PFC, &pfc, sizeof pfc)
            .nest(DCB_ATTR_IEEE_APP_TABLE,
                  [&](Message& table) { table.bytes(DCB_ATTR_IEEE_APP, &app, sizeof app); });
      }));
  ASSERT_TRUE(dcb.ets && dcb.pfc);
  EXPECT_TRUE(dcb.ets->willing);
  EXPECT_EQ(dcb.ets->classes, 8);
  EXPECT_THAT(dcb.ets->tx_percent, ElementsAre(13, 13, 13, 13, 12, 12, 12, 12));
  EXPECT_THAT(dcb.ets->algorithms, testing::Each(IEEE_8021QAZ_TSA_ETS));
  EXPECT_THAT(dcb.ets->class_of_priority, ElementsAre(1, 0, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(dcb.pfc->priorities, 8);
  EXPECT_EQ(dcb.pfc->delay, 7);
  EXPECT_EQ(dcb.pfc->sent[3], 5U);
  EXPECT_EQ(dcb.pfc->received[3], std::uint64_t{1} << 40U);
  EXPECT_THAT(dcb.apps, ElementsAre(DcbApp{.selector = 5, .protocol = 26, .priority = 3}));
}

TEST(NicDcbTest, TellsPrioritiesOfADriverThatHasNoMoreThanCee) {
  const NicDcb dcb = read(Message::of_dcb(DCB_CMD_CEE_GET).nest(DCB_ATTR_CEE, [](Message& message) {
    message.nest(DCB_ATTR_CEE_PFC, [](Message& priorities) {
      for (int i = DCB_PFC_UP_ATTR_0; i <= DCB_PFC_UP_ATTR_7; ++i) {
        priorities.u8(i, i == DCB_PFC_UP_ATTR_4 ? 1 : 0);
      }
    });
  }));
  ASSERT_TRUE(dcb.pfc);
  EXPECT_EQ(dcb.pfc->priorities, 1U << 4U);
  EXPECT_FALSE(dcb.ets);
}

TEST(NicDcbTest, TellsTheModeOfDcbx) {
  EXPECT_EQ(read(Message::of_dcb(DCB_CMD_GDCBX).u8(DCB_ATTR_DCBX, DCB_CAP_DCBX_VER_IEEE)).dcbx,
            DCB_CAP_DCBX_VER_IEEE);
}

TEST(NicDcbTest, LeavesOutWhatIsTooShort) {
  const NicDcb dcb =
      read(Message::of_dcb(DCB_CMD_IEEE_GET).nest(DCB_ATTR_IEEE, [](Message& message) {
        message.u32(DCB_ATTR_IEEE_ETS, 1).u32(DCB_ATTR_IEEE_PFC, 1);
      }));
  EXPECT_EQ(dcb, NicDcb());
}

TEST(NicDcbTest, ADriverWithoutItIsNotSupported) {
  OwnNetwork network;
  ASSERT_TRUE(network.made()) << "needs root";
  ASSERT_TRUE(network.ip("link add nic type veth peer name far"));
  const auto dcb = read_dcb("nic");
  ASSERT_FALSE(dcb);
  EXPECT_EQ(dcb.error().code, Errc::kUnsupported);
  EXPECT_FALSE(read_dcb("none"));
}

}  // namespace
}  // namespace paravane::ethernet
