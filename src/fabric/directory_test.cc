#include "fabric/directory.h"

#include <gtest/gtest.h>

#include "testing/scripted_transport.h"

namespace paravane::fabric {
namespace {

using verbs::AdapterId;
using verbs::Gid;
using verbs::GidType;

constexpr auto kV1 = GidType::kRoceV1;
constexpr auto kV2 = GidType::kRoceV2;
constexpr MacAddress kMacA{0x52, 0x54, 0x00, 0x12, 0x34, 0x56};
constexpr MacAddress kMacB{0x52, 0x54, 0x00, 0x12, 0x34, 0x57};

Gid ipv4(std::uint8_t last) {
  return Gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, last}};
}

class DirectoryTest : public testing::Test {
 protected:
  fake::ScriptedTransport local_;
  Directory directory_{local_};
  std::unique_ptr<verbs::FabricPort> a_ = directory_.join(AdapterId{1}, "alpha", kMacA);
  std::unique_ptr<verbs::FabricPort> b_ = directory_.join(AdapterId{2}, "beta", kMacB);
};

TEST_F(DirectoryTest, LinkLocalGidIsTheModifiedEui64) {
  const Gid expected{
      {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0x00, 0xFF, 0xFE, 0x12, 0x34, 0x56}};
  EXPECT_EQ(link_local_gid(kMacA), expected);
}

TEST_F(DirectoryTest, AnnouncedGidIsFoundByEverybody) {
  EXPECT_EQ(b_->find(ipv4(1), kV2), std::nullopt);
  ASSERT_TRUE(a_->announce(ipv4(1), kV2));
  for (const auto* port : {a_.get(), b_.get()}) {
    const std::optional<verbs::Path> path = port->find(ipv4(1), kV2);
    ASSERT_TRUE(path);
    EXPECT_EQ(path->peer, AdapterId{1});
    EXPECT_EQ(path->transport, &local_);
  }
}

TEST_F(DirectoryTest, WhatNoAdapterOwnsIsReachedAsANativeEndpoint) {
  fake::ScriptedTransport native;
  const std::uint64_t before = a_->epoch();
  directory_.set_native(AdapterId{1}, &native);
  EXPECT_NE(a_->epoch(), before);
  const std::optional<verbs::Path> path = a_->find(ipv4(9), kV2);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->transport, &native);
  EXPECT_EQ(b_->find(ipv4(9), kV2), std::nullopt) << "b has no port for them";
  EXPECT_EQ(a_->find(Gid{{0xFF, 0x02}}, kV2), std::nullopt) << "a multicast group";
  EXPECT_EQ(a_->find(Gid{}, kV2), std::nullopt);

  ASSERT_TRUE(b_->announce(ipv4(9), kV2));
  EXPECT_EQ(a_->find(ipv4(9), kV2)->transport, &local_);
  directory_.set_link(AdapterId{2}, false);
  EXPECT_EQ(a_->find(ipv4(9), kV2), std::nullopt) << "the network never speaks for a VM's GID";
  EXPECT_EQ(a_->find(link_local_gid(kMacB), kV2), std::nullopt) << "nor for one of its MAC address";
  directory_.set_link(AdapterId{1}, false);
  EXPECT_EQ(a_->find(ipv4(7), kV2), std::nullopt);
  directory_.set_link(AdapterId{1}, true);
  directory_.set_native(AdapterId{1}, nullptr);
  EXPECT_EQ(a_->find(ipv4(7), kV2), std::nullopt);
}

