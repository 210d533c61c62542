#include "ipoib/uplink_image.h"

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ipoib/packet_test.h"
#include "ipoib/uplink_test.h"
#include "subnet/subnet_image.h"
#include "testing/edited_state.h"

namespace paravane::ipoib {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

StateBytes uplink_bytes(const UplinkImage& image) {
  state::Writer out;
  save(image, out);
  return out.take();
}

// Empty, if it is not refused.
std::string uplink_refusal(std::span<const std::byte> bytes, UplinkImage* loaded = nullptr) {
  state::Loading loading;
  state::Reader in(bytes, loading);
  UplinkImage image = load_uplink_image(in);
  if (loaded != nullptr) *loaded = std::move(image);
  return loading.good() ? "" : loading.status().error().message;
}

// As it comes out at the other end of the line.
UplinkImage sent(const UplinkImage& image) {
  UplinkImage loaded;
  EXPECT_EQ(uplink_refusal(uplink_bytes(image), &loaded), "");
  return loaded;
}

// The engine that follows: the same subnet, without a manager.
struct HeirOfUplinks {
  explicit HeirOfUplinks(UplinkRig& before)
      : clock(before.net.clock), subnet("host", fake::SubnetRig::kSwitchGuid, clock) {
    EXPECT_THAT(
        subnet.adopt(
            before.net.subnet.image(),
            {{.name = "first", .model = {.name = "Test"}, .guid = fake::SubnetRig::kFirstGuid},
             {.name = "second", .model = {.name = "Test"}, .guid = fake::SubnetRig::kSecondGuid}}),
        IsEmpty());
    first = std::make_unique<Uplink>(*subnet.find("first"), 1, clock, first_vms);
    second = std::make_unique<Uplink>(*subnet.find("second"), 1, clock, second_vms);
  }
  // With what both were.
  explicit HeirOfUplinks(UplinkRig& before, std::uint16_t vlan) : HeirOfUplinks(before) {
    EXPECT_TRUE(first->adopt(sent(before.first.image())));
    EXPECT_TRUE(second->adopt(sent(before.second.image())));
    EXPECT_TRUE(first->add_vlan(vlan));
    EXPECT_TRUE(second->add_vlan(vlan));
  }
  void run() {
    first->on_time(clock.now);
    second->on_time(clock.now);
    for (int i = 0; i < 100 && subnet.turn(); ++i) {
    }
  }
  // What the other side's VMs get of a frame.
  std::size_t reached(Uplink& from, fake::RecordingFrameSink& to, std::uint16_t vlan,
                      const FrameBytes& frame) {
    from.on_frame(vlan, frame);
    run();
    return to.take().size();
  }

