// A VMM's attachment that another process goes on with, in the middle of something. The VMM
// notices nothing.

#include "vfio_user/hand_over_test.h"

#include <memory>
#include <utility>

#include "vfio_user/listener.h"

namespace paravane::vfio_user {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(VfioUserHandOver, AnAttachmentAtRestGoesOn) {
  const UniqueFd file = ram(4 * kHeldPage);
  const std::uint32_t word = 0x12345678;
  ASSERT_EQ(pwrite(file.get(), &word, sizeof word, 8), 4);
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0x10000, 2 * kHeldPage)));
  ASSERT_TRUE(good(client_.dma_map(file.get(), 2 * kHeldPage, 0x80000, 2 * kHeldPage)));
  client_.set_bus_master(true);
  client_.write_value<std::uint32_t>(kBar1, 16, 77);
  const int pid = now().server().peer_pid();
  for (int i = 0; i < 3; ++i) {
    hand_over();
    EXPECT_TRUE(now().server().attached());
    EXPECT_EQ(now().server().peer_pid(), pid);
    EXPECT_TRUE(client_.stays_silent());
    EXPECT_EQ(now().memory().read<std::uint32_t>(GuestAddr{0x10008}), 0x12345678U);
    EXPECT_EQ(client_.read_value<std::uint16_t>(7, 0), 0x15ADU);
    EXPECT_EQ(client_.read_value<std::uint16_t>(7, 4), 6U);
    EXPECT_EQ(client_.read_value<std::uint32_t>(kBar1, 16), 77U);
  }
  // Both ways, to the file that the guest has.
  ASSERT_TRUE(now().memory().write(GuestAddr{0x80000}, word + 1));
  std::uint32_t written = 0;
  ASSERT_EQ(pread(file.get(), &written, sizeof written, 2 * kHeldPage), 4);
  EXPECT_EQ(written, word + 1);
  EXPECT_TRUE(good(client_.dma_unmap(0x10000, 2 * kHeldPage)));
  EXPECT_FALSE(now().memory().read<std::uint32_t>(GuestAddr{0x10008}));
  EXPECT_TRUE(good(client_.dma_map(file.get(), 0, 0x10000, 4 * kHeldPage)));
  EXPECT_EQ(now().memory().read<std::uint32_t>(GuestAddr{0x10008}), 0x12345678U);
}

TEST_F(VfioUserHandOver, InterruptsArriveAtTheSameEventfds) {
  const UniqueFd first = event();
  const UniqueFd second = event();
  ASSERT_TRUE(attach_vector(0, first));
  client_.set_bus_master(true);
  now().interrupts().signal(0);
  EXPECT_EQ(take(first), 1U);
  hand_over();
  EXPECT_EQ(take(first), 0U);
  EXPECT_EQ(now().interrupts().signalled(0), 1U);
  now().interrupts().signal(0);
  EXPECT_EQ(take(first), 1U);
  ASSERT_TRUE(attach_vector(0, second));
  ASSERT_TRUE(attach_vector(1, first));
  hand_over();
  now().interrupts().signal(0);
  now().interrupts().signal(1);
  EXPECT_EQ(take(second), 1U);
  EXPECT_EQ(take(first), 1U);
}

TEST_F(VfioUserHandOver, ASignalThatWaitsIsNotLost) {
  const UniqueFd first = event();
  ASSERT_TRUE(attach_vector(0, first));
  now().interrupts().signal(0);  // for bus mastering
  now().interrupts().signal(1);  // for an eventfd, too
  hand_over();
  EXPECT_EQ(take(first), 0U);
  client_.set_bus_master(true);
  EXPECT_EQ(take(first), 1U);
  hand_over();
  const UniqueFd second = event();
  ASSERT_TRUE(attach_vector(1, second));
  EXPECT_EQ(take(second), 1U);
}