TEST_F(DirectoryTest, AGidOfAnAdapterThatCannotBeReachedIsNoNativeEndpoints) {
  fake::ScriptedTransport native;
  directory_.set_native(AdapterId{1}, &native);
  const std::uint64_t before = a_->epoch();
  const Directory::HeldGid held{.gid = {.gid = ipv4(9), .type = kV2}, .owner = "a VM of host h2"};
  directory_.set_held({held});
  EXPECT_NE(a_->epoch(), before);
  EXPECT_EQ(a_->find(ipv4(9), kV2), std::nullopt);
  EXPECT_EQ(a_->find(ipv4(9), kV1), std::nullopt) << "it has the same address";
  EXPECT_EQ(a_->find(ipv4(8), kV2)->transport, &native);

  ASSERT_TRUE(b_->announce(ipv4(9), kV2)) << "the adapter may have moved here";
  EXPECT_EQ(a_->find(ipv4(9), kV2)->transport, &local_);
  b_->withdraw(ipv4(9), kV2);
  EXPECT_EQ(a_->find(ipv4(9), kV2), std::nullopt);

  const std::uint64_t same = a_->epoch();
  directory_.set_held({held});
  EXPECT_EQ(a_->epoch(), same);
  directory_.set_held({});
  EXPECT_EQ(a_->find(ipv4(9), kV2)->transport, &native);
}

// `a` and `b` are in two networks, and `b` has the GID.
class DirectoryCrossing : public DirectoryTest {
 protected:
  static constexpr verbs::SegmentId kHere{1}, kThere{2}, kThird{3};
  using Kind = Directory::Crossing::Kind;

  DirectoryCrossing() {
    directory_.set_segment(AdapterId{1}, kHere);
    directory_.set_segment(AdapterId{2}, kThere);
    directory_.set_native(AdapterId{1}, &native_);
    directory_.set_native(AdapterId{2}, &native_);
    EXPECT_TRUE(b_->announce(ipv4(9), kV2));
    EXPECT_TRUE(b_->announce(ipv4(9), kV1));
  }
  void allow(bool here, bool there) {
    directory_.set_networks({{kHere, {.port_group = "here", .native = true, .routed = here}},
                             {kThere, {.port_group = "there", .native = true, .routed = there}}});
  }
  Directory::Crossing crossing(const Gid& gid = ipv4(9), GidType type = kV2) const {
    return directory_.crossing(AdapterId{1}, gid, type);
  }

  fake::ScriptedTransport native_;
};

TEST_F(DirectoryCrossing, OnlyWhatBothNetworksAllowGoesThroughARouter) {
  for (const auto& [here, there, off] :
       {std::tuple{false, false, "here"}, {false, true, "here"}, {true, false, "there"}}) {
    allow(here, there);
    const auto path = a_->find(ipv4(9), kV2);
    ASSERT_TRUE(path);
    EXPECT_EQ(path->transport, &native_) << "another machine may have this address here";
    EXPECT_TRUE(path->one_hop);
    EXPECT_FALSE(path->routed);
    EXPECT_EQ(crossing(),
              (Directory::Crossing{
                  .kind = Kind::kOff, .owner = "beta", .port_group = "there", .off = off}));
  }
  const std::uint64_t before = a_->epoch();
  allow(true, true);
  EXPECT_NE(a_->epoch(), before);
  const auto path = a_->find(ipv4(9), kV2);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->transport, &native_) << "the router decides, not the directory";
  EXPECT_FALSE(path->one_hop);
  EXPECT_TRUE(path->routed);
  EXPECT_EQ(path->segment, kHere);
  EXPECT_EQ(crossing(),
            (Directory::Crossing{.kind = Kind::kRouted, .owner = "beta", .port_group = "there"}));
}

// So that an operator does not look for the fault at the router.
TEST_F(DirectoryCrossing, SaysWhyAnAdapterIsReachedThroughNoRouter) {
  allow(true, true);
  EXPECT_EQ(crossing().absence, "");
  directory_.set_link(AdapterId{2}, false);
  EXPECT_EQ(crossing().absence, "that adapter is disconnected from its switch");
  directory_.set_link(AdapterId{2}, true);
  directory_.set_native(AdapterId{2}, nullptr);
  EXPECT_EQ(crossing().absence, "that adapter has no RoCE port");
  directory_.set_held({{.gid = {.segment = kThere, .gid = ipv4(8), .type = kV2},
                        .owner = "adapter db1 of host h2, which is away"}});
  EXPECT_EQ(crossing(ipv4(8)).absence, "that adapter cannot be reached now");
  fake::ScriptedTransport tcp;
  directory_.set_host(verbs::HostId{7}, "h7", tcp,
                      {{.segment = kThere, .gid = ipv4(7), .type = kV2}});
  EXPECT_EQ(crossing(ipv4(7)).absence, "");
  EXPECT_EQ(crossing(ipv4(7)).host, verbs::HostId{7});
}

