// A host that breaks the rules of lanes ends its channel, and harms nothing but its own messages.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "testing/lanes_rig.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using verbs::WcStatus;

constexpr std::uint64_t kPiece = 64 << 10;

// Host a is hostile: its sends wait, and the test sends others in their place.
class LanesHostileTest : public testing::Test {
 protected:
  LanesHostileTest() {
    LanesRig::connect(rig_.a(), *qp_a_, rig_.b(), *qp_b_);
    write();  // memory is registered when the first long message wants that
    rig_.run();
    qp_a_->sends.clear();
    rig_.trunk(0).hold_lanes(true);
    write();
    rig_.run();
    lane_ = rig_.trunk(1).busy_lane();
    rig_.trunk(0).drop_sends(lane_);
    rig_.trunk(0).hold_lanes(false);
  }
  void write() { qp_a_->post(write_request(++id_, {from_.whole()}, to_.start, to_.key)); }
  void send(std::uint64_t bytes, std::uint32_t immediate) {
    lies_.assign(bytes, std::byte{0xEE});
    rig_.trunk(0).send_on_lane(lane_, lies_, immediate);
    EXPECT_TRUE(rig_.run());
  }
  void expect_ended(const std::string& why) {
    ASSERT_EQ(rig_.losses(1).size(), losses_ + 1);
    EXPECT_THAT(rig_.losses(1).back(), HasSubstr(why));
    EXPECT_EQ(rig_.trunk(1).lane_receives(), 0u);
    EXPECT_TRUE(rig_.b().memory().loans().empty());
    // Nothing was executed.
    EXPECT_EQ(rig_.b().counters().writes_answered.value(), 1u);
  }

  LanesRig rig_;
  std::unique_ptr<EngineQp> qp_a_ = rig_.a().queue_pair();
  std::unique_ptr<EngineQp> qp_b_ = rig_.b().queue_pair();
  const EngineBuffer from_ = rig_.a().buffer(2 * kPiece);
  const EngineBuffer to_ = rig_.b().buffer(2 * kPiece);
  std::vector<std::byte> lies_;
  std::uint64_t id_ = 0;
  std::uint32_t lane_ = 0;
  const std::size_t losses_ = rig_.losses(1).size();
};

TEST_F(LanesHostileTest, TheWrongPlace) {
  send(kPiece, 1);
  expect_ended("protocol: a piece was sent to another's place on a lane");
}

TEST_F(LanesHostileTest, TooShort) {
  send(kPiece - 1, 0);
  expect_ended("protocol: a piece on a lane has another length");
}

TEST_F(LanesHostileTest, AVoidPieceWithBytes) {
  send(kPiece, wire::kVoidPiece);
  expect_ended("protocol: a piece on a lane has another length");
}

// The adapter refuses it. The rest goes in the stream.
TEST_F(LanesHostileTest, TooLong) {
  send(3 * kPiece, 0);
  EXPECT_EQ(rig_.losses(1).size(), losses_);
  EXPECT_EQ(rig_.trunk(1).lane_receives(), 0u);
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
}

TEST_F(LanesHostileTest, Twice) {
  send(kPiece, 0);
  EXPECT_EQ(rig_.losses(1).size(), losses_);
  send(kPiece, 0);
  expect_ended("protocol: a piece was sent to another's place on a lane");
}

// Its place was given back, so nothing takes it.
TEST_F(LanesHostileTest, TooLate) {
  rig_.advance(milliseconds(3'100));
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
  const auto before = rig_.b().read(to_, 0, kPiece);
  send(kPiece, 0);
  EXPECT_EQ(rig_.b().read(to_, 0, kPiece), before);
  EXPECT_EQ(rig_.losses(1).size(), losses_);
}

// A void piece where there could be bytes: they are asked for in the stream.
TEST_F(LanesHostileTest, VoidWithoutReason) {
  send(0, 0 | wire::kVoidPiece);
  send(0, 1 | wire::kVoidPiece);
  EXPECT_EQ(rig_.losses(1).size(), losses_);
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
}

TEST_F(LanesHostileTest, NothingIsPostedForWhatWasNotCleared) {
  send(kPiece, 0);
  send(kPiece, 1);
  EXPECT_EQ(rig_.losses(1).size(), losses_);
  const auto before = rig_.b().read(to_, 0, 2 * kPiece);
  send(kPiece, 2);
  EXPECT_EQ(rig_.b().read(to_, 0, 2 * kPiece), before);
}

}  // namespace
}  // namespace paravane::fake
