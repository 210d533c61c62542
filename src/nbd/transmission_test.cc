// A correct client's requests, over a socket.

#include "nbd/transmission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "testing/nbd_rig.h"

namespace paravane::nbd {
namespace {

using fake::Bytes;
using fake::operator+;
using fake::MemoryDisk;
using fake::NbdProgram;
using fake::NbdReply;
using fake::NbdRig;
using testing::ElementsAre;
using testing::IsEmpty;
using Seen = MemoryDisk::Seen;

Bytes pattern(std::size_t bytes, unsigned seed) {
  Bytes made(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    made[i] = static_cast<std::byte>((i * 7 + i / 251 + seed) & 0xFF);
  return made;
}

Bytes contents_of(const NbdRig& rig, std::size_t offset, std::size_t bytes) {
  const auto part = rig.disk.contents().subspan(offset, bytes);
  return {part.begin(), part.end()};
}

class TransmissionTest : public testing::TestWithParam<bool> {
 protected:
  TransmissionTest() { EXPECT_TRUE(program_.enter(GetParam())); }
  void expect_done(NbdReply reply, std::uint64_t handle) const {
    EXPECT_EQ(reply.handle, handle);
    EXPECT_EQ(reply.error, ReplyError::kNone);
    EXPECT_EQ(reply.is_structured, GetParam());
  }

  NbdRig rig_;
  NbdProgram program_ = rig_.connect();
};

INSTANTIATE_TEST_SUITE_P(Replies, TransmissionTest, testing::Bool(),
                         [](const auto& one) { return one.param ? "Structured" : "Simple"; });

TEST_P(TransmissionTest, WritesAndReads) {
  const Bytes data = pattern(65536, 1);
  program_.write(1, 8192, data);
  expect_done(program_.take_reply(), 1);
  EXPECT_EQ(contents_of(rig_, 8192, 65536), data);
  program_.request(Command::kRead, 2, 8192 + 512, 65536 - 1024);
  const NbdReply reply = program_.take_reply(65536 - 1024);
  expect_done(reply, 2);
  EXPECT_EQ(reply.payload, Bytes(data.begin() + 512, data.end() - 512));
  if (GetParam()) {
    EXPECT_EQ(reply.offset, 8192U + 512);
  }
  EXPECT_EQ(program_.waiting(), 0U);
  EXPECT_EQ(rig_.disk.buffers_taken(), 0U);
  EXPECT_EQ(rig_.counters().reads.value(), 1U);
  EXPECT_EQ(rig_.counters().read_bytes.value(), 65536U - 1024);
  EXPECT_EQ(rig_.counters().writes.value(), 1U);
  EXPECT_EQ(rig_.counters().written_bytes.value(), 65536U);
}

TEST_P(TransmissionTest, GivesTheDeviceWhatARequestSays) {
  program_.write(1, 512, Bytes(512), kFlagFua);
  program_.write(2, 1024, Bytes(512));
  program_.request(Command::kFlush, 3, 0, 0);
  program_.request(Command::kTrim, 4, 0, 1 << 20, kFlagFua);
  program_.request(Command::kWriteZeroes, 5, 4096, 524288, kFlagNoHole | kFlagFastZero);
  program_.request(Command::kWriteZeroes, 6, 4096, 512);
  for (std::uint64_t handle = 1; handle <= 6; ++handle) expect_done(program_.take_reply(), handle);
  EXPECT_THAT(rig_.disk.seen(),
              ElementsAre(Seen{BlockOperation::kWrite, 512, 512, true, false},
                          Seen{BlockOperation::kWrite, 1024, 512, false, false},
                          Seen{BlockOperation::kFlush, 0, 0, false, false},
                          Seen{BlockOperation::kTrim, 0, 1 << 20, true, false},
                          Seen{BlockOperation::kWriteZeroes, 4096, 524288, false, true},
                          Seen{BlockOperation::kWriteZeroes, 4096, 512, false, false}));
  EXPECT_EQ(rig_.counters().trims.value(), 1U);
  EXPECT_EQ(rig_.counters().zeroes.value(), 2U);
  EXPECT_EQ(rig_.counters().flushes.value(), 1U);
}

TEST_P(TransmissionTest, AReplyGoesWhenItsRequestIsDone) {
  rig_.disk.hold(true);
  for (std::uint64_t handle = 0; handle < 5; ++handle)
    program_.request(Command::kRead, handle, 512 * handle, 512);
  ASSERT_EQ(rig_.disk.under_way(), 5U);
  EXPECT_EQ(program_.waiting(), 0U);
  for (const std::size_t number : {4U, 2U, 0U}) rig_.disk.complete(number);
  for (const std::uint64_t handle : {4U, 2U, 0U}) expect_done(program_.take_reply(512), handle);
  EXPECT_EQ(program_.waiting(), 0U);
  rig_.disk.hold(false);
  for (const std::uint64_t handle : {1U, 3U}) expect_done(program_.take_reply(512), handle);
}

// Whatever a client's writes bring of headers and payload at once.
TEST_P(TransmissionTest, TakesRequestsInAnyPieces) {
  Bytes all;
  for (unsigned i = 0; i < 24; ++i) {
    const std::uint32_t bytes = 512 * (1 + i % 5);
    const auto command = i % 3 == 2 ? Command::kRead : Command::kWrite;
    all = all + fake::request_of(command, i, std::uint64_t{i} * 4096, bytes);
    if (command == Command::kWrite) all = all + pattern(bytes, i);
  }
  for (const std::size_t piece :
       {std::size_t{11}, std::size_t{28}, std::size_t{29}, std::size_t{600}, all.size()}) {
    std::ranges::fill(rig_.disk.contents(), std::byte{});
    for (std::size_t at = 0; at < all.size(); at += piece)
      program_.send(std::span(all).subspan(at, std::min(piece, all.size() - at)));
    for (unsigned i = 0; i < 24; ++i) {
      const std::size_t bytes = 512 * (1 + i % 5);
      const bool is_read = i % 3 == 2;
      expect_done(program_.take_reply(is_read ? bytes : 0), i);
      if (!is_read) {
        ASSERT_EQ(contents_of(rig_, i * std::size_t{4096}, bytes), pattern(bytes, i)) << i;
      }
    }
  }
  EXPECT_EQ(rig_.disk.buffers_taken(), 0U);
}

TEST_P(TransmissionTest, AHandleMayBeRepeated) {
  rig_.disk.hold(true);
  for (int i = 0; i < 3; ++i) program_.request(Command::kRead, 9, 0, 512);
  rig_.disk.hold(false);
  for (int i = 0; i < 3; ++i) expect_done(program_.take_reply(512), 9);
}

TEST_P(TransmissionTest, TellsWhyARequestFailed) {
  for (const BlockResult result :
       {BlockResult::kIo, BlockResult::kNoSpace, BlockResult::kShutDown}) {
    rig_.disk.fail_with(result);
    program_.request(Command::kRead, 1, 0, 512);
    program_.write(2, 0, Bytes(512));
    for (const std::uint64_t handle : {1U, 2U}) {
      const NbdReply reply = program_.take_reply();
      EXPECT_EQ(reply.handle, handle);
      EXPECT_EQ(reply.error, error_of(result));
      EXPECT_EQ(reply.message, GetParam() ? message_of(result) : "");
    }
  }
  EXPECT_EQ(rig_.counters().failed_requests.value(), 6U);
  EXPECT_EQ(program_.waiting(), 0U);
  EXPECT_EQ(rig_.disk.buffers_taken(), 0U);
}

TEST_P(TransmissionTest, EndsWhenTheClientSaysSo) {
  rig_.disk.hold(true);
  program_.write(1, 0, pattern(512, 3));
  program_.request(Command::kDisconnect, 2, 0, 0);
  program_.request(Command::kRead, 3, 0, 512);  // too late
  EXPECT_FALSE(program_.is_disconnected());
  rig_.disk.hold(false);
  expect_done(program_.take_reply(), 1);
  EXPECT_TRUE(program_.is_disconnected());
  EXPECT_EQ(rig_.disk.seen().size(), 1U);
  EXPECT_FALSE(rig_.disk.is_open());
  EXPECT_EQ(rig_.counters().broken_rules.value(), 0U);
}

// A request is done even if its client does not wait for the reply.
TEST_P(TransmissionTest, CarriesOutWhatAClientSentBeforeItWent) {
  Bytes all;
  for (unsigned i = 0; i < 3; ++i)
    all =
        all + fake::request_of(Command::kWrite, i, std::uint64_t{i} * 4096, 512) + pattern(512, i);
  ASSERT_EQ(::send(program_.fd(), all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
  program_.close();
  for (unsigned i = 0; i < 3; ++i)
    EXPECT_EQ(contents_of(rig_, i * std::size_t{4096}, 512), pattern(512, i));
  EXPECT_FALSE(rig_.disk.is_open());
  EXPECT_EQ(rig_.server->connections(), 0U);
}

TEST_P(TransmissionTest, AnswersAClientThatOnlyListens) {
  rig_.disk.hold(true);
  program_.request(Command::kRead, 1, 0, 512);
  program_.shut_down_sending();
  EXPECT_FALSE(program_.is_disconnected());
  rig_.disk.hold(false);
  expect_done(program_.take_reply(512), 1);
  EXPECT_TRUE(program_.is_disconnected());
}

// ---- Bounds ----

TEST_P(TransmissionTest, HasSoManyRequestsAtOnce) {
  rig_.disk.hold(true);
  // Headers that are read at once do not end where the bound is.
  program_.request(Command::kFlush, 0, 0, 0);
  Bytes all;
  for (std::uint64_t handle = 1; handle < 100; ++handle)
    all = all + fake::request_of(Command::kFlush, handle, 0, 0);
  program_.send(all);
  EXPECT_EQ(rig_.disk.under_way(), RequestTable::kPlaces);
  EXPECT_FALSE(rig_.server->has_work());
  rig_.disk.hold(false);
  for (std::uint64_t handle = 0; handle < 100; ++handle) expect_done(program_.take_reply(), handle);
  EXPECT_EQ(rig_.counters().most_requests.value(), RequestTable::kPlaces);
}

TEST_P(TransmissionTest, WaitsForTheDevicesMemory) {
  rig_.disk.hold(true);
  Bytes all;
  for (std::uint64_t handle = 0; handle < 12; ++handle) {
    all = all + fake::request_of(handle % 2 == 0 ? Command::kRead : Command::kWrite, handle,
                                 4096 * handle, 4096);
    if (handle % 2 != 0) all = all + pattern(4096, 5);
  }
  program_.send(all);
  EXPECT_EQ(rig_.disk.under_way(), 8U);
  EXPECT_FALSE(rig_.server->has_work());
  rig_.disk.complete(1);
  rig_.settle();
  EXPECT_EQ(rig_.disk.under_way(), 8U);
  rig_.disk.hold(false);
  for (const std::uint64_t handle : {1U, 0U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 10U, 11U})
    expect_done(program_.take_reply(handle % 2 == 0 ? 4096 : 0), handle);
  EXPECT_EQ(rig_.disk.buffers_taken(), 0U);
}

TEST_P(TransmissionTest, DoesNotReadAClientThatDoesNotReadItsReplies) {
  Bytes all;
  for (std::uint64_t handle = 0; handle < 64; ++handle)
    all = all + fake::request_of(Command::kRead, handle, 0, 65536);
  const int small = 4096;
  ASSERT_EQ(::setsockopt(program_.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
  ASSERT_EQ(::send(program_.fd(), all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
  EXPECT_TRUE(rig_.settle());
  EXPECT_FALSE(rig_.server->has_work());
  EXPECT_EQ(rig_.disk.under_way(), 0U);
  EXPECT_LE(rig_.disk.buffers_taken(), 8U);
  EXPECT_LT(rig_.disk.seen().size(), 64U);
  // It is not pressed for a while: a VM may stand still.
  rig_.pass(Transmission::kSilence - std::chrono::nanoseconds(1));
  for (std::uint64_t handle = 0; handle < 64; ++handle) {
    const NbdReply reply = program_.take_reply(65536);
    expect_done(reply, handle);
    EXPECT_EQ(reply.payload, Bytes(65536));
  }
  EXPECT_EQ(rig_.disk.buffers_taken(), 0U);
}

TEST_P(TransmissionTest, ATurnIsBounded) {
  rig_.turn = {.bytes = 4096, .operations = 4};
  const Bytes data = pattern(65536, 1);
  Bytes all;
  for (std::uint64_t handle = 0; handle < 3; ++handle)
    all = all + fake::request_of(Command::kWrite, handle, 65536 * handle, 65536) + data;
  // Nothing is taken while it is sent.
  ASSERT_EQ(::send(program_.fd(), all.data(), all.size(), MSG_DONTWAIT),
            static_cast<ssize_t>(all.size()));
  std::uint64_t before = rig_.counters().written_bytes.value();
  int turns = 0;
  while (rig_.step()) {
    const std::uint64_t now = rig_.counters().written_bytes.value();
    EXPECT_LE(now - before, 65536U + 512);  // one call may exceed what is left
    before = now;
    ASSERT_LT(++turns, 100);
  }
  EXPECT_GE(turns, 3);
  for (std::uint64_t handle = 0; handle < 3; ++handle) expect_done(program_.take_reply(), handle);
  EXPECT_EQ(contents_of(rig_, 131072, 65536), data);
}

// More pieces than a call of the kernel takes.
TEST(ScatteredTransmissionTest, PayloadMayBeInManyPieces) {
  for (const std::uint32_t piece : {512U, 1024U, 65536U}) {
    MemoryDisk::Config config;
    config.geometry.bytes = std::uint64_t{4} << 20;
    config.geometry.most_bytes = std::uint32_t{1} << 20;
    config.piece_bytes = piece;
    NbdRig rig(config);
    NbdProgram program = rig.connect();
    ASSERT_TRUE(program.enter());
    const Bytes data = pattern(std::size_t{1} << 20, piece);
    Bytes all;
    for (std::uint64_t handle = 0; handle < 3; ++handle)
      all = all + fake::request_of(Command::kWrite, handle, handle << 20, 1 << 20) + data;
    program.send(all);
    for (std::uint64_t handle = 0; handle < 3; ++handle)
      EXPECT_EQ(program.take_reply().handle, handle);
    for (std::uint64_t handle = 0; handle < 3; ++handle) {
      EXPECT_EQ(contents_of(rig, handle << 20, data.size()), data);
      program.request(Command::kRead, handle, handle << 20, 1 << 20);
      EXPECT_EQ(program.take_reply().payload, data);
    }
  }
}

// ---- Memory that fails ----

TEST_P(TransmissionTest, AWriteWhoseMemoryFailsIsAnswered) {
  rig_.disk.break_memory();
  program_.write(1, 0, pattern(8192, 1));
  const NbdReply reply = program_.take_reply();
  EXPECT_EQ(reply.handle, 1U);
  EXPECT_EQ(reply.error, ReplyError::kIo);
  program_.request(Command::kFlush, 2, 0, 0);
  expect_done(program_.take_reply(), 2);
  EXPECT_THAT(rig_.disk.seen(), testing::SizeIs(1));
  EXPECT_EQ(rig_.counters().bad_memory.value(), 1U);
}

TEST_P(TransmissionTest, AReadWhoseMemoryFailsIsNotAnsweredWithOther) {
  rig_.disk.hold(true);
  program_.request(Command::kRead, 1, 0, 8192);
  rig_.disk.break_memory();
  rig_.disk.hold(false);
  const NbdReply reply = program_.take_reply(0);
  if (!program_.is_disconnected()) {
    EXPECT_EQ(reply.error, ReplyError::kIo);
  }
  EXPECT_THAT(reply.payload, IsEmpty());
  EXPECT_EQ(rig_.counters().bad_memory.value(), 1U);
}

}  // namespace
}  // namespace paravane::nbd
