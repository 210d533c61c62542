#include "worker/impairments.h"

#include <gtest/gtest.h>

#include <map>

#include "testing/engine_rig.h"
#include "testing/scripted_transport.h"

namespace paravane::worker {
namespace {

using model::Impairment;
using std::chrono::milliseconds;
using verbs::AdapterId;

constexpr verbs::Gid kFarGid{{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9}};
constexpr auto kV2 = verbs::GidType::kRoceV2;

// Three VMs of this host, a, b and c, and another host's adapter.
class ImpairmentsTest : public testing::Test {
 protected:
  ImpairmentsTest() {
    rig_.directory().set_host(verbs::HostId{7}, "h7", remote_,
                              {{.segment = {}, .gid = kFarGid, .type = kV2}});
  }
  // By which the adapter with that number reaches the GID.
  verbs::Transport* way(unsigned from, const verbs::Gid& to) {
    const auto path = rig_.directory().route(AdapterId{from}, rig_.vm(from).gid(), to, kV2);
    return path ? path->transport : nullptr;
  }
  bool is_impaired(unsigned from, const verbs::Gid& to) {
    return way(from, to)->name().ends_with(transport_impaired::kNameSuffix);
  }
  void set(const model::Impairment& impairment) { ASSERT_TRUE(impairments_.set(impairment)); }
  verbs::Gid gid(unsigned vm) { return rig_.vm(vm).gid(); }

  fake::EngineRig rig_{3};
  fake::ScriptedTransport remote_;
  std::map<AdapterId, std::string> names_{
      {AdapterId{0}, "a"}, {AdapterId{1}, "b"}, {AdapterId{2}, "c"}};
  Impairments impairments_{
      rig_.directory(), {&rig_.local(), &remote_}, rig_.turn_clock(), [this](AdapterId id) {
        return names_[id];
      }};
};

TEST_F(ImpairmentsTest, TouchNothingThatTheyAreNotFor) {
  EXPECT_EQ(way(0, gid(1)), &rig_.local());
  EXPECT_EQ(way(0, kFarGid), &remote_);
  set({.vm = "a", .peer = "b", .loss_ppm = 1});
  EXPECT_EQ(way(0, gid(1))->name(), "local+impaired");
  EXPECT_EQ(way(0, gid(2)), &rig_.local());
  EXPECT_EQ(way(0, kFarGid), &remote_);
  EXPECT_EQ(way(1, gid(0)), &rig_.local());  // one way
}

TEST_F(ImpairmentsTest, OfAnyPeerAreOnEveryPath) {
  set({.vm = "a", .loss_ppm = 1});
  EXPECT_EQ(way(0, gid(1))->name(), "local+impaired");
  EXPECT_EQ(way(0, kFarGid)->name(), "scripted+impaired");
  EXPECT_EQ(&way(0, kFarGid)->carrier(), &remote_);
}

TEST_F(ImpairmentsTest, ThatSayMostOfAPeerCount) {
  set({.vm = "a", .loss_ppm = 1});
  verbs::Transport* any = way(0, gid(1));
  set({.vm = "a", .peer = "b", .loss_ppm = 1});
  verbs::Transport* by_name = way(0, gid(1));
  EXPECT_NE(by_name, any);
  EXPECT_EQ(way(0, gid(2)), any);
  set({.vm = "a", .peer = "fe80::9", .loss_ppm = 1});
  EXPECT_NE(way(0, kFarGid), any);
  EXPECT_TRUE(is_impaired(0, kFarGid));
  EXPECT_EQ(way(0, gid(1)), by_name);
}

TEST_F(ImpairmentsTest, ReplaceTheOneBetweenTheSameTwo) {
  set({.vm = "a", .peer = "b", .loss_ppm = 1});
  set({.vm = "a", .peer = "c", .loss_ppm = 1});
  set({.vm = "a", .peer = "b", .delay_us = 20, .seed = 7});
  const auto list = impairments_.list();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].spec, (model::Impairment{.vm = "a", .peer = "b", .delay_us = 20, .seed = 7}));
  EXPECT_EQ(list[1].spec.peer, "c");
}

TEST_F(ImpairmentsTest, AreSoManyAndNoMore) {
  for (unsigned i = 0; i < model::kMaxImpairments; ++i) {
    set({.vm = "a", .peer = "vm" + std::to_string(i), .loss_ppm = 1});
  }
  EXPECT_FALSE(impairments_.set({.vm = "b", .loss_ppm = 1}));
  set({.vm = "a", .peer = "vm3", .loss_ppm = 2});  // instead of another
  impairments_.forget_vm("vm5");
  set({.vm = "b", .loss_ppm = 1});
  EXPECT_EQ(impairments_.list().size(), model::kMaxImpairments);
}

