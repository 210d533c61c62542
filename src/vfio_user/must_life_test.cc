// MUST 24 to 28: reset, answers, and the end of a connection.

#include <sys/socket.h>

#include "vfio_user/requirements_test.h"

namespace paravane::vfio_user {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kPage = 4096;

TEST_F(VfioUserMust, M24_AResetStopsDmaAndKeepsMapsAndConnection) {
  const UniqueFd file = ram(kPage);
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0, kPage)));
  client_.set_bus_master(true);
  client_.write_value<std::uint32_t>(kConfigRegion, 0x10, 0xE0000000);
  rig_.device().clear_log();

  const auto reply = client_.reset();
  ASSERT_TRUE(good(reply));
  EXPECT_EQ(reply->header.size.get(), 16U);
  EXPECT_THAT(rig_.device().log(), ElementsAre("bus master off", "reset machine"));
  EXPECT_FALSE(rig_.memory().dma_enabled());
  EXPECT_EQ(client_.read_value<std::uint16_t>(kConfigRegion, 4), 0U);
  EXPECT_EQ(client_.read_value<std::uint32_t>(kConfigRegion, 0x10), 0U);
  EXPECT_EQ(rig_.memory().usage().ranges, 1U);
  EXPECT_TRUE(rig_.server().attached());
}

TEST_F(VfioUserMust, M24_AResetDropsPendingInterruptsAndKeepsEventfds) {
  const UniqueFd one = event();
  ASSERT_TRUE(attach_vector(0, one));
  rig_.interrupts().signal(0);  // latched: no bus mastering
  rig_.device().during_reset = [&](ReplyToken) { rig_.interrupts().signal(0); };
  ASSERT_TRUE(good(client_.reset()));
  client_.set_bus_master(true);
  EXPECT_EQ(take(one), 0U) << "neither from before nor from during the reset";
  rig_.interrupts().signal(0);
  EXPECT_EQ(take(one), 1U);
}

TEST_F(VfioUserMust, M24_APutOffResetDropsWhatWasLatchedMeanwhile) {
  const UniqueFd one = event();
  ASSERT_TRUE(attach_vector(0, one));
  rig_.device().defer({.resets = true});
  client_.send(Command::kReset, {});
  EXPECT_TRUE(client_.stays_silent());
  rig_.interrupts().signal(0);
  rig_.server().answer(rig_.device().tokens().at(0));
  ASSERT_TRUE(good(client_.receive()));
  client_.set_bus_master(true);
  EXPECT_EQ(take(one), 0U);
}

TEST_F(VfioUserMust, M24_AFunctionLevelResetIsAConfigWrite) {
  client_.set_bus_master(true);
  rig_.device().clear_log();
  const auto msix = client_.read_value<std::uint8_t>(kConfigRegion, 0x34);
  const auto features = client_.read_value<std::uint8_t>(kConfigRegion, msix + 1U);
  ASSERT_EQ(client_.read_value<std::uint8_t>(kConfigRegion, features), 0x13);
  EXPECT_EQ(client_.read_value<std::uint8_t>(kConfigRegion, features + 3U), 3) << "TP and FLR";
  EXPECT_TRUE(good(client_.write_value<std::uint8_t>(kConfigRegion, features + 4U, 1)));
  EXPECT_THAT(rig_.device().log(), ElementsAre("bus master off", "reset function"));
  EXPECT_EQ(client_.read_value<std::uint8_t>(kConfigRegion, features + 4U), 0);
  EXPECT_EQ(rig_.counters().resets.value(), 1U);
}

TEST_F(VfioUserMust, M24_AFunctionLevelResetIsAnsweredWhenItIsDone) {
  rig_.device().defer({.resets = true});
  const auto msix = client_.read_value<std::uint8_t>(kConfigRegion, 0x34);
  const auto features = client_.read_value<std::uint8_t>(kConfigRegion, msix + 1U);
  const RegionAccess access{
      .offset = Le64(features + 4U), .region = Le32(kConfigRegion), .count = Le32(1)};
  const std::byte initiate{1};
  client_.send(Command::kRegionWrite,
               RawVfioClient::join({RawVfioClient::bytes_of(access), {&initiate, 1}}));
  EXPECT_TRUE(client_.stays_silent());
  rig_.server().answer(rig_.device().tokens().at(0));
  EXPECT_TRUE(good(client_.receive()));
}

