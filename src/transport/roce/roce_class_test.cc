// The DSCP of the packets that we send to native RoCE endpoints, as it is on the wire.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "testing/roce_rig.h"

namespace paravane::fake {
namespace {

using testing::AllOf;
using testing::Each;
using testing::SizeIs;
using verbs::Gid;
using verbs::QpState;
using verbs::WcStatus;

constexpr std::uint8_t kIpv4Index = 2;
constexpr unsigned kDscp = 26;

Gid ipv4_of(unsigned side) {
  return Gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, static_cast<std::uint8_t>(side)}};
}

class RoceClass : public testing::Test {
 protected:
  RoceClass() {
    attributes_.path_mtu = 3;  // 1024
    rig_.wire().set_weather([this](unsigned side, FrameBytes frame) {
      const auto parsed = wire::roce::parse_frame(frame);
      EXPECT_TRUE(parsed);
      dscps_.at(side).push_back(parsed->packet.route.traffic_class >> 2U);
      return std::vector<FrameBytes>{std::move(frame)};
    });
  }
  // A message from a to b, in two packets that wait for an acknowledgement.
  void talk() {
    qp_b_->post(receive_request(1, {inbox_.sge(0, 2000)}));
    qp_a_->post(send_request(2, {out_.sge(0, 2000)}));
    ASSERT_TRUE(rig_.run());
    EXPECT_EQ(qp_a_->sends.statuses().back(), WcStatus::kSuccess);
  }
  void connect(std::uint8_t index) {
    rig_.connect(rig_.a(), *qp_a_, rig_.b(), *qp_b_, attributes_, index);
  }

  RoceRig rig_;
  std::array<std::vector<unsigned>, 2> dscps_;  // of what each side has sent
  verbs::QpAttributes attributes_ = default_attributes();
  std::unique_ptr<EngineQp> qp_a_ = rig_.a().queue_pair();
  std::unique_ptr<EngineQp> qp_b_ = rig_.b().queue_pair();
  const EngineBuffer out_ = rig_.a().buffer(4096);
  const EngineBuffer inbox_ = rig_.b().buffer(4096);
};

TEST_F(RoceClass, AConnectionThatNamesNoneHasThatOfTheHost) {
  connect(0);
  talk();
  talk();  // by now each knows that the other is an adapter, and marks its packets for ECN
  EXPECT_THAT(dscps_[0], AllOf(SizeIs(4), Each(kDscp)));
  EXPECT_THAT(dscps_[1], AllOf(SizeIs(2), Each(kDscp))) << "acknowledgements";
}

TEST_F(RoceClass, OverIpv4Too) {
  for (unsigned side = 0; side < 2; ++side) {
    ASSERT_TRUE(
        rig_.vm(side).adapter().bind_gid(kIpv4Index, ipv4_of(side), verbs::GidType::kRoceV2));
  }
  for (unsigned side = 0; side < 2; ++side) {
    attributes_.av.dmac = RoceRig::mac(1 - side);
    EngineQp& own = side == 0 ? *qp_a_ : *qp_b_;
    const EngineQp& other = side == 0 ? *qp_b_ : *qp_a_;
    EngineRig::bring_up_to(own, QpState::kReadyToSend, ipv4_of(1 - side), other.qp->number(),
                           attributes_, kIpv4Index);
  }
  talk();
  EXPECT_THAT(dscps_[0], AllOf(SizeIs(2), Each(kDscp)));
  EXPECT_THAT(dscps_[1], AllOf(SizeIs(1), Each(kDscp)));
}

TEST_F(RoceClass, ThatOfTheGuestIsKept) {
  attributes_.av.traffic_class = 10 << 2;
  connect(0);
  talk();
  EXPECT_THAT(dscps_[0], AllOf(SizeIs(2), Each(10U)));
}

TEST_F(RoceClass, RoceV1HasWhatTheGuestNames) {
  connect(1);
  talk();
  EXPECT_THAT(dscps_[0], AllOf(SizeIs(2), Each(0U)));
}

TEST_F(RoceClass, DatagramsHaveItAsConnectionsDo) {
  const auto from = rig_.a().queue_pair(verbs::QpType::kUnreliableDatagram);
  const auto to = rig_.b().queue_pair(verbs::QpType::kUnreliableDatagram);
  ASSERT_TRUE(bring_up(*from->qp, QpState::kReadyToSend, default_attributes()));
  ASSERT_TRUE(bring_up(*to->qp, QpState::kReadyToSend, default_attributes()));
  verbs::SendRequest datagram = send_request(3, {out_.sge(0, 100)});
  datagram.remote_qpn = to->qp->number();
  datagram.remote_qkey = default_attributes().qkey;
  datagram.av.dgid = rig_.b().gid();
  datagram.av.dmac = RoceRig::mac(1);
  from->post(datagram);
  datagram.av.traffic_class = 46 << 2;
  from->post(datagram);
  ASSERT_TRUE(rig_.run());
  EXPECT_THAT(dscps_[0], testing::ElementsAre(kDscp, 46U));
}

}  // namespace
}  // namespace paravane::fake
