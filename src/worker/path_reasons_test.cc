#include "worker/path_reasons.h"

#include <gtest/gtest.h>

#include "testing/engine_rig.h"
#include "testing/scripted_transport.h"
#include "verbs/connection.h"

namespace paravane::worker {
namespace {

using verbs::AdapterId;
using verbs::Gid;
using verbs::HostId;
using verbs::SegmentId;

constexpr auto kFarType = verbs::GidType::kRoceV2;
constexpr Gid kFar{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 9}};
constexpr SegmentId kElsewhere{7};

// Two VMs of this host, and a connection of the first whose peer has some GID.
class PathReasonsTest : public testing::Test {
 protected:
  // Path and reason as `path list` shows them, once the connection has looked for its path.
  // `index`: of the connection's own GID, 0 of RoCE v2 and 1 of v1.
  std::pair<std::string, std::string> look(const Gid& peer, std::uint8_t index = 0) {
    const auto qp = rig_.a().queue_pair();
    fake::EngineRig::bring_up_to(*qp, verbs::QpState::kReadyToReceive, peer, 5,
                                 fake::default_attributes(), index);
    const device::QueuePairView view = view_of(*qp);
    return {std::string(view.path), reasons_.why(AdapterId{0}, view)};
  }
  static device::QueuePairView view_of(const fake::EngineQp& qp) {
    const verbs::Connection& connection = qp.qp->connection();
    const verbs::Path* path = connection.last_path();
    device::QueuePairView view;
    view.path = qp.qp->path_name();
    if (connection.is_set()) view.peer_gid = connection.dgid();
    view.own_gid = connection.sgid();
    view.gid_type = connection.gid_type();
    view.peer_host = path != nullptr ? path->host : HostId{};
    return view;
  }
  static std::pair<std::string, std::string> row(const char* path, const char* why) {
    return {path, why};
  }
  fabric::Directory& directory() { return rig_.directory(); }
  void add_host() {
    directory().set_host(HostId{2}, "h2", tcp_, {{.gid = kFar, .type = kFarType}});
  }