TEST_F(VfioUserHandOver, ADeviceResetsAndDisconnectsAsBefore) {
  const UniqueFd file = ram(kHeldPage);
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0, kHeldPage)));
  client_.set_bus_master(true);
  hand_over();
  EXPECT_TRUE(good(client_.reset()));
  EXPECT_THAT(now().device().log(), ElementsAre("bus master off", "reset machine"));
  EXPECT_FALSE(now().memory().dma_enabled());
  EXPECT_EQ(now().memory().usage().ranges, 1U);
  hand_over();
  client_.hang_up();
  now().step();
  now().step();
  EXPECT_THAT(now().device().log(), ElementsAre("reset disconnect"));
  EXPECT_EQ(now().memory().usage().ranges, 0U);
  const RawVfioClient next = now().attach();
  EXPECT_TRUE(now().server().attached());
}

TEST_F(VfioUserHandOver, AMappableAreaIsTheSameFile) {
  const auto before = client_.region_info(kBar2, 64);
  hand_over();
  const auto after = client_.region_info(kBar2, 64);
  ASSERT_TRUE(before && after);
  ASSERT_EQ(before->fds.size(), 1U);
  ASSERT_EQ(after->fds.size(), 1U);
  EXPECT_EQ(before->payload, after->payload);
  const std::uint32_t word = 9;
  ASSERT_EQ(pwrite(before->fds[0].get(), &word, sizeof word, kHeldPage), 4);
  EXPECT_EQ(now().device().load_doorbell(kHeldPage), 9U);
}

// No timer of the process before comes along.
TEST_F(VfioUserHandOver, WhatWasUnmappedIsForgottenInTheEnd) {
  const UniqueFd file = ram(kHeldPage);
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0x10000, kHeldPage)));
  client_.set_bus_master(true);
  ASSERT_TRUE(good(client_.dma_unmap(0x10000, kHeldPage)));
  hand_over();
  ExtentList extents;
  const auto reach = [&] {
    return now().memory().resolve(GuestAddr{0x10000}, 8, Rights::kRead, extents);
  };
  EXPECT_EQ(reach(), Reach::kAbsent);
  now().pass(16s);
  now().step();
  EXPECT_EQ(reach(), Reach::kOutside);
}

// ---- Before VERSION, and at the end ----

TEST_F(VfioUserHandOver, AClientBeforeVersionGoesOn) {
  client_.hang_up();
  for (int turn = 0; turn < 3; ++turn) now().step();
  client_ = now().connect();
  now().step();
  now().pass(4s);
  now().device().clear_log();
  hand_over();
  EXPECT_FALSE(now().server().attached());
  now().pass(4s);
  EXPECT_TRUE(client_.stays_silent()) << "its time limit is fresh";
  EXPECT_TRUE(good(client_.negotiate()));
  EXPECT_THAT(now().device().log(), ElementsAre("attach"));
  now().pass(4s);
  EXPECT_TRUE(client_.stays_silent());
  EXPECT_EQ(client_.read_value<std::uint16_t>(7, 0), 0x15ADU);
}

TEST_F(VfioUserHandOver, AClientThatNeverSaysVersionIsDisconnected) {
  client_.hang_up();
  for (int turn = 0; turn < 3; ++turn) now().step();
  client_ = now().connect();
  ASSERT_TRUE(client_.send_bytes(RawVfioClient::Bytes(5)));
  now().step();
  hand_over();
  now().pass(6s);
  EXPECT_TRUE(client_.is_closed());
  EXPECT_THAT(now().device().log(), IsEmpty());
}

TEST_F(VfioUserHandOver, ADisconnectThatWasAskedForHappens) {
  now().server().disconnect("quota");
  hand_over();
  EXPECT_TRUE(client_.is_closed());
  EXPECT_THAT(now().device().log(), ElementsAre("reset disconnect"));
}

TEST_F(VfioUserHandOver, AClientThatWasRefusedIsLeftOut) {
  client_.hang_up();
  for (int turn = 0; turn < 3; ++turn) now().step();
  client_ = now().connect();
  ASSERT_TRUE(client_.reset()->is_error());
  now().device().clear_log();
  hand_over();
  EXPECT_TRUE(client_.is_closed());
  client_ = now().attach();
  EXPECT_TRUE(now().server().attached());
}

TEST_F(VfioUserHandOver, AVmmThatHasGoneIsLeftOut) {
  const UniqueFd file = ram(kHeldPage);
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0, kHeldPage)));
  client_.set_bus_master(true);
  now().device().defer({.resets = true});
  client_.hang_up();
  for (int turn = 0; turn < 3; ++turn) now().step();
  ASSERT_EQ(now().memory().usage().ranges, 1U) << "the device has it still";
  hand_over();
  EXPECT_EQ(now().memory().usage().ranges, 0U);
  client_ = now().attach();
  EXPECT_TRUE(now().server().attached());
}