TEST_F(VfioUserMust, M26_APutOffWriteIsAnsweredOnce) {
  rig_.device().defer({.writes = true});
  const RegionAccess access{.offset = Le64(8), .region = Le32(1), .count = Le32(4)};
  client_.set_next_id(77);
  client_.send(Command::kRegionWrite,
               RawVfioClient::join({RawVfioClient::bytes_of(access), RawVfioClient::Bytes(4)}));
  EXPECT_TRUE(client_.stays_silent());
  const ReplyToken token = rig_.device().tokens().at(0);
  rig_.server().answer(token);
  rig_.server().answer(token);
  const auto reply = client_.receive();
  ASSERT_TRUE(good(reply));
  EXPECT_EQ(reply->header.id.get(), 77);
  EXPECT_EQ(reply->payload.size(), sizeof(RegionAccess));
  EXPECT_TRUE(client_.stays_silent());
}

TEST_F(VfioUserMust, M26_WhatComesAfterAPutOffWriteWaitsForIt) {
  rig_.device().defer({.writes = true});
  const RegionAccess access{.offset = Le64(8), .region = Le32(1), .count = Le32(4)};
  client_.set_next_id(1);
  client_.send(Command::kRegionWrite,
               RawVfioClient::join({RawVfioClient::bytes_of(access), RawVfioClient::Bytes(4)}));
  client_.send(Command::kRegionRead, RawVfioClient::bytes_of(access));
  client_.send(Command::kReset, {});
  EXPECT_TRUE(client_.stays_silent());
  EXPECT_THAT(rig_.device().log(), ElementsAre("write 1 0x8 4"));
  rig_.server().answer(rig_.device().tokens().at(0));
  for (const std::uint16_t id : {std::uint16_t{1}, std::uint16_t{2}, std::uint16_t{3}}) {
    const auto reply = client_.receive();
    ASSERT_TRUE(good(reply));
    EXPECT_EQ(reply->header.id.get(), id);
  }
  EXPECT_THAT(rig_.device().log(), ElementsAre("write 1 0x8 4", "read 1 0x8 4", "reset machine"));
}

TEST_F(VfioUserMust, M26_OfABatchTheLastAnswerComesLast) {
  // QEMU waits for the last answer of a batch of unmaps and maps only.
  const UniqueFd file = ram(2 * kPage);
  const int fd = file.get();
  ASSERT_TRUE(good(client_.dma_map(fd, 0, 0, 2 * kPage)));
  rig_.device().defer({.unmaps = true});
  client_.send(Command::kDmaUnmap,
               RawVfioClient::bytes_of(DmaUnmap{Le32(24), {}, Le64(0), Le64(2 * kPage)}));
  client_.send(Command::kDmaMap,
               RawVfioClient::bytes_of(DmaMap{Le32(32), Le32(3), {}, Le64(0), Le64(kPage)}),
               {&fd, 1});
  EXPECT_TRUE(client_.stays_silent());
  rig_.server().answer(rig_.device().tokens().at(0));
  EXPECT_EQ(client_.receive()->header.size.get(), 40U);
  EXPECT_EQ(client_.receive()->header.size.get(), 16U);
  EXPECT_EQ(rig_.memory().usage().ranges, 1U);
}

TEST_F(VfioUserMust, M26_AnAnswerGivenBeforeLaterIsReturnedCounts) {
  rig_.device().defer({.writes = true});
  rig_.device().during_write = [&](ReplyToken token) { rig_.server().answer(token); };
  EXPECT_TRUE(good(client_.write_value<std::uint32_t>(1, 8, 1)));
  EXPECT_TRUE(client_.stays_silent());
}

TEST_F(VfioUserMust, M26_IgnoresTokensThatNothingIsOwedFor) {
  for (const std::uint64_t token : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    rig_.server().answer(ReplyToken{token});
  }
  EXPECT_TRUE(client_.stays_silent());
}

TEST_F(VfioUserMust, M26_CountsAnswersThatComeLate) {
  rig_.device().defer({.resets = true});
  client_.send(Command::kReset, {});
  EXPECT_TRUE(client_.stays_silent());
  rig_.pass(std::chrono::seconds(2));
  rig_.step();
  rig_.server().answer(rig_.device().tokens().at(0));
  EXPECT_TRUE(good(client_.receive()));
  EXPECT_EQ(rig_.counters().late_answers.value(), 1U);
}