TEST_F(DirectoryCrossing, AnAddressOfANetworkWithoutRoceIsAnyMachinesHere) {
  EXPECT_EQ(crossing().kind, Kind::kNotNative) << "no rules";
  EXPECT_FALSE(a_->find(ipv4(9), kV2)->one_hop);
  directory_.set_networks({{kHere, {.port_group = "here", .native = true}},
                           {kThere, {.port_group = "there", .routed = true}}});
  EXPECT_EQ(crossing().kind, Kind::kNotNative);
  EXPECT_FALSE(a_->find(ipv4(9), kV2)->one_hop);
  EXPECT_FALSE(a_->find(ipv4(9), kV2)->routed);
  EXPECT_EQ(crossing(ipv4(8)), Directory::Crossing{}) << "nothing has it";
}

TEST_F(DirectoryCrossing, RoceV1AndLinkLocalAddressesAreNeverRouted) {
  allow(true, true);
  EXPECT_EQ(crossing(ipv4(9), kV1).kind, Kind::kVersion1);
  ASSERT_TRUE(b_->announce(link_local_gid(kMacB), kV2));
  EXPECT_EQ(crossing(link_local_gid(kMacB)).kind, Kind::kNone);
}

TEST_F(DirectoryCrossing, AnOwnerInTheOwnNetworkComesFirst) {
  allow(true, true);
  fake::ScriptedTransport tcp;
  directory_.set_host(verbs::HostId{7}, "h7", tcp,
                      {{.segment = kHere, .gid = ipv4(9), .type = kV2}});
  EXPECT_EQ(a_->find(ipv4(9), kV2)->transport, &tcp);
}

TEST_F(DirectoryCrossing, OfSeveralOwnersOneThatIsNotRoutedDecides) {
  allow(true, true);
  fake::ScriptedTransport tcp;
  directory_.set_host(verbs::HostId{7}, "h7", tcp,
                      {{.segment = kThird, .gid = ipv4(9), .type = kV2}});
  EXPECT_EQ(crossing().kind, Kind::kRouted) << "the third network has no RoCE";
  directory_.set_networks({{kHere, {.port_group = "here", .native = true, .routed = true}},
                           {kThere, {.port_group = "there", .native = true, .routed = true}},
                           {kThird, {.port_group = "third", .native = true}}});
  EXPECT_EQ(crossing(), (Directory::Crossing{.kind = Kind::kOff,
                                             .owner = "an adapter of host h7",
                                             .port_group = "third",
                                             .off = "third",
                                             .host = verbs::HostId{7}}));
  EXPECT_TRUE(a_->find(ipv4(9), kV2)->one_hop);
}

TEST_F(DirectoryCrossing, AnAdapterWhoseHostIsAwayCountsToo) {
  allow(true, false);
  directory_.set_held({{.gid = {.segment = kThere, .gid = ipv4(8), .type = kV2},
                        .owner = "adapter db1 of host h2, which is away"}});
  EXPECT_EQ(crossing(ipv4(8)),
            (Directory::Crossing{.kind = Kind::kOff,
                                 .owner = "adapter db1 of host h2, which is away",
                                 .port_group = "there",
                                 .off = "there"}));
  EXPECT_TRUE(a_->find(ipv4(8), kV2)->one_hop);
}

