#include "cable/cable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "testing/cable_rig.h"
#include "testing/port_orders.h"
#include "testing/recording_link_end.h"
#include "wire/infiniband/datagram.h"

namespace paravane::cable {
namespace {

using namespace std::chrono_literals;
using fake::CableRig;
using wire::infiniband::PhysicalState;
using wire::infiniband::PortState;

bool order_physical(subnet::Port& port, PhysicalState state) {
  wire::infiniband::PortInfo wish = fake::wish_at(port);
  wish.physical_state_default = static_cast<std::uint8_t>((static_cast<unsigned>(state) << 4) |
                                                          (wish.physical_state_default & 0x0F));
  return port.set_info(wish) == 0;
}

class CableTest : public testing::Test {
 protected:
  void expect_states(PortState state) {
    EXPECT_EQ(rig_.port().state(), state);
    EXPECT_EQ(rig_.other_port().state(), state);
  }
  // Both ends, as the managers of both would.
  void make_active() {
    for (subnet::Port* port : {&rig_.port(), &rig_.other_port()}) {
      ASSERT_TRUE(fake::order_port(*port, PortState::kArmed));
      ASSERT_TRUE(fake::order_port(*port, PortState::kActive));
    }
  }

  CableRig rig_;
};

TEST_F(CableTest, TrainsBothPortsWhenItIsConnected) {
  expect_states(PortState::kDown);
  rig_.connect();
  expect_states(PortState::kInitialize);
  EXPECT_EQ(rig_.cable->line()->peer_guid(), CableRig::kOtherGuid);
  EXPECT_EQ(rig_.cable->port(), subnet::Subnet::kFirstCablePort);
}

TEST_F(CableTest, AManagerThatIsHeardManagesBothHosts) {
  rig_.connect();
  rig_.let_manage();
  rig_.manager.sweep();
  EXPECT_EQ(rig_.manager.nodes().size(), 5U);
  EXPECT_NE(rig_.adapter.port(1)->lid(), 0);
  EXPECT_TRUE(rig_.adapter.port(1)->is_active());
  expect_states(PortState::kActive);
}

TEST_F(CableTest, AManagerThatIsNotHeardSeesTheOtherHostAndChangesNothing) {
  rig_.connect();
  rig_.manager.sweep();
  EXPECT_NE(rig_.manager.find(CableRig::kOtherGuid), nullptr);
  EXPECT_EQ(rig_.adapter.port(1)->lid(), 0);
  EXPECT_EQ(rig_.other.the_switch().port(0)->lid(), 0);
  EXPECT_GT(rig_.other_port().totals().management_dropped, 0U);
}

TEST_F(CableTest, ALostLineTakesThePortsDownFiveSecondsAfterItsLastFrame) {
  rig_.connect();
  make_active();
  rig_.cable->disconnect();
  rig_.other_cable->disconnect();
  rig_.advance(kSilenceLimit - 100ms);
  expect_states(PortState::kActive);
  rig_.advance(100ms);
  expect_states(PortState::kDown);
  rig_.connect();
  expect_states(PortState::kInitialize);
}

TEST_F(CableTest, ANewLineInTimeGoesOnWithTheLink) {
  rig_.connect();
  make_active();
  rig_.cable->disconnect();
  rig_.other_cable->disconnect();
  rig_.advance(2s);
  rig_.connect();
  rig_.advance(10s);
  expect_states(PortState::kActive);
}

// A host that was started again within the limit.
TEST_F(CableTest, APortThatWasDownMeanwhileIsTrainedAnew) {
  rig_.connect();
  make_active();
  rig_.cable->disconnect();
  rig_.other_cable->disconnect();
  rig_.port().link_down();
  rig_.connect();
  rig_.advance(1s);
  expect_states(PortState::kInitialize);
}

// The other end's word that its port is up may be there before the line's first turn: a port that
// went up on it alone would be a new one that no manager knows of.
TEST_F(CableTest, ItIsTrainedAnewAlsoIfTheOtherEndSaysUpFirst) {
  rig_.connect();
  make_active();
  rig_.cable->disconnect();
  rig_.other_cable->disconnect();
  rig_.port().link_down();
  rig_.pipe = fake::CablePipe();
  rig_.other_cable->connect(rig_.pipe.other());
  rig_.other_cable->flush();
  rig_.cable->connect(rig_.pipe.one());
  rig_.advance(1s);
  expect_states(PortState::kInitialize);
}

TEST_F(CableTest, AnOrderToGoDownTrainsBothAnew) {
  rig_.connect();
  make_active();
  ASSERT_TRUE(fake::order_port(rig_.port(), PortState::kDown));
  rig_.advance(1s);
  expect_states(PortState::kInitialize);
}

TEST_F(CableTest, ADisabledPortKeepsTheOtherDownUntilItIsEnabled) {
  rig_.connect();
  make_active();
  ASSERT_TRUE(order_physical(rig_.other_port(), PhysicalState::kDisabled));
  rig_.advance(1s);
  expect_states(PortState::kDown);
  EXPECT_TRUE(rig_.cable->other_end_is_down());
  EXPECT_FALSE(rig_.other_cable->other_end_is_down());
  rig_.advance(10s);
  expect_states(PortState::kDown);
  ASSERT_TRUE(order_physical(rig_.other_port(), PhysicalState::kPolling));
  rig_.advance(1s);
  expect_states(PortState::kInitialize);
  EXPECT_FALSE(rig_.cable->other_end_is_down());
}

TEST_F(CableTest, AConnectionToADisabledPortStaysDown) {
  ASSERT_TRUE(order_physical(rig_.port(), PhysicalState::kDisabled));
  rig_.connect();
  rig_.advance(5s);
  expect_states(PortState::kDown);
}

TEST_F(CableTest, IdleHostsStayConnected) {
  rig_.connect();
  rig_.advance(60s);
  EXPECT_EQ(rig_.cable->line()->problem(), "");
  expect_states(PortState::kInitialize);
}

TEST_F(CableTest, IsDetachedWithItsEnd) {
  rig_.connect();
  rig_.other_cable.reset();
  EXPECT_TRUE(rig_.other.links().size() == 1U);
  EXPECT_EQ(rig_.other.the_switch().port(subnet::Subnet::kFirstCablePort)->state(),
            PortState::kDown);
}

TEST_F(CableTest, APortForEachHostAndNoMore) {
  std::vector<std::unique_ptr<Cable>> cables;
  for (std::size_t i = 1; i < subnet::Subnet::kMostCables; ++i) {
    cables.push_back(Cable::attach("host", rig_.here.subnet, rig_.here.clock));
    ASSERT_NE(cables.back(), nullptr);
  }
  EXPECT_EQ(Cable::attach("host", rig_.here.subnet, rig_.here.clock), nullptr);
}

// ---- A hostile host ----

class HostileCableTest : public testing::Test {
 protected:
  HostileCableTest() {
    cable_->connect(pipe_.one());
    hear(fake::hello_frame());
  }
  void hear(std::span<const std::byte> bytes) {
    fake::put_bytes(pipe_.to_one(), bytes);
    cable_->heard_event();
    cable_->receive(1000);
    cable_->flush();
    host_.settle();
  }
  void hear_packet(const subnet::Packet& packet, std::uint8_t cables = 0) {
    hear(fake::cable_frame(FrameKind::kPacket, packet, cables));
  }
  subnet::Packet packet_to(std::uint16_t lid) {
    subnet::Packet packet;
    wire::infiniband::write_datagram({.source = 0x99, .destination = lid, .qkey = 1}, {}, packet);
    return packet;
  }
  void bring_up() {
    hear(fake::link_frame(LinkWord::kTraining));
    ASSERT_TRUE(fake::order_port(port(), PortState::kArmed));
    ASSERT_TRUE(fake::order_port(port(), PortState::kActive));
  }
  subnet::Port& port() { return *host_.subnet.the_switch().port(cable_->port()); }