TEST_F(VfioUserMust, M26_APostedWriteIsNeverWaitedFor) {
  rig_.device().defer({.writes = true});
  client_.write_value<std::uint32_t>(1, 8, 1, Header::kNoReply);
  EXPECT_TRUE(good(client_.reset()));
}

TEST_F(VfioUserMust, M26_APostedCommandThatIsPutOffIsDoneInSilence) {
  rig_.device().defer({.resets = true});
  client_.send(Command::kReset, {}, {}, Header::kNoReply);
  client_.send(Command::kRegionRead,
               RawVfioClient::bytes_of(RegionAccess{Le64(0), Le32(1), Le32(4)}));
  EXPECT_TRUE(client_.stays_silent());
  EXPECT_THAT(rig_.device().log(), ElementsAre("reset machine"));
  rig_.server().answer(rig_.device().tokens().at(0));
  EXPECT_EQ(client_.receive()->header.command.get(),
            static_cast<std::uint16_t>(Command::kRegionRead));
  EXPECT_TRUE(client_.stays_silent());
}

TEST_F(VfioUserMust, M28_WhenTheVmmGoesEverythingOfItGoes) {
  const UniqueFd file = ram(kPage);
  const UniqueFd one = event();
  const std::size_t before = open_descriptors();
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0, kPage)));
  ASSERT_TRUE(attach_vector(0, one));
  client_.set_bus_master(true);
  rig_.device().clear_log();
  client_.hang_up();
  rig_.step();

  EXPECT_FALSE(rig_.server().attached());
  EXPECT_EQ(rig_.server().peer_pid(), 0);
  EXPECT_THAT(rig_.device().log(), ElementsAre("bus master off", "reset disconnect"));
  EXPECT_EQ(rig_.memory().usage().ranges, 0U);
  EXPECT_FALSE(rig_.memory().dma_enabled());
  rig_.interrupts().signal(0);
  EXPECT_EQ(take(one), 0U);
  EXPECT_EQ(open_descriptors(), before - 2) << "the client's socket and the server's";
  EXPECT_EQ(rig_.counters().broken_connections.value(), 0U);
}

TEST_F(VfioUserMust, M28_TheNextVmmFindsAFreshFunction) {
  client_.write_value<std::uint32_t>(kConfigRegion, 0x10, 0xE0000000);
  client_.hang_up();
  rig_.step();
  RawVfioClient next = rig_.attach();
  EXPECT_EQ(next.read_value<std::uint32_t>(kConfigRegion, 0x10), 0U);
  EXPECT_EQ(rig_.counters().attaches.value(), 2U);
}

TEST_F(VfioUserMust, M28_AVmmThatLeavesWhileAnAnswerIsOwedIsNoticed) {
  rig_.device().defer({.writes = true});
  const RegionAccess access{.offset = Le64(8), .region = Le32(1), .count = Le32(4)};
  client_.send(Command::kRegionWrite,
               RawVfioClient::join({RawVfioClient::bytes_of(access), RawVfioClient::Bytes(4)}));
  client_.send(Command::kReset, {});  // waits for its turn
  EXPECT_TRUE(client_.stays_silent());
  client_.hang_up();
  rig_.step();
  EXPECT_FALSE(rig_.server().attached());
  EXPECT_EQ(rig_.counters().resets.value(), 0U);
  RawVfioClient next = rig_.attach();
  rig_.server().answer(rig_.device().tokens().at(0));  // of the one that is gone
  EXPECT_TRUE(next.stays_silent());
}

// The event that tells of its last message tells of its end, too.
TEST_F(VfioUserMust, M28_AVmmThatLeavesRightAfterAMessageIsNoticed) {
  client_.send(Command::kReset, {}, {}, Header::kNoReply);
  client_.hang_up();
  rig_.step();
  rig_.step();
  EXPECT_FALSE(rig_.server().attached());
  EXPECT_EQ(rig_.counters().resets.value(), 1U);
}

