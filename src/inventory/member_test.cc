// Against a real etcd on loopback. A member's clock follows the real one, as etcd's does, and a
// test may put it forward, so that nothing waits for a lease; what etcd itself does by time is
// left to the end-to-end tests.

#include "inventory/member.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <utility>

#include "inventory/users.h"
#include "model/segment.h"
#include "testing/etcd_process.h"

namespace paravane::inventory {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr model::MacAddress kMacA{0x02, 0, 0, 0, 0, 0x0A};
constexpr model::MacAddress kMacB{0x02, 0, 0, 0, 0, 0x0B};
const model::AdapterName kVm{"vm", 1};
const model::Network kNetwork{.switches = {{"lan", {.name = "lan"}}},
                              .port_groups = {{"a", {.name = "a", .vds = "lan", .vlan = 10}},
                                              {"b", {.name = "b", .vds = "lan", .vlan = 20}}}};
const std::uint64_t kA = *model::segment_number(kNetwork, "a");
const std::uint64_t kB = *model::segment_number(kNetwork, "b");

OwnKeys adapter_and_gid(const model::MacAddress& mac, const GidId& gid,
                        const std::string& port_group = "a") {
  OwnKeys own;
  say_adapter(own, kVm, {.mac = mac, .port_group = port_group});
  say_gid(own, gid, kVm);
  return own;
}

// One host: a member, and what it was told.
struct Seat {
  Seat(const std::string& host, EtcdAccess access)
      : member({.host = host, .access = std::move(access), .lease = std::chrono::seconds(30)}, {},
               {.changed = [this](auto seen) { view = std::move(seen); },
                .state = [this](const MemberState& state) { states.push_back(state); },
                .lost = [this](const LostClaim& claim) { lost.push_back(claim); }},
               now) {}

  void step() {
    const auto real = std::chrono::steady_clock::now();
    now += real - std::exchange(seen_, real);
    member.step(now);
  }

  // Steps until `condition` holds. False: it did not within a minute.
  template <typename Condition>
  bool until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::chrono::steady_clock::now() < end) {
      step();
      if (condition()) return true;
      member.wait(std::chrono::milliseconds(25), -1);
    }
    return false;
  }
  bool connects() {
    return until([this] { return member.state().connected && view != nullptr; });
  }

  Instant now{};
  std::shared_ptr<const View> view;
  std::vector<MemberState> states;
  std::vector<LostClaim> lost;
  Member member;

 private:
  std::chrono::steady_clock::time_point seen_ = std::chrono::steady_clock::now();
};

class MemberTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(close_etcd(anybody_, "secret"));
    ASSERT_TRUE(admit_host(root_, "a", "pa", true));
    ASSERT_TRUE(admit_host(root_, "b", "pb", false));
    const std::string config(kConfigPrefix);
    ASSERT_TRUE(root_.put(config + switch_document("lan"), print_switch({.name = "lan"})));
    for (const auto& [name, group] : kNetwork.port_groups) {
      ASSERT_TRUE(root_.put(config + port_group_document(name), print_port_group(group)));
    }
  }

  EtcdProcess etcd_;
  OpenSocket plainly_;
  EtcdAccess nobody_ = etcd_.access();
  EtcdAccess as_root_ = etcd_.access("root", "secret");
  EtcdClient anybody_{nobody_, plainly_};
  EtcdClient root_{as_root_, plainly_};
  Seat a_{"a", etcd_.access(host_user("a"), "pa")};
  Seat b_{"b", etcd_.access(host_user("b"), "pb")};
  const GidId gid_a_{kA, link_local_gid(kMacA), RoceType::kV2};
  const GidId free_{kA, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 1}, RoceType::kV2};
};

TEST_F(MemberTest, WhatAnEarlierProcessPublishedStaysUntilTheHostPublishesAgain) {
  a_.member.set_own(adapter_and_gid(kMacA, gid_a_));
  ASSERT_TRUE(a_.connects());
  Seat again("a", etcd_.access(host_user("a"), "pa"));
  ASSERT_TRUE(again.connects());
  EXPECT_EQ(again.view->owner(gid_a_), (GidOwner{"a", kVm}));
  ASSERT_TRUE(b_.connects());
  EXPECT_EQ(b_.view->owner(gid_a_), (GidOwner{"a", kVm}));
  again.member.set_own({});
  EXPECT_TRUE(b_.until([&] {
    again.step();
    return !b_.view->owner(gid_a_);
  }));
}

