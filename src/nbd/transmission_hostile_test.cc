// Requests that are wrong, and clients that do not behave.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "nbd/transmission.h"
#include "testing/nbd_rig.h"

namespace paravane::nbd {
namespace {

using namespace std::chrono_literals;
using fake::Bytes;
using fake::operator+;
using fake::MemoryDisk;
using fake::NbdProgram;
using fake::NbdReply;
using fake::NbdRig;
using testing::IsEmpty;
using testing::SizeIs;

class HostileTransmissionTest : public testing::Test {
 protected:
  HostileTransmissionTest() { EXPECT_TRUE(program_.enter()); }
  void expect_refused(std::uint64_t handle, ReplyError error) {
    const NbdReply reply = program_.take_reply();
    EXPECT_EQ(reply.handle, handle);
    EXPECT_EQ(reply.error, error);
    EXPECT_FALSE(reply.message.empty());
  }

  NbdRig rig_;
  NbdProgram program_ = rig_.connect();
};

TEST_F(HostileTransmissionTest, EndsWithAWrongMagic) {
  Bytes bytes = fake::request_of(Command::kRead, 1, 0, 512);
  bytes[3] ^= std::byte{1};
  program_.send(bytes);
  EXPECT_TRUE(program_.is_disconnected());
  EXPECT_THAT(rig_.disk.seen(), IsEmpty());
  EXPECT_FALSE(rig_.disk.is_open());
  EXPECT_EQ(rig_.counters().broken_rules.value(), 1U);
}

TEST_F(HostileTransmissionTest, RefusesAndGoesOn) {
  program_.request(Command::kRead, 1, 1 << 20, 512);
  expect_refused(1, ReplyError::kInvalid);
  program_.request(static_cast<Command>(99), 2, 0, 0);
  expect_refused(2, ReplyError::kInvalid);
  program_.request(Command::kRead, 3, 0, 512);
  EXPECT_EQ(program_.take_reply().error, ReplyError::kNone);
  EXPECT_THAT(rig_.disk.seen(), SizeIs(1));
  EXPECT_EQ(rig_.counters().refused_requests.value(), 2U);
  EXPECT_EQ(rig_.counters().odd_requests.value(), 2U);
}

TEST_F(HostileTransmissionTest, EndsWithTheThirdOddRequestOnceItIsAnswered) {
  rig_.disk.hold(true);
  program_.request(Command::kRead, 1, 0, 512);
  for (std::uint64_t handle = 2; handle <= 5; ++handle)
    program_.request(Command::kRead, handle, 0, 0);
  for (std::uint64_t handle = 2; handle <= 4; ++handle)
    expect_refused(handle, ReplyError::kInvalid);
  EXPECT_FALSE(program_.is_disconnected());
  rig_.disk.hold(false);
  EXPECT_EQ(program_.take_reply().handle, 1U);
  EXPECT_TRUE(program_.is_disconnected());
  EXPECT_EQ(rig_.counters().odd_requests.value(), 3U);
  EXPECT_EQ(rig_.counters().broken_rules.value(), 1U);
}

TEST_F(HostileTransmissionTest, AnOddWriteMayBeTheThird) {
  for (int i = 0; i < 2; ++i) program_.request(Command::kRead, 1, 0, 0);
  program_.request(Command::kWrite, 9, 1 << 20, 65536);  // its payload does not come
  expect_refused(1, ReplyError::kInvalid);
  expect_refused(1, ReplyError::kInvalid);
  expect_refused(9, ReplyError::kNoSpace);
  EXPECT_TRUE(program_.is_disconnected());
}

TEST_F(HostileTransmissionTest, SkipsThePayloadOfARefusedWrite) {
  program_.write(1, (1 << 20) - 512, Bytes(65536, std::byte{0x25}));
  expect_refused(1, ReplyError::kNoSpace);
  program_.write(2, 0, Bytes(512, std::byte{7}));
  EXPECT_EQ(program_.take_reply().error, ReplyError::kNone);
  EXPECT_THAT(rig_.disk.seen(), SizeIs(1));
  EXPECT_EQ(rig_.disk.contents()[511], std::byte{7});
  EXPECT_EQ(rig_.disk.contents()[(1 << 20) - 1], std::byte{});
}

// It is less than what a client sends that was told no sizes.
TEST_F(HostileTransmissionTest, SkipsAWriteThatIsLongerThanTheDeviceTakes) {
  program_.write(1, 0, Bytes(65536 + 512));
  expect_refused(1, ReplyError::kInvalid);
  program_.request(Command::kFlush, 2, 0, 0);
  EXPECT_EQ(program_.take_reply().error, ReplyError::kNone);
}

TEST_F(HostileTransmissionTest, EndsWithAWriteThatIsFarTooLong) {
  program_.request(Command::kWrite, 1, 0, Transmission::kMostSkipped + 1);
  EXPECT_TRUE(program_.is_disconnected());
  EXPECT_EQ(rig_.counters().broken_rules.value(), 1U);
  EXPECT_EQ(rig_.server->connections(), 0U);
}

TEST_F(HostileTransmissionTest, EndsAClientThatStopsInThePayload) {
  program_.send(fake::request_of(Command::kWrite, 1, 0, 4096) + Bytes(4095));
  EXPECT_EQ(rig_.disk.buffers_taken(), 1U);
  rig_.pass(Transmission::kSilence - 1ns);
  EXPECT_EQ(rig_.disk.buffers_taken(), 1U);
  EXPECT_EQ(rig_.server->next_look(), rig_.clock.now + 1ns);
  rig_.pass(1ns);
  EXPECT_TRUE(program_.is_disconnected());
  EXPECT_EQ(rig_.disk.buffers_taken(), 0U);
  EXPECT_THAT(rig_.disk.seen(), IsEmpty());
  EXPECT_EQ(rig_.counters().timeouts.value(), 1U);
}

TEST_F(HostileTransmissionTest, EachByteOfAPayloadGivesTime) {
  program_.send(fake::request_of(Command::kWrite, 1, 0, 512));
  for (int i = 0; i < 512; ++i) {
    rig_.pass(Transmission::kSilence - 1ns);
    program_.send(Bytes(1));
  }
  EXPECT_EQ(program_.take_reply().error, ReplyError::kNone);
}

TEST_F(HostileTransmissionTest, EndsAClientThatStopsInAHeader) {
  program_.send(Bytes(1));
  rig_.pass(Transmission::kSilence);
  EXPECT_TRUE(program_.is_disconnected());
}

TEST_F(HostileTransmissionTest, AnIdleClientMayStay) {
  program_.request(Command::kFlush, 1, 0, 0);
  program_.take_reply();
  EXPECT_EQ(rig_.server->next_look(), kNever);
  rig_.pass(24h);
  program_.request(Command::kFlush, 2, 0, 0);
  EXPECT_EQ(program_.take_reply().handle, 2U);
}

TEST_F(HostileTransmissionTest, ASlowDeviceIsNoFaultOfTheClient) {
  rig_.disk.hold(true);
  program_.request(Command::kRead, 1, 0, 512);
  program_.request(Command::kDisconnect, 2, 0, 0);
  rig_.pass(1h);
  EXPECT_FALSE(program_.is_disconnected());
  rig_.disk.hold(false);
  EXPECT_EQ(program_.take_reply().payload.size(), 512U);
  EXPECT_TRUE(program_.is_disconnected());
}

TEST_F(HostileTransmissionTest, EndsOneThatDisconnectsAndDoesNotTakeItsReplies) {
  const int small = 4096;
  ASSERT_EQ(::setsockopt(program_.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
  Bytes all;
  for (std::uint64_t handle = 0; handle < 8; ++handle)
    all = all + fake::request_of(Command::kRead, handle, 0, 65536);
  all = all + fake::request_of(Command::kDisconnect, 9, 0, 0);
  ASSERT_EQ(::send(program_.fd(), all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
  rig_.settle();
  ASSERT_EQ(rig_.server->connections(), 1U);
  rig_.pass(Transmission::kSilence - 1ns);
  EXPECT_EQ(rig_.server->connections(), 1U);
  rig_.pass(1ns);
  EXPECT_EQ(rig_.server->connections(), 0U);
  EXPECT_EQ(rig_.counters().timeouts.value(), 1U);
  EXPECT_EQ(rig_.disk.buffers_taken(), 0U);
}

class UnreadRepliesTest : public HostileTransmissionTest {
 protected:
  UnreadRepliesTest() {
    const int small = 4096;
    EXPECT_EQ(::setsockopt(program_.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    Bytes all;
    for (std::uint64_t handle = 0; handle < kReads; ++handle)
      all = all + fake::request_of(Command::kRead, handle, 0, 65536);
    EXPECT_EQ(::send(program_.fd(), all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
    rig_.settle();
  }
  void take(std::size_t bytes) {
    Bytes taken(bytes);
    for (std::size_t at = 0; at < bytes;) {
      const ssize_t got = ::recv(program_.fd(), taken.data(), bytes - at, MSG_DONTWAIT);
      at += got > 0 ? static_cast<std::size_t>(got) : 0;
      rig_.settle();
    }
  }
  static constexpr std::uint64_t kReads = 8;
};

// Its payload is memory that the devices of others wait for.
TEST_F(UnreadRepliesTest, EndAClient) {
  EXPECT_GT(rig_.disk.buffers_taken(), 0U);
  EXPECT_EQ(rig_.server->next_look(), rig_.clock.now + Transmission::kSilence);
  rig_.pass(Transmission::kSilence - 1ns);
  EXPECT_EQ(rig_.server->connections(), 1U);
  rig_.pass(1ns);
  EXPECT_EQ(rig_.server->connections(), 0U);
  EXPECT_EQ(rig_.counters().timeouts.value(), 1U);
  EXPECT_EQ(rig_.disk.buffers_taken(), 0U);
  EXPECT_FALSE(rig_.disk.is_open());
}

// The kernel tells of room once most of what the socket holds was taken.
TEST_F(UnreadRepliesTest, ThatAreTakenSlowlyGiveTime) {
  constexpr std::size_t kReply = 65536 + sizeof(ChunkHeader) + sizeof(Be64);
  for (std::uint64_t left = kReads; left > 0; left -= std::min<std::uint64_t>(left, 3)) {
    rig_.pass(Transmission::kSilence - 1ns);
    ASSERT_EQ(rig_.server->connections(), 1U);
    take(std::min<std::uint64_t>(left, 3) * kReply);
  }
  rig_.pass(1h);
  EXPECT_EQ(rig_.server->connections(), 1U);
  EXPECT_EQ(rig_.disk.buffers_taken(), 0U);
}

TEST_F(HostileTransmissionTest, AClientThatGoesInThePayloadWritesNothing) {
  program_.send(fake::request_of(Command::kWrite, 1, 0, 4096) + Bytes(4095, std::byte{1}));
  program_.close();
  EXPECT_THAT(rig_.disk.seen(), IsEmpty());
  EXPECT_EQ(rig_.disk.buffers_taken(), 0U);
  EXPECT_FALSE(rig_.disk.is_open());
}

TEST_F(HostileTransmissionTest, EndsAConnectionThatHasNoMemory) {
  NbdProgram other = rig_.connect();
  rig_.disk.lack_memory(true);
  program_.request(Command::kRead, 1, 0, 512);
  EXPECT_TRUE(program_.is_disconnected());
  EXPECT_FALSE(rig_.disk.is_open());
  rig_.disk.lack_memory(false);
  EXPECT_TRUE(other.enter());
}

TEST(ReadOnlyTransmissionTest, RefusesToWriteAndStays) {
  MemoryDisk::Config config;
  config.geometry.is_read_only = true;
  NbdRig rig(config);
  NbdProgram program = rig.connect();
  ASSERT_TRUE(program.enter());
  for (std::uint64_t handle = 0; handle < 10; ++handle) {
    program.write(handle, 0, Bytes(512));
    const NbdReply reply = program.take_reply();
    EXPECT_EQ(reply.handle, handle);
    EXPECT_EQ(reply.error, ReplyError::kNotPermitted);
  }
  program.request(Command::kRead, 10, 0, 512);
  EXPECT_EQ(program.take_reply().payload.size(), 512U);
}

// It did not ask for the sizes, so it cannot know them.
TEST(UntoldTransmissionTest, RefusesOddSizesAndStays) {
  NbdRig rig;
  NbdProgram program = rig.connect();
  program.hello();
  program.say(Option::kExportName);
  EXPECT_EQ(program.take<ExportNameReply>().bytes.get(), 1U << 20);
  for (std::uint64_t handle = 0; handle < 10; ++handle) {
    program.write(handle, 100, Bytes(70'000));
    EXPECT_EQ(program.take_reply().error, ReplyError::kInvalid);
  }
  program.request(Command::kRead, 10, 0, 512);
  EXPECT_EQ(program.take_reply(512).payload.size(), 512U);
}

}  // namespace
}  // namespace paravane::nbd