  fake::SubnetRig host_;
  std::unique_ptr<Cable> cable_ = Cable::attach("other", host_.subnet, host_.clock);
  fake::CablePipe pipe_;
  std::unique_ptr<fake::CablePipe::End> other_ = pipe_.other();
};

TEST_F(HostileCableTest, WordsTakeThePortUpTenTimesASecondAtMost) {
  unsigned ups = 0;
  for (int i = 0; i < 1000; ++i) {
    host_.advance(1ms);
    hear(fake::link_frame(LinkWord::kTraining));
    if (port().state() == PortState::kInitialize) ++ups;
    hear(fake::link_frame(LinkWord::kDown));
    EXPECT_EQ(port().state(), PortState::kDown);
  }
  EXPECT_LE(ups, 11U);
  EXPECT_GE(ups, 9U);
}

TEST_F(HostileCableTest, WordsThatAreNotTakenAreBounded) {
  pipe_.to_other().room = 0;
  cable_->flush();
  for (std::size_t i = 0; i < Line::kMostWords + 2; ++i) {  // one is being sent
    EXPECT_EQ(cable_->line()->problem(), "") << i;
    hear(fake::link_frame(LinkWord::kDown));
  }
  EXPECT_EQ(cable_->line()->problem(), "the host does not take what is said to it of its port");
}

// ---- Where an engine before has left a link ----

class InheritedCableTest : public testing::Test {
 protected:
  InheritedCableTest() {
    const subnet::PortNumber number = subnet::Subnet::kFirstCablePort;
    EXPECT_EQ(before_.subnet.attach_cable("other", end_), number);
    EXPECT_TRUE(fake::set_port_active(*before_.subnet.the_switch().port(number)));
    EXPECT_EQ(heir_.adopt(before_.subnet.image(), {}).size(), 0u);
    cable_ = Cable::attach("other", heir_, before_.clock);
  }
  PortState state() { return heir_.the_switch().port(cable_->port())->state(); }
  void advance(Duration duration) {
    before_.clock.now += duration;
    cable_->on_time(before_.clock.now);
  }