TEST_F(MemberTest, HostsSeeWhatOthersSay) {
  a_.member.set_own(adapter_and_gid(kMacA, gid_a_));
  ASSERT_TRUE(a_.connects());
  ASSERT_TRUE(b_.connects());
  EXPECT_EQ(b_.view->owner(gid_a_), (GidOwner{"a", kVm}));
  a_.member.set_own({});
  ASSERT_TRUE(a_.until([this] { return !a_.view->owner(gid_a_); }));
  EXPECT_TRUE(b_.until([this] { return !b_.view->owner(gid_a_); }));
}

TEST_F(MemberTest, AnothersGidIsNotTakenAndTheLoserIsToldOnce) {
  a_.member.set_own(adapter_and_gid(kMacA, free_));
  ASSERT_TRUE(a_.connects());
  b_.member.set_own(adapter_and_gid(kMacB, free_));
  ASSERT_TRUE(b_.connects());
  ASSERT_TRUE(b_.until([this] { return !b_.lost.empty(); }));
  EXPECT_THAT(b_.lost[0].reason, HasSubstr("host a claimed the GID first"));
  EXPECT_TRUE(a_.until([this] { return !a_.view->lost.empty(); }));
  EXPECT_EQ(a_.view->owner(free_), b_.view->owner(free_));
  EXPECT_THAT(a_.lost, IsEmpty());
  auto more = adapter_and_gid(kMacB, free_);
  say_gid(more, {kA, link_local_gid(kMacB), RoceType::kV2}, kVm);
  b_.member.set_own(more);
  ASSERT_TRUE(b_.until([this] { return b_.view->gids.size() == 2; }));
  EXPECT_THAT(b_.lost, SizeIs(1));
}

TEST_F(MemberTest, OneAddressInTwoNetworksIsTwo) {
  const GidId in_b{kB, free_.gid, free_.type};
  a_.member.set_own(adapter_and_gid(kMacA, free_));
  b_.member.set_own(adapter_and_gid(kMacB, in_b, "b"));
  ASSERT_TRUE(a_.connects());
  ASSERT_TRUE(b_.connects());
  ASSERT_TRUE(a_.until([&] { return a_.view->gids.size() == 2; }));
  EXPECT_EQ(a_.view->owner(free_)->host, "a");
  EXPECT_EQ(a_.view->owner(in_b)->host, "b");
  EXPECT_THAT(b_.lost, IsEmpty());
  // A hostile host says that it is in one network and claims in the other.
  b_.member.set_own(adapter_and_gid(kMacB, free_, "b"));
  ASSERT_TRUE(b_.until([this] { return !b_.lost.empty(); }));
  EXPECT_THAT(b_.lost[0].reason, HasSubstr("another network"));
  EXPECT_EQ(b_.view->owner(free_)->host, "a");
}

TEST_F(MemberTest, WhatWasKnownStaysWhileEtcdIsAwayAndNothingIsLost) {
  a_.member.set_own(adapter_and_gid(kMacA, gid_a_));
  ASSERT_TRUE(a_.connects());
  ASSERT_TRUE(b_.connects());
  etcd_.kill();
  ASSERT_TRUE(b_.until([this] { return !b_.member.state().connected; }));
  EXPECT_EQ(b_.view->owner(gid_a_), (GidOwner{"a", kVm}));
  EXPECT_THAT(b_.member.state().problem, Not(IsEmpty()));
  const Status refused = b_.member.write_document("switches/s", "{}");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kIo);
  const GidId gid_b{kA, link_local_gid(kMacB), RoceType::kV2};
  b_.member.set_own(adapter_and_gid(kMacB, gid_b));  // meanwhile
  etcd_.start();
  ASSERT_TRUE(a_.until([this] { return a_.states.size() >= 3 && a_.member.state().connected; }));
  ASSERT_TRUE(b_.until([&] { return b_.member.state().connected && b_.view->owner(gid_b); }));
  EXPECT_EQ(b_.view->owner(gid_a_), (GidOwner{"a", kVm}));
  EXPECT_TRUE(a_.until([&] { return a_.view->owner(gid_b).has_value(); }));
}

TEST_F(MemberTest, AClaimKeepsItsAgeOverAReconnection) {
  a_.member.set_own(adapter_and_gid(kMacA, free_));
  ASSERT_TRUE(a_.connects());
  b_.member.set_own(adapter_and_gid(kMacB, free_));
  ASSERT_TRUE(b_.connects());
  etcd_.kill();
  ASSERT_TRUE(a_.until([this] { return !a_.member.state().connected; }));
  etcd_.start();
  ASSERT_TRUE(b_.until([this] { return b_.member.state().rounds == 2; }));
  ASSERT_TRUE(a_.until([this] { return a_.member.state().rounds == 2; }));
  EXPECT_EQ(a_.view->owner(free_)->host, "a");
}