  fake::EngineRig rig_{2};
  fake::ScriptedTransport tcp_{"tcp"};
  fake::ScriptedTransport hca_{"hca"};
  TrunkReport trunk_;
  std::string copies_;  // why long messages are
  fake::ScriptedTransport roce_{"roce"};
  fake::ScriptedTransport impaired_{"tcp+impaired"};
  std::string problem_;       // of the channel to h2
  bool lacks_probe_ = false;  // the release of h2
  transport_roce::ProbeReport probe_{.state = transport_roce::ProbeState::kAnswered};
  std::string closed_ = "port group vms has RoCE off";
  PathReasons reasons_{
      directory(),
      {.host = [this](HostId) { return HostReport{"h2", problem_, lacks_probe_, trunk_}; },
       .roce = [this](AdapterId) { return closed_; },
       .probe = [this](AdapterId, const auto&) { return probe_; },
       .copies = [this](AdapterId, HostId) { return copies_; }}};
};

TEST_F(PathReasonsTest, NothingIsBetterThanLocal) {
  EXPECT_EQ(look(rig_.b().gid()), row("local", "same host"));
}

TEST_F(PathReasonsTest, TcpLeadsToTheHostWhereNoAdapterOfHardwareIsUsable) {
  add_host();
  EXPECT_EQ(look(kFar), row("tcp", "on host h2; hca: no usable adapter"));
}

TEST_F(PathReasonsTest, TcpSaysWhyThereIsNoTrunk) {
  add_host();
  trunk_ = {.why = "encryption is on"};
  EXPECT_EQ(look(kFar), row("tcp", "on host h2; hca: encryption is on"));
  trunk_ = {.why = "has its port down", .at_peer = true};
  EXPECT_EQ(look(kFar), row("tcp", "on host h2; hca: h2 has its port down"));
  problem_ = "the connection failed";
  EXPECT_EQ(look(kFar), row("tcp", "on host h2; no channel: the connection failed"));
}

TEST_F(PathReasonsTest, HcaNamesTheAdapter) {
  directory().set_host(HostId{2}, "h2", hca_,
                       {{.segment = SegmentId::kBuiltIn, .gid = kFar, .type = kFarType}});
  trunk_ = {.device = "mlx5_0"};
  EXPECT_EQ(look(kFar), row("hca", "on host h2; over mlx5_0"));
  copies_ = "memory is being registered";
  EXPECT_EQ(look(kFar), row("hca",
                            "on host h2; over mlx5_0; long messages are copied: "
                            "memory is being registered"));
}

TEST_F(PathReasonsTest, TcpSaysWhyThereIsNoChannel) {
  add_host();
  problem_ = "the connection failed";
  EXPECT_EQ(look(kFar), row("tcp", "on host h2; no channel: the connection failed"));
}

TEST_F(PathReasonsTest, APathMadeWorseOnPurposeSaysSo) {
  add_host();
  directory().set_detour([this](const auto&) { return &impaired_; });
  EXPECT_EQ(look(kFar), row("tcp+impaired", "on host h2; hca: no usable adapter; impaired"));
}

TEST_F(PathReasonsTest, RoceIsForWhatNoAdapterOfTheClusterHas) {
  directory().set_native(AdapterId{0}, &roce_);
  EXPECT_EQ(look(kFar), row("roce", "no adapter of the cluster has the peer's GID"));
  add_host();
  EXPECT_EQ(look(kFar).first, "tcp") << "the better one, as soon as one has it";
}

// kFar is the second VM's, which is in another network.
TEST_F(PathReasonsTest, ThroughARouterItSaysWhoseGidItIsAndWhetherThatIsAllowed) {
  directory().set_native(AdapterId{0}, &roce_);
  directory().set_native(AdapterId{1}, &roce_);
  directory().set_segment(AdapterId{1}, kElsewhere);
  ASSERT_TRUE(rig_.b().adapter().bind_gid(1, kFar, kFarType));
  using Rules = fabric::Directory::NetworkRules;
  const Rules apart{.port_group = "b", .routed = true};
  const auto with = [this](bool here_is_routed, const Rules& there) {
    directory().set_networks(
        {{SegmentId::kBuiltIn, {.port_group = "a", .native = true, .routed = here_is_routed}},
         {kElsewhere, there}});
    return look(kFar);
  };
  const Rules off{.port_group = "b", .native = true};
  const Rules on{.port_group = "b", .native = true, .routed = true};
  const auto unknown = row("roce", "no adapter in this network has the peer's GID");
  EXPECT_EQ(look(kFar), unknown) << "no port group is known";
  EXPECT_EQ(with(true, apart), unknown);
  const std::string its = "the peer's GID belongs to " +
                          directory().crossing(AdapterId{0}, kFar, kFarType).owner +
                          " in port group b";
  const auto stays = [&](const std::string& why) {
    return std::pair(std::string("roce"), "not through a router: " + its + "; " + why);
  };
  EXPECT_EQ(with(false, off), stays("port group a has routed off"));
  EXPECT_EQ(with(false, on), stays("port group a has routed off"));
  EXPECT_EQ(with(true, off), stays("port group b has routed off"));
  EXPECT_EQ(with(true, on), std::pair(std::string("roce"), "routed: " + its));
  ASSERT_TRUE(rig_.b().adapter().bind_gid(2, kFar, verbs::GidType::kRoceV1));
  EXPECT_EQ(look(kFar, 1), stays("RoCE v1 is not routed"));
  directory().set_native(AdapterId{0}, nullptr);
  EXPECT_EQ(look(kFar).first, "-") << "only with a RoCE port";
}

TEST_F(PathReasonsTest, ThroughARouterItSaysWhatTheProbeOfItSays) {
  using transport_roce::ProbeState;
  const fabric::Directory::NetworkRules rules{.port_group = "b", .native = true, .routed = true};
  directory().set_networks({{SegmentId::kBuiltIn, rules}, {kElsewhere, rules}});
  directory().set_native(AdapterId{0}, &roce_);
  directory().set_native(AdapterId{1}, &roce_);
  directory().set_segment(AdapterId{1}, kElsewhere);
  ASSERT_TRUE(rig_.b().adapter().bind_gid(1, kFar, kFarType));
  probe_.way = {.own = rig_.a().gid(), .peer = kFar, .gateway = {2, 0, 0, 0, 0xAA, 1}};
  const auto why = [this](ProbeState state, bool hears_peer = false) {
    probe_.state = state;
    probe_.hears_peer = hears_peer;
    const std::string said = look(kFar).second;
    EXPECT_EQ(reasons_.why_routed(AdapterId{0}, probe_), said) << "as an event has it";
    return said;
  };
  const std::string owner = directory().crossing(AdapterId{0}, kFar, kFarType).owner;
  const std::string routed = "routed: the peer's GID belongs to " + owner + " in port group b";
  const std::string through = "UDP port 4791 through 02:00:00:00:aa:01";
  EXPECT_EQ(why(ProbeState::kNone),
            routed + "; the router is probed when the connection is next used");
  EXPECT_EQ(why(ProbeState::kRefused), routed + "; not probed: as many ways are probed as may be");
  EXPECT_EQ(why(ProbeState::kAwaited), routed + "; an answer on " + through + " is awaited");
  EXPECT_EQ(why(ProbeState::kAnswered), routed);
  EXPECT_EQ(why(ProbeState::kUnanswered),
            "not through the router: " + owner + " in port group b has not answered on " + through);
  EXPECT_EQ(why(ProbeState::kUnanswered, true),
            routed + "; its packets come, but no answer to the probe on " + through);
  directory().set_link(AdapterId{1}, false);
  EXPECT_EQ(why(ProbeState::kUnanswered),
            routed + "; that adapter is disconnected from its switch");
  ASSERT_TRUE(rig_.b().adapter().unbind_gid(1));
  directory().set_host(HostId{2}, "h2", tcp_,
                       {{.segment = kElsewhere, .gid = kFar, .type = kFarType}});
  const std::string far = "an adapter of host h2 in port group b";
  EXPECT_EQ(why(ProbeState::kUnanswered),
            "not through the router: " + far + " has not answered on " + through);
  lacks_probe_ = true;
  EXPECT_EQ(why(ProbeState::kUnanswered), "routed: the peer's GID belongs to " + far +
                                              "; the release of host h2 answers no probe");
  EXPECT_EQ(why(ProbeState::kAnswered), "routed: the peer's GID belongs to " + far);
}

TEST_F(PathReasonsTest, WithoutAPathItSaysWhyNotRoce) {
  const std::string nothing = "no adapter in this network has the peer's GID; roce: ";
  for (const char* why :
       {"port group vms has RoCE off", "hardware version 17 has no native endpoints",
        "the adapter is in no port group", "pvr-db1: cannot be created"}) {
    closed_ = why;
    EXPECT_EQ(look(kFar), row("-", (nothing + why).c_str()));
  }
  closed_.clear();
  EXPECT_EQ(look(kFar), row("-", (nothing + "the RoCE port is not open yet").c_str()));
  directory().set_native(AdapterId{0}, &roce_);
  directory().set_others_known(false);
  EXPECT_EQ(look(kFar),
            row("-", (nothing + "the cluster's inventory has not been read yet").c_str()));
}

TEST_F(PathReasonsTest, AGidOfTheClusterIsNeverANativeEndpoints) {
  directory().set_native(AdapterId{0}, &roce_);
  directory().set_held(
      {{.gid = {.gid = kFar, .type = kFarType}, .owner = "a VM of host h2, which is away"}});
  EXPECT_EQ(look(kFar), row("-", "the peer's GID belongs to a VM of host h2, which is away"));
}

TEST_F(PathReasonsTest, WithoutAPathItSaysWhichLinkIsDown) {
  directory().set_link(AdapterId{1}, false);
  const auto [path, why] = look(rig_.b().gid());
  EXPECT_EQ(path, "-");
  EXPECT_TRUE(why.ends_with("which is disconnected from its switch")) << why;
  directory().set_link(AdapterId{0}, false);
  EXPECT_EQ(look(rig_.b().gid()), row("-", "the adapter is disconnected from its switch"));
}

TEST_F(PathReasonsTest, TheUnspecifiedGidIsNoPeer) {
  directory().set_native(AdapterId{0}, &roce_);
  EXPECT_EQ(look(Gid{}), row("-", "the peer's GID is not a unicast address"));
}

TEST_F(PathReasonsTest, AnAdapterInAnotherNetworkIsNotThere) {
  directory().set_segment(AdapterId{1}, kElsewhere);
  EXPECT_EQ(look(rig_.b().gid()), row("-",
                                      "no adapter in this network has the peer's GID; roce: port "
                                      "group vms has RoCE off"));
}

TEST_F(PathReasonsTest, AnEndWithoutItsGidHasNoPath) {
  const auto qp = rig_.a().queue_pair();
  fake::EngineRig::bring_up_to(*qp, verbs::QpState::kReadyToReceive, kFar, 5);
  ASSERT_TRUE(rig_.a().adapter().unbind_gid(0));
  EXPECT_EQ(reasons_.why(AdapterId{0}, view_of(*qp)),
            "the adapter no longer has the GID of its end of the connection");
}

TEST_F(PathReasonsTest, APathThatIsThereAgainIsChosenWhenItIsUsed) {
  directory().set_link(AdapterId{1}, false);
  const auto qp = rig_.a().queue_pair();
  fake::EngineRig::bring_up_to(*qp, verbs::QpState::kReadyToReceive, rig_.b().gid(), 5);
  directory().set_link(AdapterId{1}, true);
  EXPECT_EQ(reasons_.why(AdapterId{0}, view_of(*qp)),
            "a path is chosen when the connection is next used");
}

TEST_F(PathReasonsTest, WhatIsNotConnectedHasNoReason) {
  const auto qp = rig_.a().queue_pair();
  EXPECT_EQ(reasons_.why(AdapterId{0}, view_of(*qp)), "");
}

}  // namespace
}  // namespace paravane::worker
