// A VMM's attachment that another process goes on with, in the middle of something. The VMM
// notices nothing.

#include <sys/socket.h>

#include <array>
#include <memory>
#include <utility>

#include "vfio_user/listener.h"
#include "vfio_user/outbox.h"
#include "vfio_user/requirements_test.h"

namespace paravane::vfio_user {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kHeldPage = 4096;
constexpr std::uint32_t kBar1 = 1;
constexpr std::uint32_t kBar2 = 2;

class VfioUserHandOver : public RequirementTest {
 protected:
  explicit VfioUserHandOver(VfioServerRig::Options options = {}) : RequirementTest(options) {}

  // Another process, which would save the very same.
  void hand_over() {
    const std::vector<std::byte> saved = now().save().bytes;
    rigs_.push_back(now().hand_over());
    EXPECT_EQ(now().save().bytes, saved);
    EXPECT_THAT(now().device().log(), IsEmpty());
    now().pump(client_);
  }
  // Of the process that has the VMM.
  VfioServerRig& now() { return rigs_.empty() ? rig_ : *rigs_.back(); }

  static RawVfioClient::Bytes read_request(std::uint32_t region, std::uint64_t offset,
                                           std::uint32_t count) {
    return RawVfioClient::bytes_of(
        RegionAccess{.offset = Le64(offset), .region = Le32(region), .count = Le32(count)});
  }
  std::uint16_t send_write(std::uint64_t offset, std::uint32_t value) {
    const auto access = RawVfioClient::bytes_of(
        RegionAccess{.offset = Le64(offset), .region = Le32(kBar1), .count = Le32(4)});
    const auto word = RawVfioClient::bytes_of(Le32(value));
    return client_.send(Command::kRegionWrite, RawVfioClient::join({access, word}));
  }
  bool answered(std::uint16_t id) {
    const auto reply = client_.receive();
    return good(reply) && reply->header.id.get() == id;
  }

 private:
  std::vector<std::unique_ptr<VfioServerRig>> rigs_;
};

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