TEST_F(MemberTest, AMacAddressStaysWithAnAdapterThatMovesAndReconnects) {
  a_.member.set_own(adapter_and_gid(kMacA, gid_a_));
  b_.member.set_own(adapter_and_gid(kMacB, gid_a_));
  ASSERT_TRUE(a_.connects());
  ASSERT_TRUE(b_.connects());
  b_.member.set_own(adapter_and_gid(kMacA, gid_a_));  // an old adapter with another's address
  ASSERT_TRUE(b_.until([this] { return b_.lost.size() == 2; }));
  EXPECT_EQ(b_.view->macs.at(kMacA).host, "a");
  a_.member.set_own(adapter_and_gid(kMacA, {kB, gid_a_.gid, gid_a_.type}, "b"));
  ASSERT_TRUE(a_.until([this] { return a_.view->gids.size() == 1 && !a_.view->owner(gid_a_); }));
  a_.member.set_own(adapter_and_gid(kMacA, gid_a_));
  ASSERT_TRUE(a_.until([this] { return a_.view->owner(gid_a_).has_value(); }));
  etcd_.kill();
  ASSERT_TRUE(a_.until([this] { return !a_.member.state().connected; }));
  etcd_.start();
  ASSERT_TRUE(b_.until([this] { return b_.member.state().rounds == 2; }));
  ASSERT_TRUE(a_.until([this] { return a_.member.state().rounds == 2; }));
  EXPECT_EQ(a_.view->macs.at(kMacA).host, "a");
  EXPECT_EQ(a_.view->owner(gid_a_)->host, "a");
}

TEST_F(MemberTest, ALostLeaseIsNoticedAndAllIsWrittenAnew) {
  a_.member.set_own(adapter_and_gid(kMacA, gid_a_));
  ASSERT_TRUE(a_.connects());
  const auto pair = root_.get(host_prefix("a") + mac_key(kVm, kMacA));
  ASSERT_TRUE(pair && *pair);
  ASSERT_TRUE(root_.revoke_lease((*pair)->lease));
  a_.now += std::chrono::seconds(20);  // the next look at the lease is due
  ASSERT_TRUE(a_.until([this] { return a_.member.state().rounds == 2; }));
  ASSERT_TRUE(a_.until([this] { return a_.view->owner(gid_a_).has_value(); }));
  EXPECT_EQ(a_.member.state().lost_leases, 1U);
}

TEST_F(MemberTest, AKeyThatSomebodyTakesAwayComesBack) {
  a_.member.set_own(adapter_and_gid(kMacA, gid_a_));
  ASSERT_TRUE(a_.connects());
  ASSERT_TRUE(root_.erase_prefix(host_prefix("a") + "gids/"));
  ASSERT_TRUE(a_.until([this] { return !a_.view->owner(gid_a_); }));
  EXPECT_TRUE(a_.until([this] { return a_.view->owner(gid_a_).has_value(); }));
}

TEST_F(MemberTest, WhatAnEarlierLifeHasLeftBehindIsCleared) {
  ASSERT_TRUE(root_.put(host_prefix("a") + gid_key(gid_a_, kVm), "{}"));
  OwnKeys own;
  say_adapter(own, kVm, {.mac = kMacA, .port_group = "a"});
  a_.member.set_own(own);
  ASSERT_TRUE(a_.connects());
  EXPECT_TRUE(a_.until([this] { return !*root_.get(host_prefix("a") + gid_key(gid_a_, kVm)); }));
}

TEST_F(MemberTest, CompactionIsNoHarm) {
  ASSERT_TRUE(a_.connects());
  ASSERT_TRUE(b_.connects());
  etcd_.kill();
  ASSERT_TRUE(b_.until([this] { return !b_.member.state().connected; }));
  etcd_.start();
  const auto last = root_.get("/x");
  ASSERT_TRUE(root_.put("/x", "1") && root_.put("/x", "2") && root_.put("/x", "3"));
  ASSERT_TRUE(root_.compact((*root_.get("/x"))->mod_revision));
  a_.member.set_own(adapter_and_gid(kMacA, gid_a_));
  ASSERT_TRUE(a_.until([this] { return a_.view->owner(gid_a_).has_value(); }));
  EXPECT_TRUE(b_.until([this] { return b_.view->owner(gid_a_).has_value(); }));
}