TEST_F(DirectoryTest, AnAddressThatAnAdapterHasInOneRoceVersionIsNoNativeEndpointsInTheOther) {
  fake::ScriptedTransport native;
  directory_.set_native(AdapterId{1}, &native);
  ASSERT_TRUE(a_->announce(ipv4(1), kV1));
  ASSERT_TRUE(b_->announce(ipv4(9), kV2));
  const auto why = [this](const Gid& dgid) {
    return directory_.why_no_route(AdapterId{1}, ipv4(1), dgid, kV1);
  };
  EXPECT_EQ(a_->find(ipv4(9), kV1), std::nullopt);
  EXPECT_EQ(why(ipv4(9)), (Directory::Absence{.why = Directory::Absence::Why::kHeld,
                                              .owner = "beta, which has it as RoCE v2 only"}));
  fake::ScriptedTransport tcp;
  directory_.set_host(verbs::HostId{2}, "h2", tcp, {{.gid = ipv4(8), .type = kV2}});
  EXPECT_EQ(a_->find(ipv4(8), kV1), std::nullopt);
  EXPECT_EQ(why(ipv4(8)).owner, "an adapter of host h2, which has it as RoCE v2 only");
  directory_.set_held({{.gid = {.gid = ipv4(7), .type = kV2}, .owner = "a VM of host h3"}});
  EXPECT_EQ(a_->find(ipv4(7), kV1), std::nullopt);
  EXPECT_EQ(why(ipv4(7)).owner, "a VM of host h3");
  b_->withdraw(ipv4(9), kV2);
  EXPECT_EQ(a_->find(ipv4(9), kV1)->transport, &native);
}

TEST_F(DirectoryTest, WhatIsSharedSaysWhoseLinkIsDown) {
  directory_.set_segment(AdapterId{1}, verbs::SegmentId{7});
  ASSERT_TRUE(a_->announce(ipv4(1), kV2));
  ASSERT_TRUE(b_->announce(ipv4(2), kV2)) << "of the built-in switch, which is not shared";
  ASSERT_EQ(directory_.shared_gids().size(), 1u);
  EXPECT_TRUE(directory_.shared_gids()[0].linked);
  directory_.set_link(AdapterId{1}, false);
  ASSERT_EQ(directory_.shared_gids().size(), 1u);
  EXPECT_FALSE(directory_.shared_gids()[0].linked);
  EXPECT_EQ(directory_.shared_gids()[0].gid, ipv4(1));
}

TEST_F(DirectoryTest, NothingIsANativeEndpointBeforeTheOtherHostsAreKnown) {
  fake::ScriptedTransport native;
  directory_.set_native(AdapterId{1}, &native);
  directory_.set_others_known(false);
  EXPECT_EQ(a_->find(ipv4(9), kV2), std::nullopt);
  ASSERT_TRUE(b_->announce(ipv4(8), kV2));
  EXPECT_EQ(a_->find(ipv4(8), kV2)->transport, &local_);
  directory_.set_others_known(true);
  EXPECT_EQ(a_->find(ipv4(9), kV2)->transport, &native);
}

TEST_F(DirectoryTest, SaysWhyThereIsNoRoute) {
  using enum Directory::Absence::Why;
  using Absence = Directory::Absence;
  fake::ScriptedTransport native;
  const auto why = [this](const Gid& dgid) {
    return directory_.why_no_route(AdapterId{1}, ipv4(1), dgid, kV2);
  };
  EXPECT_EQ(why(ipv4(9)), Absence{.why = kNoSource});
  ASSERT_TRUE(a_->announce(ipv4(1), kV2));
  ASSERT_TRUE(b_->announce(ipv4(2), kV2));
  EXPECT_EQ(why(ipv4(2)), Absence{.why = kNone});
  EXPECT_EQ(why(ipv4(9)), Absence{.why = kNoOwner});
  EXPECT_EQ(why(Gid{{0xFF, 0x02}}), Absence{.why = kNotUnicast});
  EXPECT_EQ(why(link_local_gid(kMacB)),
            (Absence{.why = kHeld, .owner = "beta, whose guest does not use it"}));
  directory_.set_native(AdapterId{1}, &native);
  EXPECT_EQ(why(ipv4(9)), Absence{.why = kNone});
  directory_.set_held({{.gid = {.gid = ipv4(9), .type = kV2}, .owner = "a VM of host h2"}});
  EXPECT_EQ(why(ipv4(9)), (Absence{.why = kHeld, .owner = "a VM of host h2"}));
  directory_.set_others_known(false);
  EXPECT_EQ(why(ipv4(8)), Absence{.why = kUnknown});
  directory_.set_link(AdapterId{2}, false);
  EXPECT_EQ(why(ipv4(2)), (Absence{.why = kPeerLink, .owner = "beta"}));
  directory_.set_link(AdapterId{1}, false);
  EXPECT_EQ(why(ipv4(2)), Absence{.why = kOwnLink});
}