TEST_F(ImpairmentsTest, AreClearedForOneVmOrAll) {
  set({.vm = "a", .loss_ppm = 1});
  set({.vm = "b", .loss_ppm = 1});
  EXPECT_FALSE(impairments_.clear("c"));
  EXPECT_TRUE(impairments_.clear("a"));
  EXPECT_FALSE(impairments_.clear("a"));
  EXPECT_FALSE(is_impaired(0, gid(1)));
  EXPECT_TRUE(is_impaired(1, gid(0)));
  EXPECT_TRUE(impairments_.clear(std::nullopt));
  EXPECT_FALSE(impairments_.clear(std::nullopt));
  EXPECT_EQ(way(1, gid(0)), &rig_.local());
  EXPECT_TRUE(impairments_.list().empty());
}

TEST_F(ImpairmentsTest, GoWithTheVmThatTheyAreForOrTowards) {
  set({.vm = "a", .peer = "b", .loss_ppm = 1});
  set({.vm = "a", .peer = "c", .loss_ppm = 1});
  set({.vm = "b", .loss_ppm = 1});
  impairments_.forget_vm("b");
  ASSERT_EQ(impairments_.list().size(), 1u);
  EXPECT_EQ(impairments_.list()[0].spec.peer, "c");
  EXPECT_EQ(way(0, gid(1)), &rig_.local());
  set({.vm = "a", .loss_ppm = 1});
  impairments_.forget_vm("any");  // a name like others
  EXPECT_EQ(impairments_.list().size(), 2u);
}

TEST_F(ImpairmentsTest, CountWhatTheyDoAndBeginAnewWhenSetAnew) {
  set({.vm = "a", .peer = "b", .loss_ppm = model::kPartsPerMillion});
  const auto qp_a = rig_.vm(0).queue_pair();
  const auto qp_b = rig_.vm(1).queue_pair();
  rig_.connect(rig_.vm(0), *qp_a, rig_.vm(1), *qp_b);
  qp_a->post(fake::send_request(1, {}));
  rig_.run();
  EXPECT_EQ(impairments_.list()[0].lost, 1u);
  const auto groups = impairments_.counters();
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].name, "impaired a to b");
  EXPECT_EQ(groups[0].counters[1].value, 1u);
  set({.vm = "a", .peer = "b", .loss_ppm = 1});
  EXPECT_EQ(impairments_.list()[0].lost, 0u);
}

TEST_F(ImpairmentsTest, CarryWhatIsDelayedInTurnsOfTheirOwn) {
  set({.vm = "a", .delay_us = 2'000});
  const auto qp_a = rig_.vm(0).queue_pair();
  const auto qp_b = rig_.vm(1).queue_pair();
  rig_.connect(rig_.vm(0), *qp_a, rig_.vm(1), *qp_b);
  qp_a->post(fake::write_request(1, {}, 0, 0));
  rig_.run();
  const Instant due = impairments_.next_look();
  EXPECT_EQ(due, rig_.now() + milliseconds(2));
  EXPECT_FALSE(impairments_.has_work());
  verbs::Budget budget{.bytes = 1 << 20, .operations = 16};
  EXPECT_FALSE(impairments_.turn(rig_.now(), budget));
  EXPECT_TRUE(impairments_.turn(due, budget));
  EXPECT_EQ(qp_a->sends.size(), 1u);
  EXPECT_EQ(impairments_.next_look(), kNever);
}

TEST_F(ImpairmentsTest, KeepNothingOfAVmThatGoes) {
  set({.vm = "a", .delay_us = 2'000});
  auto rc = rig_.vm(0).queue_pair();
  auto ud = rig_.vm(0).queue_pair(verbs::QpType::kUnreliableDatagram);
  const auto peer = rig_.vm(1).queue_pair();
  rig_.connect(rig_.vm(0), *rc, rig_.vm(1), *peer);
  ASSERT_TRUE(fake::bring_up(*ud->qp, verbs::QpState::kReadyToSend, fake::default_attributes()));
  rc->post(fake::write_request(1, {}, 0, 0));
  verbs::SendRequest datagram = fake::send_request(2, {});
  datagram.remote_qpn = peer->qp->number();
  datagram.av.dgid = gid(1);
  ud->post(datagram);
  rig_.run();
  ASSERT_NE(impairments_.next_look(), kNever);
  rc.reset();
  ud.reset();
  rig_.remove(0);
  impairments_.forget_adapter(AdapterId{0});
  EXPECT_EQ(impairments_.next_look(), kNever);
}

}  // namespace
}  // namespace paravane::worker
