// An attachment that another process goes on with in the middle of messages, responses and requests
// that are answered later.

#include <sys/socket.h>

#include <array>
#include <memory>
#include <utility>

#include "vfio_user/hand_over_test.h"
#include "vfio_user/outbox.h"

namespace paravane::vfio_user {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// ---- In the middle of a message ----

TEST_F(VfioUserHandOver, APartOfAMessageIsCompleted) {
  const auto access = read_request(7, 0, 2);
  const auto message = RawVfioClient::message(Command::kRegionRead, 5, access);
  for (std::size_t cut = 1; cut < message.size(); ++cut) {
    ASSERT_TRUE(client_.send_bytes(std::span(message).first(cut)));
    now().step();
    hand_over();
    EXPECT_TRUE(client_.stays_silent());
    ASSERT_TRUE(client_.send_bytes(std::span(message).subspan(cut)));
    const auto reply = client_.receive();
    ASSERT_TRUE(good(reply));
    EXPECT_EQ(reply->as<Le16>(sizeof(RegionAccess)).get(), 0x15ADU);
  }
}

TEST_F(VfioUserHandOver, DescriptorsOfAPartOfAMessageAreKept) {
  const UniqueFd event0 = event();
  const UniqueFd event1 = event();
  const SetIrqs set{.argsz = Le32(sizeof(SetIrqs)),
                    .flags = Le32(kEventfdTrigger),
                    .index = Le32(2),
                    .start = Le32(0),
                    .count = Le32(2)};
  const auto message = RawVfioClient::message(Command::kSetIrqs, 7, RawVfioClient::bytes_of(set));
  const int fd0 = event0.get();
  const int fd1 = event1.get();
  // Two reads, each with a descriptor.
  ASSERT_TRUE(client_.send_bytes(std::span(message).first(10), {&fd0, 1}));
  now().step();
  hand_over();
  ASSERT_TRUE(client_.send_bytes(std::span(message).subspan(10, 10), {&fd1, 1}));
  now().step();
  hand_over();
  now().step();
  hand_over();
  ASSERT_TRUE(client_.send_bytes(std::span(message).subspan(20)));
  EXPECT_TRUE(answered(7));
  client_.set_bus_master(true);
  now().interrupts().signal(0);
  now().interrupts().signal(1);
  EXPECT_EQ(take(event0), 1U);
  EXPECT_EQ(take(event1), 1U);
}

TEST_F(VfioUserHandOver, DescriptorsThatWereLostStayLost) {
  const UniqueFd event0 = event();
  const std::vector<int> fds(kMaxMessageFds + 1, event0.get());
  const SetIrqs set{.argsz = Le32(sizeof(SetIrqs)),
                    .flags = Le32(kNoneTrigger),
                    .index = Le32(2),
                    .start = Le32(0),
                    .count = Le32(0)};
  const auto message = RawVfioClient::message(Command::kSetIrqs, 7, RawVfioClient::bytes_of(set));
  ASSERT_TRUE(client_.send_bytes(std::span(message).first(10), fds));
  now().step();
  hand_over();
  ASSERT_TRUE(client_.send_bytes(std::span(message).subspan(10)));
  EXPECT_TRUE(refused(client_.receive(), EMFILE));
}

// Whose bytes the kernel still has.
TEST_F(VfioUserHandOver, WhatWasNotReadIsReadLater) {
  const UniqueFd file = ram(kHeldPage);
  const int fd = file.get();
  const DmaMap map{.argsz = Le32(sizeof(DmaMap)),
                   .flags = Le32(3),
                   .file_offset = {},
                   .iova = Le64(0x10000),
                   .size = Le64(kHeldPage)};
  const std::uint16_t id = client_.send(Command::kDmaMap, RawVfioClient::bytes_of(map), {&fd, 1});
  hand_over();
  EXPECT_TRUE(answered(id));
  EXPECT_EQ(now().memory().usage().ranges, 1U);
}

TEST_F(VfioUserHandOver, AMessageThatIsNotCompletedHasAFreshTimeLimit) {
  ASSERT_TRUE(client_.send_bytes(RawVfioClient::Bytes(5)));
  now().step();
  now().pass(4s);
  now().step();
  hand_over();
  now().step();
  now().pass(4s);
  EXPECT_TRUE(client_.stays_silent());
  now().pass(2s);
  EXPECT_TRUE(client_.is_closed());
  EXPECT_THAT(now().device().log(), ElementsAre("reset disconnect"));
}

// ---- In the middle of a batch ----

class VfioUserHandOverInABatch : public VfioUserHandOver {
 protected:
  VfioUserHandOverInABatch() : VfioUserHandOver({.messages_per_turn = 2}) {}
};

TEST_F(VfioUserHandOverInABatch, TheRestIsHandledInOrder) {
  std::vector<std::uint16_t> ids;
  for (std::uint32_t i = 0; i < 9; ++i) ids.push_back(send_write(i * 4, i));
  now().step();
  EXPECT_THAT(now().device().log(), ElementsAre("write 1 0x0 4", "write 1 0x4 4"));
  hand_over();
  EXPECT_THAT(now().device().log(), IsEmpty());
  for (int turn = 0; turn < 2; ++turn) now().step();
  EXPECT_THAT(now().device().log(),
              ElementsAre("write 1 0x8 4", "write 1 0xc 4", "write 1 0x10 4", "write 1 0x14 4"));
  hand_over();
  for (const std::uint16_t id : ids) EXPECT_TRUE(answered(id)) << id;
  EXPECT_EQ(client_.read_value<std::uint32_t>(kBar1, 32), 8U);
}

// ---- In the middle of a response ----

TEST_F(VfioUserHandOver, AResponseThatIsPartlySentIsCompleted) {
  constexpr std::uint32_t kBytes = 60000;
  const auto request = read_request(kBar2, 0, kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) now().device().bar(2)[i] = std::byte(i * 7 + i / 256);
  const auto expected = now().device().bar(2);
  std::vector<std::uint16_t> ids;
  for (int i = 0; i < 12; ++i) ids.push_back(client_.send(Command::kRegionRead, request));
  for (int turn = 0; turn < 20; ++turn) now().step();
  const std::size_t answered_before = now().device().log().size();
  EXPECT_LT(answered_before, ids.size()) << "the socket is not full";
  hand_over();
  for (int turn = 0; turn < 5; ++turn) now().step();
  EXPECT_THAT(now().device().log(), IsEmpty()) << "no request before the response is sent";
  for (const std::uint16_t id : ids) {
    const auto reply = client_.receive();
    ASSERT_TRUE(good(reply));
    EXPECT_EQ(reply->header.id.get(), id);
    ASSERT_EQ(reply->payload.size(), sizeof(RegionAccess) + kBytes);
    EXPECT_TRUE(std::equal(reply->payload.begin() + sizeof(RegionAccess), reply->payload.end(),
                           expected.begin()));
    hand_over();
  }
}

// Its descriptor goes with its first byte.
TEST_F(VfioUserHandOver, ADescriptorOfAResponseIsSentOnce) {
  constexpr std::size_t kRequests = 600;
  const RegionInfo asked{.argsz = Le32(64),
                         .flags = {},
                         .index = Le32(kBar2),
                         .cap_offset = {},
                         .size = {},
                         .offset = {}};
  const auto payload = RawVfioClient::bytes_of(asked);
  std::size_t sent = 0;
  while (sent < kRequests) {
    const auto message = RawVfioClient::message(Command::kGetRegionInfo, 1, payload);
    if (!client_.send_bytes(message)) break;
    ++sent;
    now().step();
  }
  for (int turn = 0; turn < 40; ++turn) now().step();
  hand_over();
  std::size_t replies = 0;
  std::size_t fds = 0;
  while (replies < sent) {
    const auto reply = client_.receive();
    ASSERT_TRUE(good(reply)) << replies;
    ++replies;
    fds += reply->fds.size();
    if (replies % 64 == 0) hand_over();
  }
  EXPECT_EQ(fds, sent);
}

// At each of its parts.
TEST(OutboxHandOver, AResponseIsSentByOneAfterTheOther) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  const UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const int least = 1;
  ASSERT_EQ(::setsockopt(ours.get(), SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
  std::vector<std::byte> message(20000);
  for (std::size_t i = 0; i < message.size(); ++i) message[i] = std::byte(i * 7 + i / 256);

  auto outbox = std::make_unique<Outbox>();
  Outbox::Sent sent = outbox->send(ours.get(), message, -1);
  std::vector<std::byte> received;
  int parts = 0;
  while (received.size() < message.size()) {
    if (sent == Outbox::Sent::kLater) {
      state::Writer out;
      outbox->save(out, {});
      const auto bytes = out.take();
      state::Loading loading;
      state::Reader in(bytes, loading);
      const std::array<int, 1> none{-1};
      if (++parts % 2 == 0) {  // of two flushes, one is of a part
        outbox = std::make_unique<Outbox>();
        outbox->load(in, none);
        ASSERT_TRUE(loading.good());
      }
    }
    std::array<std::byte, 1024> chunk;
    const ssize_t got = ::read(theirs.get(), chunk.data(), chunk.size());
    ASSERT_GT(got, 0);
    received.insert(received.end(), chunk.begin(), chunk.begin() + got);
    if (outbox->pending()) sent = outbox->flush(ours.get());
  }
  EXPECT_GT(parts, 3);
  EXPECT_EQ(received, message);
}

TEST_F(VfioUserHandOver, AClientThatReadsNothingHasAFreshTimeLimit) {
  const auto request = read_request(kBar2, 0, 60000);
  for (int i = 0; i < 12; ++i) client_.send(Command::kRegionRead, request);
  for (int turn = 0; turn < 20; ++turn) now().step();
  now().pass(4s);
  now().step();
  hand_over();
  now().step();
  now().pass(4s);
  now().step();
  EXPECT_TRUE(now().server().attached());
  now().pass(2s);
  for (int turn = 0; turn < 3; ++turn) now().step();
  EXPECT_FALSE(now().server().attached());
}

// ---- While the device owes a response ----

TEST_F(VfioUserHandOver, ADeferredResponseIsGivenByTheNewServer) {
  now().device().defer({.writes = true});
  const std::uint16_t first = send_write(0, 1);
  const std::uint16_t second = send_write(4, 2);
  now().step();
  ASSERT_EQ(now().device().tokens().size(), 1U);
  const ReplyToken token = now().device().tokens()[0];
  hand_over();
  EXPECT_TRUE(client_.stays_silent());
  EXPECT_THAT(now().device().log(), IsEmpty()) << "the next request waits";
  now().server().answer(ReplyToken{std::to_underlying(token) + 1});
  EXPECT_TRUE(client_.stays_silent());
  now().device().defer({});
  now().server().answer(token);
  EXPECT_TRUE(answered(first));
  EXPECT_TRUE(answered(second));
  EXPECT_THAT(now().device().log(), ElementsAre("write 1 0x4 4"));
  now().server().answer(token);
  EXPECT_TRUE(client_.stays_silent());
}

TEST_F(VfioUserHandOver, TokensGoOn) {
  now().device().defer({.writes = true});
  send_write(0, 1);
  now().step();
  const ReplyToken token = now().device().tokens().back();
  hand_over();
  now().server().answer(token);
  ASSERT_TRUE(client_.receive());
  send_write(0, 1);
  now().step();
  EXPECT_GT(now().device().tokens().back(), token);
}

TEST_F(VfioUserHandOver, HowLongAResponseIsOwedIsCounted) {
  now().device().defer({.writes = true});
  send_write(0, 1);
  now().step();
  now().pass(700ms);
  hand_over();
  now().pass(700ms);
  now().server().answer(now().device().tokens().back());
  EXPECT_EQ(now().counters().late_answers.value(), 1U);
}

TEST_F(VfioUserHandOver, AResetThatIsUnderWayDropsItsInterrupts) {
  const UniqueFd first = event();
  ASSERT_TRUE(attach_vector(0, first));
  now().device().defer({.resets = true});
  const std::uint16_t id = client_.send(Command::kReset, {});
  now().step();
  now().interrupts().signal(0);
  hand_over();
  now().interrupts().signal(0);
  now().server().answer(now().device().tokens().back());
  EXPECT_TRUE(answered(id));
  client_.set_bus_master(true);
  EXPECT_EQ(take(first), 0U);
}

TEST_F(VfioUserHandOver, AVmmThatLeavesWhileAResponseIsOwedIsNoticed) {
  now().device().defer({.writes = true});
  send_write(0, 1);
  now().step();
  hand_over();
  client_.hang_up();
  for (int turn = 0; turn < 3; ++turn) now().step();
  EXPECT_THAT(now().device().log(), ElementsAre("reset disconnect"));
}

}  // namespace
}  // namespace paravane::vfio_user