TEST_F(VfioUserMust, M28_MemoryStaysUntilTheDeviceHasLetGo) {
  const UniqueFd file = ram(kPage);
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0, kPage)));
  rig_.device().defer({.resets = true});
  client_.hang_up();
  rig_.step();
  EXPECT_FALSE(rig_.server().attached());
  EXPECT_EQ(rig_.memory().usage().ranges, 1U);

  RawVfioClient next = rig_.connect();  // waits in the queue
  EXPECT_FALSE(next.negotiate());
  EXPECT_FALSE(next.is_closed());
  rig_.server().answer(rig_.device().tokens().at(0));
  EXPECT_EQ(rig_.memory().usage().ranges, 0U);
  EXPECT_TRUE(good(next.receive())) << "now it is served";
  EXPECT_TRUE(rig_.server().attached());
}

// The reset that follows a VMM is over when the next one comes, however late it was.
TEST_F(VfioUserMust, M28_TheNextVmmLosesNoInterruptToThatReset) {
  rig_.device().defer({.resets = true});
  client_.hang_up();
  rig_.step();
  rig_.server().answer(rig_.device().tokens().at(0));
  rig_.device().defer({.writes = true});
  client_ = rig_.attach();
  const UniqueFd one = event();
  ASSERT_TRUE(attach_vector(0, one));
  rig_.interrupts().signal(0);  // latched: no bus mastering yet
  client_.write_value<std::uint32_t>(1, 8, 1);
  rig_.server().answer(rig_.device().tokens().at(1));
  ASSERT_TRUE(good(client_.receive()));
  client_.set_bus_master(true);
  EXPECT_EQ(take(one), 1U);
}

TEST_F(VfioUserMust, M28_AHalfClosedConnectionIsOver) {
  ASSERT_EQ(::shutdown(client_.socket(), SHUT_WR), 0);
  rig_.step();
  EXPECT_FALSE(rig_.server().attached());
}

TEST_F(VfioUserMust, M28_AServerThatIsStoppedLeavesNothingBehind) {
  const UniqueFd file = ram(kPage);
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0, kPage)));
  rig_.device().defer({.resets = true});
  rig_.device().clear_log();
  rig_.stop_server();
  EXPECT_THAT(rig_.device().log(), ElementsAre("reset disconnect"));
  EXPECT_EQ(rig_.memory().usage().ranges, 0U);
  rig_.pass(std::chrono::hours(1));
  rig_.step();
  EXPECT_EQ(rig_.timers().size(), 0U);
}

TEST_F(VfioUserMust, M28_DisconnectEndsItOnTheNextTurn) {
  rig_.server().disconnect("quota");
  EXPECT_THAT(rig_.device().log(), IsEmpty()) << "a device may call it from anywhere";
  rig_.step();
  rig_.step();
  EXPECT_FALSE(rig_.server().attached());
  EXPECT_THAT(rig_.device().log(), ElementsAre("reset disconnect"));
  EXPECT_TRUE(client_.is_closed());
}

TEST_F(VfioUserMust, M28_ADeviceMayDisconnectWhileItHandlesARequest) {
  rig_.device().during_write = [&](ReplyToken) { rig_.server().disconnect("memory failed"); };
  client_.write_value<std::uint32_t>(1, 8, 1);
  EXPECT_TRUE(client_.is_closed());
  EXPECT_THAT(rig_.device().log(), ElementsAre("write 1 0x8 4", "reset disconnect"));
  EXPECT_TRUE(good(rig_.connect().negotiate()));
}

TEST_F(VfioUserMust, M28_DisconnectWithNobodyThereDoesNothing) {
  client_.hang_up();
  rig_.step();
  rig_.server().disconnect("again");
  rig_.step();
  EXPECT_TRUE(good(rig_.connect().negotiate()));
}

TEST_F(VfioUserMust, M28_DisconnectWhileAnAnswerIsOwed) {
  rig_.device().defer({.resets = true});
  client_.send(Command::kReset, {});
  EXPECT_TRUE(client_.stays_silent());
  rig_.server().disconnect("forced removal");
  EXPECT_TRUE(client_.is_closed());
  ASSERT_EQ(rig_.device().tokens().size(), 2U) << "the machine's reset, and that of the leave";
  rig_.server().answer(rig_.device().tokens()[0]);
  EXPECT_FALSE(rig_.server().attached());
  rig_.server().answer(rig_.device().tokens()[1]);
  EXPECT_TRUE(good(rig_.connect().negotiate()));
}

}  // namespace
}  // namespace paravane::vfio_user