TEST_F(MemberTest, AHostThatHadTooManyKeysCountsAgain) {
  a_.member.set_own(adapter_and_gid(kMacA, gid_a_));
  ASSERT_TRUE(a_.connects());
  std::vector<Write> writes;
  for (std::size_t i = 0; i <= View::kMaxKeysPerHost; ++i) {
    writes.push_back({.key = host_prefix("b") + "gids/" + std::to_string(i), .value = "{}"});
    if (writes.size() < EtcdClient::kMaxWrites && i < View::kMaxKeysPerHost) continue;
    ASSERT_TRUE(root_.write(writes));
    writes.clear();
    a_.step();  // and keeps its lease
  }
  ASSERT_TRUE(a_.until([this] { return !a_.view->oversized_hosts.empty(); }));
  b_.member.set_own(adapter_and_gid(kMacB, free_));  // and takes the others away
  ASSERT_TRUE(b_.connects());
  ASSERT_TRUE(a_.until([this] { return a_.view->owner(free_).has_value(); }));
  EXPECT_THAT(a_.view->oversized_hosts, IsEmpty());
  EXPECT_TRUE(a_.until([this] { return a_.view->owner(gid_a_) == GidOwner{"a", kVm}; }))
      << "all was read again";
}

// etcd tells of all that one request has changed at once: 17 MB here.
TEST_F(MemberTest, MuchThatIsTakenAwayAtOnceDoesNotEndTheWatch) {
  a_.member.set_own(adapter_and_gid(kMacA, gid_a_));
  ASSERT_TRUE(a_.connects());
  const EtcdAccess as_b = etcd_.access(host_user("b"), "pb");
  EtcdClient b(as_b, plainly_);
  for (int i = 0; i < 52; ++i) {
    const std::string key = std::string(250'000, 'x') + std::to_string(100 + i);
    ASSERT_TRUE(b.put(host_prefix("b") + key, ""));
    a_.step();
  }
  ASSERT_TRUE(a_.until([this] { return !a_.view->oversized_hosts.empty(); }));
  ASSERT_TRUE(b.erase_prefix(host_prefix("b")));
  ASSERT_TRUE(a_.until([this] { return a_.view->oversized_hosts.empty(); }));
  EXPECT_EQ(a_.member.state().rounds, 1u) << "it has stayed connected";
}

TEST_F(MemberTest, DocumentsReachAllAndOnlyTheAuthorityWritesThem) {
  ASSERT_TRUE(a_.connects());
  ASSERT_TRUE(b_.connects());
  ASSERT_TRUE(a_.member.write_document("switches/s1", R"({"mtu":9000})"));
  EXPECT_TRUE(b_.until([this] { return b_.view->documents.contains("switches/s1"); }));
  const Status refused = b_.member.write_document("switches/s1", "{}");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kBadState);
  ASSERT_TRUE(a_.member.write_document("switches/s1", std::nullopt));
  EXPECT_TRUE(b_.until([this] { return !b_.view->documents.contains("switches/s1"); }));
}

TEST_F(MemberTest, DocumentsAreWrittenInTheirOrderAndAsManyAtOnceAsEtcdTakes) {
  ASSERT_TRUE(a_.connects());
  std::vector<Write> documents;
  for (std::size_t i = 0; i <= EtcdClient::kMaxWrites; ++i) {
    documents.push_back({.key = "x/" + std::to_string(1'000 - i), .value = "{}"});
  }
  ASSERT_TRUE(a_.member.write_documents(documents));
  const auto revision = [this](const Write& document) {
    const auto stands = root_.get(std::string(kConfigPrefix) + document.key);
    return stands && *stands ? (*stands)->mod_revision : 0;
  };
  EXPECT_NE(revision(documents.front()), 0);
  EXPECT_EQ(revision(documents[EtcdClient::kMaxWrites - 1]), revision(documents.front()));
  EXPECT_EQ(revision(documents.back()), revision(documents.front()) + 1);
  const Status refused = b_.member.write_documents(documents);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kIo) << "it has not connected";
}

TEST_F(MemberTest, WhoLeavesIsGoneAtOnce) {
  a_.member.set_own(adapter_and_gid(kMacA, gid_a_));
  ASSERT_TRUE(a_.connects());
  ASSERT_TRUE(b_.connects());
  ASSERT_TRUE(a_.member.leave());
  EXPECT_TRUE(b_.until([this] { return b_.view->hosts.empty(); }));
}

}  // namespace
}  // namespace paravane::inventory
