#include "storage/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/srp_target_rig.h"

namespace paravane::storage {
namespace {

using fake::SrpTargetRig;
using model::TargetState;
using testing::HasSubstr;

class TargetTest : public testing::Test {
 protected:
  TargetTest() {
    rig.target.add(0, disk);
    disk.config().serial = "another";
    rig.login_of = [this] { return target ? target->login() : nullptr; };
    rig.pump = [this] {
      ++pumps;
      target->pump(rig.now());
    };
  }
  ~TargetTest() override { target.reset(); }

  void make(bool is_named = false) {
    target = std::make_unique<Target>(
        Target::Facts{.number = 0, .address = rig.address(), .is_named = is_named},
        rig.surroundings(), [] { return 7u; },
        Target::Listener{.units_found =
                             [this](Target&, const std::vector<UnitFacts>& all) {
                               ++found;
                               units = all;
                             },
                         .units_lost =
                             [this](Target& of, const std::string& why) {
                               ++lost;
                               reason = why;
                               // Paths still lead to it.
                               EXPECT_NE(of.login(), nullptr);
                               EXPECT_FALSE(of.login()->is_up());
                             }});
    rig.is_woken = true;
    ASSERT_TRUE(rig.settle());
  }

  SrpTargetRig rig;
  fake::FakeScsiDisk disk;
  std::unique_ptr<Target> target;
  std::vector<UnitFacts> units;
  std::string reason;
  unsigned found = 0;
  unsigned lost = 0;
  unsigned pumps = 0;
};

TEST_F(TargetTest, LogsInAndFindsItsUnits) {
  make();
  EXPECT_EQ(target->state(), TargetState::kLoggedIn);
  EXPECT_EQ(target->problem(), "");
  EXPECT_EQ(found, 1u);
  EXPECT_EQ(target->units(), 1u);
  ASSERT_EQ(units.size(), 1u);
  EXPECT_EQ(units[0].problem, "");
  EXPECT_FALSE(target->is_looking());
  EXPECT_EQ(rig.memory().payloads().free(), 4u);
}

TEST_F(TargetTest, IsStillWhenAllIsDone) {
  make();
  pumps = 0;
  rig.pass(std::chrono::seconds(30));
  EXPECT_EQ(pumps, 0u);
}

TEST_F(TargetTest, ARefusedLoginIsTriedAgainAfterAPause) {
  rig.login_reject = 0x0001'0001;
  make();
  EXPECT_EQ(target->state(), TargetState::kRefused);
  EXPECT_NE(target->problem(), "");
  EXPECT_EQ(rig.requests, 1u);
  rig.pass(Target::kLoginPause - std::chrono::seconds(1));
  EXPECT_EQ(rig.requests, 1u);
  rig.login_reject.reset();
  rig.pass(std::chrono::seconds(2));
  EXPECT_EQ(rig.requests, 2u);
  EXPECT_EQ(target->state(), TargetState::kLoggedIn);
  EXPECT_EQ(target->problem(), "");
  EXPECT_EQ(found, 1u);
}

TEST_F(TargetTest, TriesTheUsualPortAtOnceWhereTheServiceIsUnknown) {
  rig.unknown_services.insert(SrpTargetRig::kService);
  make();
  EXPECT_EQ(rig.requests, 2u);
  EXPECT_EQ(rig.last_request.service.get(), wire::infiniband::tcp_port_service(5555));
  EXPECT_EQ(target->state(), TargetState::kLoggedIn);
  EXPECT_EQ(found, 1u);
}

TEST_F(TargetTest, GoesBackToTheServiceWhereThePortIsUnknownToo) {
  rig.unknown_services = {SrpTargetRig::kService, wire::infiniband::tcp_port_service(5555)};
  make();
  EXPECT_EQ(rig.requests, 2u) << "both ways, then a pause";
  EXPECT_EQ(target->state(), TargetState::kRefused);
  rig.unknown_services = {wire::infiniband::tcp_port_service(5555)};
  rig.pass(Target::kLoginPause + std::chrono::seconds(1));
  EXPECT_EQ(rig.last_request.service.get(), SrpTargetRig::kService);
  EXPECT_EQ(target->state(), TargetState::kLoggedIn);
}

TEST_F(TargetTest, ANamedOneIsTriedOnlyAsItWasNamed) {
  rig.unknown_services.insert(SrpTargetRig::kService);
  make(/*is_named=*/true);
  EXPECT_EQ(rig.requests, 1u);
  EXPECT_EQ(target->state(), TargetState::kRefused);
}

TEST_F(TargetTest, ALostLoginIsToldAndMadeAgain) {
  make();
  rig.disconnect();
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(lost, 1u);
  EXPECT_THAT(reason, HasSubstr("ended the connection"));
  EXPECT_EQ(target->state(), TargetState::kLost);
  EXPECT_EQ(target->units(), 0u);
  EXPECT_EQ(target->login(), nullptr);
  rig.pass(Target::kLoginPause + std::chrono::seconds(1));
  EXPECT_EQ(target->state(), TargetState::kLoggedIn);
  EXPECT_EQ(found, 2u);
}

TEST_F(TargetTest, OneThatIsHeardOfAgainIsLoggedInToAtOnce) {
  make();
  rig.disconnect();
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(target->state(), TargetState::kLost);
  target->hear(rig.now());
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(target->state(), TargetState::kLoggedIn);
  rig.pass(Target::kScanRest);
  EXPECT_EQ(found, 2u);
}

TEST_F(TargetTest, OneThatHasRefusedAllIsNotAskedMoreOftenWhenItIsHeardOf) {
  rig.login_reject = 0x0001'0001;
  make();
  target->hear(rig.now());
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.requests, 1u);
}

TEST_F(TargetTest, ALoginThatIsUnderWayGoesOnWhenTheTargetIsHeardOf) {
  rig.is_silent = true;
  make();
  const unsigned requests = rig.requests;
  target->hear(rig.now());
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.requests, requests);
  EXPECT_NE(target->login(), nullptr);
}