  TurnClock clock;
  subnet::Subnet subnet;
  fake::RecordingFrameSink first_vms;
  fake::RecordingFrameSink second_vms;
  std::unique_ptr<Uplink> first;
  std::unique_ptr<Uplink> second;
};

class UplinkImageTest : public UplinkTest {
 protected:
  // The VM here listens to 239.1.2.3.
  static FrameBytes report_frame() {
    const FrameBytes message = bytes_of("16000000 ef010203");
    FrameBytes mended = message;
    const Be16 checksum(checksum_of(message));
    std::memcpy(&mended[2], &checksum, sizeof checksum);
    return fake::frame_of(
        {0x01, 0, 0x5E, 1, 2, 3}, kHere, kEtherTypeIpv4,
        ipv4_packet(
            {.destination = "ef010203", .protocol = ip_protocol::kIgmp, .flags_fragment = 0},
            mended));
  }
  static FrameBytes to_group() {
    return fake::frame_of({0x01, 0, 0x5E, 1, 2, 3}, kThere, kEtherTypeIpv4,
                          fake::ipv4_packet(100, {.to = {239, 1, 2, 3}}));
  }
  static FrameBytes answer(const MacBytes& to) {
    return fake::frame_of(to, kThere, kEtherTypeIpv4, fake::ipv4_packet(100));
  }
  // One of each kind.
  UplinkImage full() {
    there_reached();
    rig_.first.on_frame(0, report_frame());
    EXPECT_TRUE(rig_.run());
    return rig_.first.image();
  }
};

TEST_F(UplinkImageTest, GroupsAreHeardAtOnceWithoutAManager) {
  rig_.first.on_frame(0, report_frame());
  ASSERT_TRUE(rig_.run());
  for (int i = 0; i < 2; ++i) {
    rig_.second.on_frame(0, to_group());
    ASSERT_TRUE(rig_.run());
  }
  const Multicast& before = rig_.first.multicast();
  const VlanGroup key{.name = name_of(wire::infiniband::Ipv4Address{239, 1, 2, 3})};
  HeirOfUplinks heir(rig_, 0);
  const Multicast& after = heir.first->multicast();
  EXPECT_EQ(after.wanted().all(), before.wanted().all());
  ASSERT_NE(after.memberships().find(key), nullptr);
  EXPECT_EQ(*after.memberships().find(key), *before.memberships().find(key));
  EXPECT_EQ(after.memberships().all_joined(), before.memberships().all_joined());
  // By the group, as one that did not begin anew sends.
  const auto headers = wire::infiniband::DatagramHeaders{
      .source = rig_.net.second_lid(),
      .destination = before.memberships().find(key)->lid,
      .global = wire::infiniband::GlobalRoute{.destination = before.memberships().find(key)->gid},
      .partition = kKeyOfAll,
      .qkey = 0x0B1B,
      .source_qp = 0x77,
      .destination_qp = wire::infiniband::kMulticastQueuePair};
  const FrameBytes packet = fake::ipv4_packet(100, {.to = {239, 1, 2, 3}});
  heir.subnet.find("first")->on_packet(
      1, fake::packet_with(headers, encapsulated(kEtherTypeIpv4, packet)));
  heir.run();
  EXPECT_EQ(heir.first_vms.take().size(), 1u);
}

TEST_F(UplinkImageTest, AGroupOfOtherFactsIsNotHeard) {
  UplinkImage image = full();
  ASSERT_EQ(image.groups.size(), 3u);
  ASSERT_EQ(image.listeners.size(), 1u);
  for (UplinkImage::Partition& one : image.groups) one.group.qkey = 7;
  HeirOfUplinks heir(rig_);
  ASSERT_TRUE(heir.first->adopt(sent(image)));
  ASSERT_TRUE(heir.first->add_vlan(0));
  EXPECT_TRUE(heir.first->multicast().memberships().all_joined().empty());
  EXPECT_EQ(heir.first->multicast().wanted().size(), 1u);
}

TEST_F(UplinkImageTest, FramesPassBothWaysAtOnceWithoutAManager) {
  const MacBytes there = there_reached();
  const MacBytes here = here_seen();
  HeirOfUplinks heir(rig_, 0);
  EXPECT_EQ(heir.reached(*heir.first, heir.second_vms, 0, ipv4_frame(there)), 1u);
  // To a VM that has not sent since.
  HeirOfUplinks other(rig_, 0);
  EXPECT_EQ(other.reached(*other.second, other.first_vms, 0, answer(here)), 1u);
  EXPECT_EQ(other.first->addresses(), 1u);
  // To all.
  EXPECT_EQ(other.reached(*other.first, other.second_vms, 0, fake::arp_frame(kToAll, request())),
            1u);
}

TEST_F(UplinkImageTest, AnImageIsTheSameAfterwards) {
  there_reached();
  HeirOfUplinks heir(rig_, 0);
  EXPECT_EQ(uplink_bytes(heir.first->image()), uplink_bytes(rig_.first.image()));
  EXPECT_EQ(uplink_bytes(heir.second->image()), uplink_bytes(rig_.second.image()));
  ASSERT_NE(heir.first->memberships()[0]->group(), nullptr);
  EXPECT_EQ(*heir.first->memberships()[0]->group(), *rig_.first.memberships()[0]->group());
}

TEST_F(UplinkImageTest, ANumberThatIsNotTheAddressesOwnIsKept) {
  UplinkImage image = full();
  ASSERT_EQ(image.addresses.size(), 1u);
  image.addresses[0].queue_pair = 0x4711;
  HeirOfUplinks heir(rig_);
  ASSERT_TRUE(heir.first->adopt(sent(image)));
  ASSERT_TRUE(heir.first->add_vlan(0));
  const UplinkImage next = heir.first->image();
  ASSERT_EQ(next.addresses.size(), 1u);
  EXPECT_EQ(next.addresses[0].queue_pair, 0x4711u);
}

TEST_F(UplinkImageTest, AddressesKeepTheirOrderAndTheirAge) {
  full();
  rig_.net.clock.now += seconds(60);
  rig_.first.on_frame(0, fake::arp_frame(kToAll, {.operation = ArpOperation::kRequest,
                                                  .sender = kThere,
                                                  .sender_ipv4 = kIpThere}));
  HeirOfUplinks heir(rig_, 0);
  const UplinkImage next = heir.first->image();
  ASSERT_EQ(next.addresses.size(), 2u);
  EXPECT_EQ(next.addresses[0].mac, kThere);
  EXPECT_EQ(next.addresses[1].mac, kHere);
  EXPECT_EQ(next.addresses[1].silent, seconds(60));
}

TEST_F(UplinkImageTest, TheGroupIsJoinedAgainAndUsedMeanwhile) {
  full();
  HeirOfUplinks heir(rig_, 0);
  heir.run();
  ASSERT_EQ(heir.first->memberships().size(), 1u);
  EXPECT_EQ(heir.first->memberships()[0]->state(), Membership::State::kJoined);
  for (int i = 0; i < 30; ++i) {
    heir.clock.now += seconds(1);
    heir.run();
  }
  EXPECT_NE(heir.first->memberships()[0]->group(), nullptr);
}

TEST_F(UplinkImageTest, CountersGoOn) {
  full();
  HeirOfUplinks heir(rig_, 0);
  EXPECT_EQ(count_of(*heir.first, "frames_sent"), count("frames_sent"));
  EXPECT_GT(count("frames_sent"), 0u);
}

TEST_F(UplinkImageTest, AnotherPortOrLidBeginsAnew) {
  const auto goes_on = [this](const std::function<void(UplinkImage&)>& change) {
    UplinkImage image = rig_.first.image();
    change(image);
    HeirOfUplinks heir(rig_);
    const bool adopted = heir.first->adopt(sent(image));
    EXPECT_TRUE(heir.first->add_vlan(0));
    EXPECT_EQ(heir.first->memberships()[0]->group() != nullptr, adopted);
    EXPECT_EQ(heir.first->addresses() != 0, adopted);
    EXPECT_EQ(heir.first->paths().size() != 0, adopted);
    return adopted;
  };
  full();
  EXPECT_TRUE(goes_on([](UplinkImage&) {}));
  EXPECT_FALSE(goes_on([](UplinkImage& image) { ++image.lid; }));
  EXPECT_FALSE(goes_on([](UplinkImage& image) { image.lid = 0; }));
  EXPECT_FALSE(goes_on([](UplinkImage& image) { ++image.port_guid; }));
}

TEST_F(UplinkImageTest, AVlanThatComesLateBeginsAnew) {
  const UplinkImage image = full();
  HeirOfUplinks heir(rig_);
  ASSERT_TRUE(heir.first->adopt(sent(image)));
  EXPECT_THAT(heir.first->inherited_vlans(), ElementsAre(0));
  heir.clock.now += Uplink::kInheritance;
  EXPECT_THAT(heir.first->inherited_vlans(), IsEmpty());
  ASSERT_TRUE(heir.first->add_vlan(0));
  EXPECT_EQ(heir.first->memberships()[0]->group(), nullptr);
  EXPECT_EQ(heir.first->addresses(), 0u);
}

TEST_F(UplinkImageTest, AVlanThatIsRemovedAndAddedBeginsAnew) {
  const UplinkImage image = full();
  HeirOfUplinks heir(rig_);
  ASSERT_TRUE(heir.first->adopt(sent(image)));
  ASSERT_TRUE(heir.first->add_vlan(0));
  heir.first->remove_vlan(0);
  ASSERT_TRUE(heir.first->add_vlan(0));
  EXPECT_EQ(heir.first->memberships()[0]->group(), nullptr);
}

// The port has them no more, or never had.
TEST_F(UplinkImageTest, AGroupThatThePortCannotHaveJoinedIsJoinedAnew) {
  const std::vector<std::pair<const char*, std::function<void(BroadcastGroup&)>>> changes{
      {"another partition", [](BroadcastGroup& group) { group.partition = 0x8014; }},
      {"another group", [](BroadcastGroup& group) { group.gid[5] ^= 1; }},
  };
  const UplinkImage before = full();
  for (const auto& [what, change] : changes) {
    UplinkImage image = before;
    change(image.partitions.at(0).group);
    HeirOfUplinks heir(rig_);
    ASSERT_TRUE(heir.first->adopt(sent(image))) << what;
    ASSERT_TRUE(heir.first->add_vlan(0)) << what;
    EXPECT_EQ(heir.first->memberships()[0]->group(), nullptr) << what;
    EXPECT_EQ(heir.first->addresses(), 0u) << what;
  }
}

TEST_F(UplinkImageTest, AGroupAboveThePortsMtuIsJoinedAnew) {
  UplinkRig small({.name = "Test", .mtu = Mtu::k2048});
  ASSERT_TRUE(small.first.add_vlan(0));
  ASSERT_TRUE(small.run());
  UplinkImage image = small.first.image();
  image.partitions.at(0).group.mtu = 4092;
  TurnClock clock = small.net.clock;
  subnet::Subnet subnet("host", fake::SubnetRig::kSwitchGuid, clock);
  ASSERT_THAT(subnet.adopt(small.net.subnet.image(), {{.name = "first",
                                                       .model = {.name = "Test", .mtu = Mtu::k2048},
                                                       .guid = fake::SubnetRig::kFirstGuid}}),
              IsEmpty());
  fake::RecordingFrameSink vms;
  Uplink heir(*subnet.find("first"), 1, clock, vms);
  ASSERT_TRUE(heir.adopt(sent(image)));
  ASSERT_TRUE(heir.add_vlan(0));
  EXPECT_EQ(heir.memberships()[0]->group(), nullptr);
}

TEST_F(UplinkImageTest, WhatNoManagerSaysIsRefused) {
  const std::vector<std::pair<const char*, std::function<void(UplinkImage&)>>> changes{
      {"a controlled Q_Key",
       [](UplinkImage& image) { image.partitions[0].group.qkey = 0x8001'0000; }},
      {"a group at a unicast LID", [](UplinkImage& image) { image.partitions[0].group.lid = 1; }},
      {"no partition", [](UplinkImage& image) { image.partitions[0].group.partition = 0; }},
      {"an MTU of no link", [](UplinkImage& image) { image.partitions[0].group.mtu = 1500; }},
      {"a small MTU", [](UplinkImage& image) { image.partitions[0].group.mtu = 1020; }},
      {"a service level", [](UplinkImage& image) { image.partitions[0].group.level = 16; }},
      {"a flow label",
       [](UplinkImage& image) { image.partitions[0].group.flow_label = 0x10'0000; }},
      {"a rate", [](UplinkImage& image) { image.partitions[0].group.rate_code = 0x40; }},
      {"a VLAN", [](UplinkImage& image) { image.partitions[0].vlan = 4095; }},
      {"an address' VLAN", [](UplinkImage& image) { image.addresses[0].vlan = 4095; }},
      {"a group that sends", [](UplinkImage& image) { image.addresses[0].mac[0] |= 1; }},
      {"a queue pair of management", [](UplinkImage& image) { image.addresses[0].queue_pair = 1; }},
      {"the queue pair of groups",
       [](UplinkImage& image) { image.addresses[0].queue_pair = 0xFF'FFFF; }},
      {"a group's controlled Q_Key",
       [](UplinkImage& image) { image.groups[0].group.qkey = 0x8001'0000; }},
      {"a listener's VLAN", [](UplinkImage& image) { image.listeners[0].listener.vlan = 4095; }},
      {"a group that listens", [](UplinkImage& image) { image.listeners[0].listener.mac[0] = 1; }},
      {"a group of no protocol",
       [](UplinkImage& image) { image.listeners[0].listener.group.signature = 7; }},
      {"a path to a group", [](UplinkImage& image) { image.paths[0].key.lid = 0xC000; }},
      {"a path to nowhere", [](UplinkImage& image) { image.paths[0].key.lid = 0; }},
      {"a path's MTU", [](UplinkImage& image) { image.paths[0].path.mtu = 1500; }},
      {"a path's level", [](UplinkImage& image) { image.paths[0].path.level = 16; }},
  };
  const UplinkImage good = full();
  ASSERT_FALSE(good.paths.empty());
  for (const auto& [what, change] : changes) {
    UplinkImage bad = good;
    change(bad);
    EXPECT_THAT(uplink_refusal(uplink_bytes(bad)), HasSubstr("what no manager says")) << what;
  }
}

TEST_F(UplinkImageTest, WhatIsLongerOrShorterIsRefused) {
  const UplinkImage good = full();
  const auto refused = [](const UplinkImage& image) { return uplink_refusal(uplink_bytes(image)); };
  UplinkImage bad = good;
  bad.partitions.resize(UplinkImage::kMostPartitions + 1, good.partitions[0]);
  EXPECT_THAT(refused(bad), HasSubstr(": 3"));
  bad = good;
  bad.addresses.resize(OwnAddresses::kMost + 1, good.addresses[0]);
  EXPECT_THAT(refused(bad), HasSubstr(": 4"));
  bad = good;
  bad.paths.resize(Paths::kMost + 1, good.paths[0]);
  EXPECT_THAT(refused(bad), HasSubstr(": 5"));
  bad = good;
  bad.groups.resize(UplinkImage::kMostGroups + 1, good.groups[0]);
  EXPECT_THAT(refused(bad), HasSubstr(": 7"));
  bad = good;
  bad.listeners.resize(WantedGroups::kMostListeners + 1, good.listeners[0]);
  EXPECT_THAT(refused(bad), HasSubstr(": 8"));
  bad = good;
  bad.counters.resize(UplinkImage::kMostCounters + 1);
  EXPECT_THAT(refused(bad), HasSubstr("too many counters"));
  bad = good;
  bad.counters[0].second = std::uint64_t{1} << 63;
  EXPECT_NE(refused(bad), "");
  bad = good;
  bad.counters[0].first.assign(UplinkImage::kLongestCounter + 1, 'x');
  EXPECT_NE(refused(bad), "");
  const StateBytes bytes = uplink_bytes(good);
  const auto older = [](std::span<const std::byte> value) {
    StateBytes saved(value.begin(), value.end());
    saved[12] = saved[13] = saved[14] = std::byte{0xFF};  // milliseconds since it was used
    return saved;
  };
  EXPECT_THAT(uplink_refusal(edited(bytes, std::vector<std::uint16_t>{4}, older)),
              HasSubstr("what no manager says"));
  // Cut within what must be there.
  const std::size_t fixed = uplink_bytes({}).size();
  for (std::size_t length = 0; length < fixed; ++length)
    EXPECT_NE(uplink_refusal(std::span(bytes).first(length)), "") << length;
}

}  // namespace
}  // namespace paravane::ipoib