  fake::SubnetRig before_;
  fake::RecordingLinkEnd end_;
  subnet::Subnet heir_{"host", fake::SubnetRig::kSwitchGuid, before_.clock};
  std::unique_ptr<Cable> cable_;
  fake::CablePipe pipe_;
};

TEST_F(InheritedCableTest, TheLinkGoesOnWithALineInTime) {
  EXPECT_EQ(state(), PortState::kActive);
  advance(2s);
  cable_->connect(pipe_.one());
  fake::put_bytes(pipe_.to_one(), fake::hello_frame());
  fake::put_bytes(pipe_.to_one(), fake::link_frame(LinkWord::kUp));
  cable_->heard_event();
  cable_->receive(10);
  cable_->flush();
  advance(2s);
  EXPECT_EQ(state(), PortState::kActive);
}

TEST_F(InheritedCableTest, WithoutALineItGoesDown) {
  EXPECT_EQ(cable_->next_deadline(), before_.clock.now + kSilenceLimit);
  advance(kSilenceLimit);
  EXPECT_EQ(state(), PortState::kDown);
}

// Lines that come and go, none of which is of use, do not keep the port up.
TEST_F(HostileCableTest, ALineThatSaysNothingOfItsPortDoesNotHoldThePort) {
  bring_up();
  cable_->disconnect();
  for (int i = 0; i < 6; ++i) {
    host_.advance(1s);
    cable_->on_time(host_.clock.now);
    pipe_ = fake::CablePipe();
    cable_->connect(pipe_.one());
    hear(fake::hello_frame());
    cable_->disconnect();
  }
  EXPECT_EQ(port().state(), PortState::kDown);
}

TEST_F(HostileCableTest, APostponedWordIsFollowedLater) {
  bring_up();
  hear(fake::link_frame(LinkWord::kDown));
  hear(fake::link_frame(LinkWord::kTraining));
  EXPECT_EQ(port().state(), PortState::kDown);
  EXPECT_EQ(cable_->next_deadline(), host_.clock.now + Cable::kShortestUp);
  host_.advance(Cable::kShortestUp);
  cable_->on_time(host_.clock.now);
  EXPECT_EQ(port().state(), PortState::kInitialize);
}

TEST_F(HostileCableTest, PacketsToAPortThatIsDownAreDroppedAndCounted) {
  const std::uint64_t before = host_.second.port(1)->totals().received_unicast;
  hear_packet(packet_to(host_.second_lid()));
  EXPECT_EQ(port().totals().receive_errors, 1U);
  EXPECT_EQ(host_.second.port(1)->totals().received_unicast, before);
}

TEST_F(HostileCableTest, APacketOfTooManyCablesIsDropped) {
  bring_up();
  const std::uint64_t before = host_.second.port(1)->totals().received_unicast;
  hear_packet(packet_to(host_.second_lid()), kMostCables - 1);
  EXPECT_EQ(host_.second.port(1)->totals().received_unicast, before + 1);
  hear_packet(packet_to(host_.second_lid()), kMostCables);
  hear_packet(packet_to(host_.second_lid()), 0xFF);
  EXPECT_EQ(host_.second.port(1)->totals().received_unicast, before + 1);
  EXPECT_EQ(port().totals().receive_errors, 2U);
}

TEST_F(HostileCableTest, APacketThatCameThroughManyGoesThroughNoOther) {
  bring_up();
  subnet::Packet packet = packet_to(0x99);
  packet.cables = kMostCables - 1;
  cable_->send(packet);
  EXPECT_EQ(port().totals().send_discards, 0U);
  packet.cables = kMostCables;
  cable_->send(packet);
  EXPECT_EQ(port().totals().send_discards, 1U);
}

TEST_F(HostileCableTest, WhatAHostDoesNotTakeIsBoundedAndCounted) {
  bring_up();
  pipe_.to_other().room = 0;
  const std::size_t packets = 2 * SendQueue::kMostData / wire::infiniband::kLeastDatagramBytes;
  for (std::size_t i = 0; i < packets; ++i) cable_->send(packet_to(0x99));
  cable_->flush();
  EXPECT_GT(port().totals().send_discards, packets / 4);
}

TEST_F(HostileCableTest, PacketsWithoutALineAreCounted) {
  bring_up();
  cable_->disconnect();
  cable_->send(packet_to(0x99));
  EXPECT_EQ(port().totals().send_discards, 1U);
}

TEST_F(HostileCableTest, ShortPacketsAreCountedAndThePortLives) {
  bring_up();
  for (const std::size_t bytes : {1U, 8U, 20U, 27U})
    hear_packet(subnet::Packet(bytes, std::byte{0}));
  EXPECT_EQ(port().totals().receive_errors, 4U);
  EXPECT_EQ(cable_->line()->problem(), "");
}

}  // namespace
}  // namespace paravane::cable