TEST_F(DirectoryTest, WhoseLinkIsDownReachesNobodyAndNobodyReachesIt) {
  ASSERT_TRUE(a_->announce(ipv4(1), kV2));
  ASSERT_TRUE(b_->announce(ipv4(2), kV2));
  const std::uint64_t before = a_->epoch();
  directory_.set_link(AdapterId{1}, false);
  EXPECT_NE(a_->epoch(), before);
  EXPECT_EQ(b_->find(ipv4(1), kV2), std::nullopt);
  EXPECT_EQ(a_->find(ipv4(2), kV2), std::nullopt);
  EXPECT_EQ(a_->find(ipv4(1), kV2), std::nullopt);  // itself neither
  EXPECT_TRUE(b_->find(ipv4(2), kV2));
  EXPECT_FALSE(b_->announce(ipv4(1), kV2));  // still its own
  directory_.set_link(AdapterId{1}, true);
  EXPECT_TRUE(b_->find(ipv4(1), kV2));
  EXPECT_TRUE(a_->find(ipv4(2), kV2));
}

TEST_F(DirectoryTest, FirstComeFirstServed) {
  ASSERT_TRUE(a_->announce(ipv4(1), kV2));
  const Status second = b_->announce(ipv4(1), kV2);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kBadState);
  EXPECT_NE(second.error().message.find("alpha"), std::string::npos);
  EXPECT_TRUE(a_->announce(ipv4(1), kV2));  // its own again
  b_->withdraw(ipv4(1), kV2);               // not its own
  EXPECT_TRUE(b_->find(ipv4(1), kV2));
}

TEST_F(DirectoryTest, WithdrawnGidIsFree) {
  ASSERT_TRUE(a_->announce(ipv4(1), kV2));
  a_->withdraw(ipv4(1), kV2);
  EXPECT_EQ(a_->find(ipv4(1), kV2), std::nullopt);
  EXPECT_TRUE(b_->announce(ipv4(1), kV2));
}

TEST_F(DirectoryTest, TypesAreSeparateEntries) {
  ASSERT_TRUE(a_->announce(ipv4(1), kV1));
  EXPECT_EQ(b_->find(ipv4(1), kV2), std::nullopt);
  EXPECT_TRUE(b_->announce(ipv4(1), kV2));
  EXPECT_EQ(b_->find(ipv4(1), kV1)->peer, AdapterId{1});
  EXPECT_EQ(b_->find(ipv4(1), kV2)->peer, AdapterId{2});
}

TEST_F(DirectoryTest, GidOfAMacBelongsToItsAdapter) {
  const Status stolen = b_->announce(link_local_gid(kMacA), kV2);
  ASSERT_FALSE(stolen);
  EXPECT_EQ(stolen.error().code, Errc::kBadState);
  EXPECT_NE(stolen.error().message.find("alpha"), std::string::npos);
  EXPECT_FALSE(b_->announce(link_local_gid(kMacA), kV1));
  EXPECT_TRUE(a_->announce(link_local_gid(kMacA), kV2));
}

TEST_F(DirectoryTest, WhoJoinsGetsItsGidBack) {
  constexpr MacAddress kMacC{2, 0, 0, 0, 0, 3};
  ASSERT_TRUE(a_->announce(link_local_gid(kMacC), kV2));
  const auto c = directory_.join(AdapterId{3}, "gamma", kMacC);
  EXPECT_EQ(c->find(link_local_gid(kMacC), kV2), std::nullopt);
  EXPECT_FALSE(a_->announce(link_local_gid(kMacC), kV2));
  EXPECT_TRUE(c->announce(link_local_gid(kMacC), kV2));
}

