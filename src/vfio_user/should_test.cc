// The SHOULD items that a server can be asked for, and how it behaves towards
// clients that are slow, silent, many or in a hurry.

#include <sys/socket.h>

#include <array>
#include <memory>

#include "testing/log_capture.h"
#include "testing/no_more_descriptors.h"
#include "vfio_user/requirements_test.h"

namespace paravane::vfio_user {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::uint64_t kShouldPage = 4096;

RawVfioClient::Bytes resets(std::size_t count) {
  RawVfioClient::Bytes all;
  for (std::size_t i = 0; i < count; ++i) {
    const auto one = RawVfioClient::message(Command::kReset, static_cast<std::uint16_t>(i), {});
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

constexpr unsigned kAnswers = 10;

void ask_for_more_than_a_socket_holds(RawVfioClient& client) {
  const RegionAccess access{.offset = {}, .region = Le32(9), .count = Le32(kMaxDataBytes)};
  for (unsigned i = 0; i < kAnswers; ++i) {
    client.send(Command::kRegionRead, RawVfioClient::bytes_of(access));
  }
}

TEST_F(VfioUserShould, S33_HasNoInterruptPinAndPlainEventfds) {
  EXPECT_EQ(client_.read_value<std::uint8_t>(kConfigRegion, 0x3D), 0);
  EXPECT_EQ(client_.irq_info(2)->as<IrqInfo>().flags.get(), 1U) << "EVENTFD, not NORESIZE";
  EXPECT_EQ(client_.irq_info(3)->as<IrqInfo>().count.get(), 1U) << "or QEMU warns at start";
}

TEST_F(VfioUserShould, S35_ResetWorksAtAnyTime) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(good(client_.reset()));
  EXPECT_EQ(rig_.counters().resets.value(), 3U);
}

TEST_F(VfioUserShould, S36_ManyDescriptorsOfOneFileAreOneFile) {
  const UniqueFd file = ram(8 * kShouldPage);
  for (std::uint64_t i = 0; i < 8; ++i) {
    const UniqueFd again(dup(file.get()));
    ASSERT_TRUE(good(client_.dma_map(again.get(), i * kShouldPage, i * kShouldPage, kShouldPage)));
  }
  EXPECT_EQ(rig_.memory().usage().files, 1U);
}

// One message of them would be many requests, and between two requests a device may have
// to say that it takes no more (PciDevice::takes_requests).
TEST_F(VfioUserShould, S37_RefusesMultiWritesThatItNeverOffered) {
  const RawVfioClient::Bytes one(24);
  const auto payload = RawVfioClient::join({RawVfioClient::bytes_of(Le64(1)), one});
  EXPECT_TRUE(refused(client_.call(Command::kRegionWriteMulti, payload), ENOTSUP));
  EXPECT_THAT(rig_.device().log(), IsEmpty());
}

TEST_F(VfioUserShould, S38_ATurnIsBoundedAndTheRestComesByItself) {
  VfioServerRig rig({.messages_per_turn = 10});
  RawVfioClient client = rig.attach();
  client.send_bytes(resets(25));
  const std::uint64_t before = rig.counters().messages.value();
  for (const std::uint64_t seen : {10U, 20U, 25U, 25U}) {
    rig.step();
    EXPECT_EQ(rig.counters().messages.value() - before, seen);
  }
  EXPECT_EQ(rig.timers().size(), 0U) << "nothing to do, nothing to wake up for";
}

TEST_F(VfioUserShould, S38_BufferedMessagesHaveATimerThatIsDue) {
  VfioServerRig rig({.messages_per_turn = 10});
  RawVfioClient client = rig.attach();
  client.send_bytes(resets(15));
  rig.step();
  EXPECT_LE(rig.timers().next_deadline(), rig.now() + std::chrono::microseconds(1))
      << "or a worker would sleep on them: the socket is empty";
}

TEST_F(VfioUserShould, S38_ATurnIsBoundedInBytesToo) {
  const RegionAccess access{.offset = {}, .region = Le32(1), .count = Le32(60'000)};
  for (int i = 0; i < 20; ++i) {
    client_.send(Command::kRegionRead, RawVfioClient::bytes_of(access));
  }
  const std::uint64_t before = rig_.counters().messages.value();
  rig_.step();
  EXPECT_LE(rig_.counters().messages.value() - before, 64 * kShouldPage / 60'000 + 1);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(good(client_.receive()));
}

TEST_F(VfioUserShould, S40_WaitingForAnAnswerCostsNoWakeUps) {
  rig_.device().defer({.resets = true});
  client_.send(Command::kReset, {});
  client_.send_bytes(resets(5));
  for (int i = 0; i < 5; ++i) rig_.step();
  EXPECT_EQ(rig_.loop().poll(Duration(0)), 0) << "readable, but of no use now";
  EXPECT_EQ(rig_.timers().size(), 0U);
  rig_.device().defer({});
  rig_.server().answer(rig_.device().tokens().at(0));
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(good(client_.receive()));
}

TEST_F(VfioUserShould, S41_SaysHowToShareGuestMemory) {
  const LogCapture log;
  ASSERT_TRUE(good(client_.dma_map(-1, 0, 0xFFFC0000, 0x40000, DmaMap::kRead)));
  EXPECT_THAT(log.text(), Not(HasSubstr("share=on"))) << "flash is no RAM";
  ASSERT_TRUE(good(client_.dma_map(-1, 0, 0, 0x20000000)));
  EXPECT_THAT(log.text(), HasSubstr("vm1: guest memory was passed without a file descriptor"));
  EXPECT_THAT(log.text(), HasSubstr("memory-backend-memfd,id=m0,size=SIZE,share=on"));
}

TEST_F(VfioUserShould, S41_SaysWhyMemoryCannotBeUsed) {
  const LogCapture log;
  const UniqueFd directory(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(refused(client_.dma_map(directory.get(), 0, 0, kShouldPage), ENOTSUP));
  EXPECT_THAT(log.text(), HasSubstr("vm1: refused vfio-user command 2 of the VMM: "));
}

TEST_F(VfioUserShould, S42_RefusesASecondClientAtOnceWithAnAnswer) {
  const LogCapture log;
  RawVfioClient second = rig_.connect();
  EXPECT_TRUE(refused(second.negotiate(), EBUSY));
  EXPECT_EQ(rig_.counters().refused_clients.value(), 1U);
  EXPECT_THAT(log.text(), HasSubstr("refused a second client"));
  EXPECT_TRUE(good(client_.reset())) << "the first is served as before";
  EXPECT_EQ(rig_.server().peer_pid(), getpid());
}

TEST_F(VfioUserShould, S42_ARefusedClientGetsOneAnswerAndIsDroppedInTheEnd) {
  RawVfioClient second = rig_.connect();
  EXPECT_TRUE(refused(second.negotiate(), EBUSY));
  second.send(Command::kReset, {});
  EXPECT_TRUE(second.stays_silent());
  rig_.pass(std::chrono::seconds(3));
  EXPECT_TRUE(second.is_closed());
}

TEST_F(VfioUserShould, S42_RefusedClientsThatStayAreNotCollected) {
  const std::size_t before = open_descriptors();
  std::vector<std::unique_ptr<RawVfioClient>> crowd;
  for (int i = 0; i < 40; ++i) {
    crowd.push_back(std::make_unique<RawVfioClient>(rig_.connect()));
    rig_.step();
  }
  EXPECT_LE(open_descriptors(), before + crowd.size() + 8);
  EXPECT_EQ(rig_.counters().refused_clients.value(), 40U);
  EXPECT_TRUE(crowd.front()->is_closed());
  EXPECT_TRUE(good(client_.reset()));
}

TEST_F(VfioUserShould, S42_WithoutDescriptorsItLooksAgainInASecond) {
  RawVfioClient second = rig_.connect();
  const LogCapture log;
  {
    const NoMoreDescriptors shortage;
    for (int i = 0; i < 20; ++i) rig_.step();
  }
  EXPECT_EQ(log.lines(), 1U) << "the socket stays readable; nobody spins on it";
  EXPECT_THAT(log.text(), HasSubstr("vm1: cannot accept a VMM: "));
  EXPECT_TRUE(good(client_.reset())) << "the first is served as before";
  EXPECT_EQ(rig_.counters().refused_clients.value(), 0U);
  rig_.pass(std::chrono::seconds(1));
  EXPECT_TRUE(refused(second.negotiate(), EBUSY)) << "accepted, and answered";
}

TEST_F(VfioUserShould, S42_AServerWithoutDescriptorsCanBeStopped) {
  RawVfioClient second = rig_.connect();
  const LogCapture log;
  {
    const NoMoreDescriptors shortage;
    rig_.step();
  }
  rig_.stop_server();
  rig_.pass(std::chrono::seconds(2));
  rig_.step();
  EXPECT_EQ(rig_.timers().next_deadline(), kNever);
}

TEST_F(VfioUserShould, S42_AClientThatSaysNothingIsDropped) {
  VfioServerRig rig;
  RawVfioClient silent = rig.connect();
  EXPECT_TRUE(silent.stays_silent());
  rig.pass(std::chrono::seconds(6));
  EXPECT_TRUE(silent.is_closed());
  EXPECT_EQ(rig.counters().broken_connections.value(), 1U);
  EXPECT_TRUE(good(rig.connect().negotiate()));
}

TEST_F(VfioUserShould, S42_AClientThatSaysHalfAMessageIsDropped) {
  VfioServerRig rig;
  RawVfioClient client = rig.connect();
  const auto version = RawVfioClient::message(Command::kVersion, 0, RawVfioClient::Bytes(50));
  client.send_bytes(std::span(version).first(30));
  EXPECT_TRUE(client.stays_silent());
  rig.pass(std::chrono::seconds(6));
  EXPECT_TRUE(client.is_closed());
  EXPECT_TRUE(good(rig.connect().negotiate()));
}

TEST_F(VfioUserShould, S42_AnAttachedClientMayBeSilentForEver) {
  rig_.pass(std::chrono::hours(1000));
  EXPECT_TRUE(client_.stays_silent());
  EXPECT_TRUE(good(client_.reset()));
}

TEST_F(VfioUserShould, S42_AClientThatStopsReadingCostsOneAnswer) {
  const std::uint64_t before = rig_.counters().messages.value();
  ask_for_more_than_a_socket_holds(client_);
  for (int i = 0; i < 100; ++i) rig_.step();
  const std::uint64_t handled = rig_.counters().messages.value() - before;
  EXPECT_LT(handled, kAnswers) << "the rest waits in the socket";
  EXPECT_EQ(rig_.loop().poll(Duration(0)), 0);
  for (int i = 0; i < 100; ++i) rig_.step();
  EXPECT_EQ(rig_.counters().messages.value() - before, handled);

  for (unsigned i = 0; i < kAnswers; ++i) {  // it reads again: nothing was lost
    const auto reply = client_.receive();
    ASSERT_TRUE(good(reply)) << i;
    EXPECT_EQ(reply->payload.size(), 16U + kMaxDataBytes);
    EXPECT_EQ(reply->payload.back(), std::byte{0xFF});
  }
  EXPECT_TRUE(client_.stays_silent());
}

TEST_F(VfioUserShould, S42_AClientThatNeverReadsIsDropped) {
  ask_for_more_than_a_socket_holds(client_);
  for (int i = 0; i < 5; ++i) rig_.step();
  EXPECT_TRUE(rig_.server().attached());
  rig_.pass(std::chrono::seconds(6));
  for (int i = 0; i < 5; ++i) rig_.step();
  EXPECT_FALSE(rig_.server().attached());
  EXPECT_EQ(rig_.counters().broken_connections.value(), 1U);
}

TEST_F(VfioUserShould, S42_AClientThatReadsSlowlyIsNot) {
  ask_for_more_than_a_socket_holds(client_);
  for (unsigned i = 0; i < kAnswers; ++i) EXPECT_TRUE(good(client_.receive()));
  rig_.pass(std::chrono::seconds(6));
  EXPECT_TRUE(good(client_.reset()));
  EXPECT_EQ(rig_.timers().size(), 0U);
}

TEST_F(VfioUserShould, S42_AClientThatHidesItsOwnSocketInTheQueueIsDropped) {
  // Its socket waits in its own messages, so that closing it closes nothing.
  ask_for_more_than_a_socket_holds(client_);
  const int itself = client_.socket();
  client_.send(Command::kReset, {}, {&itself, 1});
  for (int i = 0; i < 5; ++i) rig_.step();
  client_.hang_up();
  for (int i = 0; i < 5; ++i) rig_.step();
  EXPECT_TRUE(rig_.server().attached()) << "the kernel says nothing";
  rig_.pass(std::chrono::seconds(6));
  for (int i = 0; i < 5; ++i) rig_.step();
  EXPECT_FALSE(rig_.server().attached());
  EXPECT_TRUE(good(rig_.connect().negotiate()));
}

TEST_F(VfioUserShould, S42_AnAttachedClientThatSaysHalfAMessageIsDropped) {
  const auto message = RawVfioClient::message(Command::kReset, 1, {});
  client_.send_bytes(std::span(message).first(9));
  rig_.step();
  rig_.pass(std::chrono::seconds(4));
  EXPECT_TRUE(client_.stays_silent());
  rig_.pass(std::chrono::seconds(2));
  EXPECT_TRUE(client_.is_closed());
  EXPECT_EQ(rig_.counters().broken_connections.value(), 1U);
}

TEST_F(VfioUserShould, S42_HalvesOfManyMessagesAreNoStall) {
  const auto message = RawVfioClient::message(Command::kReset, 1, {});
  client_.send_bytes(std::span(message).first(9));
  for (int i = 0; i < 5; ++i) {  // the end of one and the beginning of the next
    rig_.step();
    rig_.pass(std::chrono::seconds(4));
    client_.send_bytes(
        RawVfioClient::join({std::span(message).subspan(9), std::span(message).first(9)}));
    EXPECT_TRUE(good(client_.receive()));
  }
  client_.send_bytes(std::span(message).subspan(9));
  EXPECT_TRUE(good(client_.receive()));
  EXPECT_EQ(rig_.timers().size(), 0U);
}

TEST_F(VfioUserShould, S42_HalfAMessageMayWaitWhileAnAnswerIsOwed) {
  rig_.device().defer({.resets = true});
  const auto message = RawVfioClient::message(Command::kReset, 1, {});
  client_.send_bytes(RawVfioClient::join({message, std::span(message).first(9)}));
  rig_.step();
  rig_.pass(std::chrono::seconds(60));
  EXPECT_TRUE(client_.stays_silent()) << "it is our turn, not the client's";
}

TEST_F(VfioUserShould, S42_AClientThatStopsReadingMayLeave) {
  ask_for_more_than_a_socket_holds(client_);
  for (int i = 0; i < 5; ++i) rig_.step();
  client_.hang_up();
  rig_.step();
  rig_.step();
  EXPECT_FALSE(rig_.server().attached());
}

TEST_F(VfioUserShould, S44_CountsWhatItSees) {
  client_.write_value<std::uint32_t>(1, 8, 1);
  client_.write_value<std::uint32_t>(1, 8, 1, Header::kNoReply);
  client_.read_value<std::uint32_t>(1, 8);
  client_.read_value<std::uint32_t>(kConfigRegion, 0);
  EXPECT_EQ(rig_.counters().bar_writes.value(), 2U);
  EXPECT_EQ(rig_.counters().posted_writes.value(), 1U);
  EXPECT_EQ(rig_.counters().bar_reads.value(), 1U);
  EXPECT_EQ(rig_.counters().config_accesses.value(), 1U);
  EXPECT_EQ(rig_.counters().messages.value(), 5U) << "with VERSION";
}

TEST_F(VfioUserShould, S44_AFloodOfRefusalsDoesNotFloodTheLog) {
  const LogCapture log;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(refused(client_.irq_info(77), EINVAL));
  EXPECT_LE(log.lines(), 5U);
  EXPECT_EQ(rig_.counters().protocol_errors.value(), 1000U);
  rig_.pass(std::chrono::seconds(20));
  EXPECT_TRUE(refused(client_.irq_info(77), EINVAL));
  EXPECT_THAT(log.text(), HasSubstr("similar messages suppressed"));
}

TEST_F(VfioUserShould, S44_TracesMessagesAtDebugLevel) {
  const LogCapture log(spdlog::level::debug);
  EXPECT_TRUE(good(client_.reset()));
  EXPECT_THAT(log.text(), HasSubstr("vm1: vfio-user command 13"));
}

TEST_F(VfioUserShould, S45_AnswersGetRegionIoFdsWithNone) {
  const RegionIoFds ask{.argsz = Le32(16), .flags = {}, .index = Le32(2), .count = {}};
  const auto reply = client_.call(Command::kGetRegionIoFds, RawVfioClient::bytes_of(ask));
  ASSERT_TRUE(good(reply));
  EXPECT_EQ(reply->as<RegionIoFds>().count.get(), 0U);
  EXPECT_THAT(reply->fds, IsEmpty());
  EXPECT_TRUE(refused(client_.call(Command::kGetRegionIoFds, RawVfioClient::Bytes(16)), EINVAL));
}

}  // namespace
}  // namespace paravane::vfio_user