TEST_F(TargetTest, ALoginThatIsLostDuringAScanGivesItsPayloadBack) {
  rig.target.hold();
  make();
  EXPECT_TRUE(target->is_looking());
  EXPECT_EQ(rig.memory().payloads().free(), 3u);
  rig.disconnect();
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.memory().payloads().free(), 4u);
  EXPECT_EQ(found, 0u);
  rig.target.release();
  rig.pass(Target::kLoginPause + std::chrono::seconds(1));
  EXPECT_EQ(found, 1u);
}

TEST_F(TargetTest, HasNoLoginWhileThePortIsDown) {
  make();
  target->set_link(false, rig.now());
  EXPECT_EQ(lost, 1u);
  EXPECT_EQ(target->login(), nullptr);
  rig.pass(std::chrono::seconds(30));
  EXPECT_EQ(rig.requests, 1u);
  target->set_link(true, rig.now());
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(target->state(), TargetState::kLoggedIn);
  EXPECT_EQ(found, 2u);
  target->set_link(true, rig.now());
  EXPECT_EQ(lost, 1u);
}

TEST_F(TargetTest, LooksAgainWhenItIsAsked) {
  make();
  fake::FakeScsiDisk other;
  rig.target.add(1, other);
  rig.pass(std::chrono::seconds(2));
  target->look_again();
  EXPECT_TRUE(target->is_looking());
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(found, 2u);
  EXPECT_EQ(target->units(), 2u);
  rig.target.remove(0);
  rig.pass(std::chrono::seconds(2));
  target->look_again();
  ASSERT_TRUE(rig.settle());
  ASSERT_EQ(units.size(), 1u);
  EXPECT_EQ(units[0].number, 1u);
}

TEST_F(TargetTest, ARescanLogsInAtOnce) {
  rig.login_reject = 0x0001'0001;
  make();
  rig.login_reject.reset();
  target->rescan(rig.now());
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(target->state(), TargetState::kLoggedIn);
}

TEST_F(TargetTest, ATargetThatAlwaysTellsOfChangesIsScannedNowAndThen) {
  make();
  for (int i = 0; i < 100; ++i) {
    rig.target.report_event(scsi::Lun::of(0),
                            {.key = scsi::SenseKey::kUnitAttention, .asc = 0x3F, .ascq = 0x0E});
    rig.pass(std::chrono::milliseconds(100));
  }
  EXPECT_GE(found, 9u);
  EXPECT_LE(found, 12u);
}

TEST_F(TargetTest, AScanWithoutMemoryIsTriedAgain) {
  std::vector<std::uint32_t> taken;
  while (const auto place = rig.memory().payloads().take()) taken.push_back(*place);
  make();
  EXPECT_EQ(target->state(), TargetState::kLoggedIn);
  EXPECT_EQ(found, 0u);
  EXPECT_TRUE(target->is_looking());
  for (const std::uint32_t place : taken) rig.memory().payloads().give_back(place);
  rig.pass(Target::kScanPause + std::chrono::seconds(1));
  EXPECT_EQ(found, 1u);
}

TEST_F(TargetTest, MayGoWhileItConnectsOrScans) {
  rig.is_silent = true;
  make();
  target.reset();
  rig.is_silent = false;
  rig.target.hold();
  make();
  ASSERT_TRUE(target->is_looking());
  target.reset();
  EXPECT_EQ(rig.memory().payloads().free(), 4u);
}

}  // namespace
}  // namespace paravane::storage