TEST_F(DirectoryTest, LeavingWithdrawsEverything) {
  ASSERT_TRUE(a_->announce(ipv4(1), kV2));
  ASSERT_TRUE(a_->announce(link_local_gid(kMacA), kV1));
  ASSERT_TRUE(b_->announce(ipv4(2), kV2));
  a_.reset();
  EXPECT_EQ(directory_.gid_count(), 1u);
  EXPECT_EQ(b_->find(ipv4(1), kV2), std::nullopt);
  EXPECT_TRUE(b_->announce(ipv4(1), kV2));
  a_ = directory_.join(AdapterId{1}, "alpha", kMacA);
  EXPECT_TRUE(a_->announce(link_local_gid(kMacA), kV2));
}

TEST_F(DirectoryTest, ZeroAndMulticastBelongToNobody) {
  Gid multicast{};
  multicast.raw[0] = 0xFF;
  EXPECT_EQ(a_->announce(Gid{}, kV2).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(a_->announce(multicast, kV2).error().code, Errc::kInvalidArgument);
}

TEST_F(DirectoryTest, AnAdapterCanHaveAGidOfItsOwnThatIsNoMacs) {
  const Gid own{{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0x50, 0x56, 0, 0x01, 0xA2, 0xB3, 0x01}};
  ASSERT_TRUE(b_->announce(own, kV2));
  const auto service = directory_.join_with_gid(AdapterId{9}, "vmhba32", own, {});
  EXPECT_EQ(a_->find(own, kV2), std::nullopt) << "the other has lost it";
  EXPECT_FALSE(b_->announce(own, kV2));
  ASSERT_TRUE(service->announce(own, kV2));
  EXPECT_EQ(a_->find(own, kV2)->peer, AdapterId{9});
}

TEST_F(DirectoryTest, TheGidsOfASegmentAreThoseThatCanBeReached) {
  ASSERT_TRUE(a_->announce(ipv4(1), kV2));
  ASSERT_TRUE(a_->announce(ipv4(2), kV1));
  ASSERT_TRUE(b_->announce(ipv4(3), kV2));
  EXPECT_EQ(directory_.gids_in({}, kV2), (std::vector<Gid>{ipv4(1), ipv4(3)}));
  EXPECT_EQ(directory_.gids_in({}, kV1), (std::vector<Gid>{ipv4(2)}));
  directory_.set_link(AdapterId{1}, false);
  EXPECT_EQ(directory_.gids_in({}, kV2), (std::vector<Gid>{ipv4(3)}));
  EXPECT_TRUE(directory_.gids_in(verbs::SegmentId{7}, kV2).empty());
}

TEST_F(DirectoryTest, EpochChangesWithEveryChangeAndOnlyThen) {
  std::uint64_t epoch = a_->epoch();
  EXPECT_NE(epoch, 0u);
  const auto changed = [&] { return std::exchange(epoch, b_->epoch()) != epoch; };
  ASSERT_TRUE(a_->announce(ipv4(1), kV2));
  EXPECT_TRUE(changed());
  ASSERT_TRUE(a_->announce(ipv4(1), kV2));
  EXPECT_FALSE(changed());
  b_->withdraw(ipv4(1), kV2);
  EXPECT_FALSE(changed());
  a_->withdraw(ipv4(1), kV2);
  EXPECT_TRUE(changed());
  a_.reset();
  EXPECT_TRUE(changed());
}

TEST_F(DirectoryTest, AnotherTransportLeadsToAHost) {
  fake::ScriptedTransport slow;
  fake::ScriptedTransport fast;
  ASSERT_TRUE(a_->announce(ipv4(1), kV2));
  directory_.set_host(verbs::HostId{7}, "h7", slow, {{.segment = {}, .gid = ipv4(3), .type = kV2}});
  const std::uint64_t before = a_->epoch();
  directory_.set_via(verbs::HostId{7}, fast);
  EXPECT_NE(a_->epoch(), before);
  EXPECT_EQ(a_->find(ipv4(3), kV2)->transport, &fast);
  EXPECT_EQ(a_->find(ipv4(3), kV2)->host, verbs::HostId{7});
  directory_.set_via(verbs::HostId{8}, fast);  // is not there
  EXPECT_EQ(a_->find(ipv4(3), kV2)->transport, &fast);
}

// As the daemon's impairments do: one adapter's messages to one GID.
TEST_F(DirectoryTest, ADetourStandsBeforeTheTransportOfWhomItIsFor) {
  fake::ScriptedTransport far;
  fake::ScriptedTransport before;
  ASSERT_TRUE(a_->announce(ipv4(1), kV2));
  ASSERT_TRUE(b_->announce(ipv4(2), kV2));
  directory_.set_host(verbs::HostId{7}, "h7", far, {{.segment = {}, .gid = ipv4(3), .type = kV2}});
  std::vector<std::optional<AdapterId>> peers;
  directory_.set_detour([&](const Directory::Leg& leg) {
    peers.push_back(leg.peer);
    EXPECT_EQ(leg.usual, leg.peer ? static_cast<verbs::Transport*>(&local_) : &far);
    return leg.from == AdapterId{1} ? &before : nullptr;
  });
  const std::uint64_t epoch = a_->epoch();
  directory_.detours_changed();
  EXPECT_NE(a_->epoch(), epoch);  // paths that are known are looked up anew

  EXPECT_EQ(a_->find(ipv4(2), kV2)->transport, &before);
  EXPECT_EQ(a_->find(ipv4(2), kV2)->peer, AdapterId{2});
  EXPECT_EQ(a_->find(ipv4(3), kV2)->transport, &before);
  EXPECT_EQ(a_->find(ipv4(3), kV2)->host, verbs::HostId{7});
  EXPECT_EQ(b_->find(ipv4(1), kV2)->transport, &local_);
  EXPECT_EQ(b_->find(ipv4(3), kV2)->transport, &far);
  EXPECT_EQ(peers.front(), AdapterId{2});
  EXPECT_EQ(peers.back(), std::nullopt);

  peers.clear();
  EXPECT_EQ(a_->find(ipv4(9), kV2), std::nullopt);
  EXPECT_TRUE(peers.empty());  // no way, no detour
  directory_.set_detour({});
  EXPECT_EQ(a_->find(ipv4(2), kV2)->transport, &local_);
}

TEST_F(DirectoryTest, RoutesOnlyFromAGidThatIsTheAdaptersOwn) {
  ASSERT_TRUE(a_->announce(ipv4(1), kV2));
  ASSERT_TRUE(b_->announce(ipv4(2), kV2));
  EXPECT_EQ(directory_.route(AdapterId{1}, ipv4(1), ipv4(2), kV2)->peer, AdapterId{2});
  EXPECT_EQ(directory_.route(AdapterId{1}, ipv4(2), ipv4(2), kV2), std::nullopt);
  EXPECT_EQ(directory_.route(AdapterId{1}, ipv4(1), ipv4(2), kV1), std::nullopt);
  EXPECT_EQ(directory_.route(AdapterId{1}, ipv4(1), ipv4(9), kV2), std::nullopt);
  EXPECT_EQ(directory_.route(AdapterId{9}, ipv4(1), ipv4(2), kV2), std::nullopt);
  directory_.set_segment(AdapterId{1}, verbs::SegmentId{5});
  EXPECT_EQ(directory_.route(AdapterId{1}, ipv4(1), ipv4(2), kV2), std::nullopt);
  b_.reset();
  EXPECT_EQ(directory_.route(AdapterId{2}, ipv4(2), ipv4(1), kV2), std::nullopt);
}

}  // namespace
}  // namespace paravane::fabric