// ---- The socket ----

TEST_F(VfioUserHandOver, AClientThatWaitsToBeAcceptedIsServed) {
  RawVfioClient second = now().connect();
  second.send(Command::kVersion, {});
  hand_over();
  now().pump(second);
  const auto reply = second.receive();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->error(), EBUSY);
  second.hang_up();

  RawVfioClient third = now().connect();
  client_.hang_up();
  for (int turn = 0; turn < 3; ++turn) now().step();
  third.hang_up();
  for (int turn = 0; turn < 3; ++turn) now().step();
  client_ = now().connect();
  now().device().clear_log();
  hand_over();
  EXPECT_TRUE(good(client_.negotiate()));
}

TEST_F(VfioUserHandOver, TheSocketFileStaysAndGoesWithTheLastServer) {
  const auto path = rig_.socket_path();
  hand_over();
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(now().connect().connected());
  hand_over();
  EXPECT_TRUE(std::filesystem::exists(path));
  now().stop_server();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(client_.is_closed());
}

// Another daemon may have put its own there.
TEST_F(VfioUserHandOver, AFileOfAnotherIsNotRemoved) {
  const auto path = rig_.socket_path();
  std::filesystem::remove(path);
  const Result<Listener> other = Listener::bind(path, 0600);
  ASSERT_TRUE(other);
  hand_over();
  now().stop_server();
  EXPECT_TRUE(std::filesystem::exists(path));
}

// ---- Given up ----

TEST_F(VfioUserHandOver, TheOldServerGoesOnIfTheNewOneGivesUp) {
  const UniqueFd file = ram(kHeldPage);
  const UniqueFd first = event();
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0, kHeldPage)));
  ASSERT_TRUE(attach_vector(0, first));
  client_.set_bus_master(true);
  ASSERT_TRUE(client_.send_bytes(RawVfioClient::Bytes(5)));
  now().step();
  rig_.device().clear_log();
  const std::size_t descriptors = open_descriptors();
  {
    const auto heir = VfioServerRig::make_heir(rig_);
    ASSERT_TRUE(heir->load(rig_.save()));
    heir->server().abandon();
    heir->server().disconnect("nothing");
    heir->server().answer(ReplyToken{1});
    heir->step();
    heir->stop_server();
    EXPECT_THAT(heir->device().log(), IsEmpty());
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_TRUE(std::filesystem::exists(rig_.socket_path()));
  EXPECT_THAT(rig_.device().log(), IsEmpty());
  EXPECT_TRUE(client_.stays_silent());
  rig_.interrupts().signal(0);
  EXPECT_EQ(take(first), 1U);
  EXPECT_TRUE(rig_.server().attached());
  rig_.pass(6s);
  EXPECT_TRUE(client_.is_closed()) << "of the message that is not complete";
}

// All that the old process had ends with it.
TEST_F(VfioUserHandOver, TheEndOfTheOldProcessIsNotSeen) {
  auto old = std::make_unique<VfioServerRig>();
  RawVfioClient client = old->attach();
  const UniqueFd file = ram(kHeldPage);
  const UniqueFd first = event();
  const int fd = first.get();
  ASSERT_TRUE(good(client.dma_map(file.get(), 0, 0, kHeldPage)));
  ASSERT_TRUE(good(client.set_irqs(kEventfdTrigger, {.start = 0, .count = 1}, {&fd, 1})));
  client.set_bus_master(true);
  const auto heir = old->hand_over();
  old.reset();
  heir->pump(client);
  EXPECT_TRUE(client.stays_silent());
  EXPECT_EQ(take(first), 0U);
  heir->interrupts().signal(0);
  EXPECT_EQ(take(first), 1U);
  EXPECT_EQ(client.read_value<std::uint16_t>(7, 0), 0x15ADU);
  EXPECT_TRUE(heir->memory().write(GuestAddr{0}, std::uint32_t{5}));
}

}  // namespace
}  // namespace paravane::vfio_user
