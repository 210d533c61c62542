// MUST 1 to 10 and 29: the stream, the handshake, and who is let in.

#include <sys/socket.h>
#include <sys/stat.h>

#include <array>

#include "vfio_user/requirements_test.h"

namespace paravane::vfio_user {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(VfioUserMust, M01_ServesAClientOnAUnixStreamSocket) {
  EXPECT_TRUE(std::filesystem::is_socket(rig_.socket_path()));
  EXPECT_TRUE(rig_.server().attached());
  EXPECT_EQ(rig_.server().peer_pid(), getpid());
  EXPECT_THAT(VfioServerRig().device().log(), ElementsAre()) << "nobody has attached";
}

TEST_F(VfioUserMust, M01_RemovesItsSocketOnExit) {
  rig_.stop_server();
  EXPECT_FALSE(std::filesystem::exists(rig_.socket_path()));
  EXPECT_TRUE(client_.is_closed());
}

TEST_F(VfioUserMust, M02_ReadsAMessageThatComesByteByByte) {
  const RegionAccess access{.offset = {}, .region = Le32(kConfigRegion), .count = Le32(4)};
  const auto message =
      RawVfioClient::message(Command::kRegionRead, 9, RawVfioClient::bytes_of(access));
  for (const std::byte& byte : message) {
    EXPECT_FALSE(client_.receive_now());
    client_.send_bytes({&byte, 1});
    rig_.step();
  }
  const auto reply = client_.receive();
  ASSERT_TRUE(good(reply));
  EXPECT_EQ(reply->as<Le32>(16).get(), 0x082015ADU);
}

TEST_F(VfioUserMust, M02_ReadsManyMessagesOfOneReceive) {
  RawVfioClient::Bytes all;
  for (std::uint16_t id = 100; id < 120; ++id) {
    const auto one = RawVfioClient::message(Command::kReset, id, {});
    all.insert(all.end(), one.begin(), one.end());
  }
  client_.send_bytes(all);
  for (std::uint16_t id = 100; id < 120; ++id) {
    const auto reply = client_.receive();
    ASSERT_TRUE(good(reply));
    EXPECT_EQ(reply->header.id.get(), id);
  }
  EXPECT_TRUE(client_.stays_silent());
}

TEST_F(VfioUserMust, M02_RefusesAMessageWhoseDescriptorsDidNotFit) {
  const UniqueFd one = event();
  const std::vector<int> fds(kMaxMessageFds + 1, one.get());
  const std::size_t before = open_descriptors();
  EXPECT_TRUE(refused(client_.set_irqs(kEventfdTrigger, {.count = 3}, fds), EMFILE));
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_TRUE(good(client_.reset())) << "the stream is whole";
}

TEST_F(VfioUserMust, M02_ClosesDescriptorsThatNobodyAskedFor) {
  const UniqueFd one = event();
  const int fd = one.get();
  const std::size_t before = open_descriptors();
  EXPECT_TRUE(refused(client_.call(Command::kReset, {}, {&fd, 1}), EINVAL));
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_THAT(rig_.device().log(), ElementsAre());
}

TEST_F(VfioUserMust, M03_EndsTheConnectionOnAnImpossibleSize) {
  for (const std::uint32_t size : {0U, 15U, kMaxMessageBytes + 1, 0x8000'0000U, 0xFFFF'FFFFU}) {
    VfioServerRig rig;
    RawVfioClient client = rig.attach();
    const Header header{
        .id = Le16(1), .command = Le16(13), .size = Le32(size), .flags = {}, .error = {}};
    client.send_bytes(RawVfioClient::bytes_of(header));
    EXPECT_TRUE(client.is_closed()) << size;
    EXPECT_EQ(rig.counters().broken_connections.value(), 1U) << size;
    EXPECT_EQ(rig.counters().resets.value(), 0U) << size;
    EXPECT_TRUE(rig.attach().connected()) << "the next one is served";
  }
}

TEST_F(VfioUserMust, M03_TakesTheLongestMessageThatItStated) {
  const RawVfioClient::Bytes data(kMaxDataBytes);
  const RegionAccess access{.offset = {}, .region = Le32(1), .count = Le32(kMaxDataBytes)};
  const auto message = RawVfioClient::message(
      Command::kRegionWrite, 5, RawVfioClient::join({RawVfioClient::bytes_of(access), data}));
  for (std::size_t at = 0; at < message.size(); at += 65536) {
    ASSERT_TRUE(client_.send_bytes(
        std::span(message).subspan(at, std::min<std::size_t>(65536, message.size() - at))));
    rig_.step();
  }
  const auto reply = client_.receive();
  ASSERT_TRUE(good(reply));
  EXPECT_EQ(reply->header.id.get(), 5);
  EXPECT_EQ(rig_.counters().dropped_accesses.value(), 1U) << "no BAR is that large";
}

TEST_F(VfioUserMust, M04_EchoesIdAndCommandInEveryAnswer) {
  client_.set_next_id(0xBEEF);
  const auto reply = client_.reset();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->header.id.get(), 0xBEEF);
  EXPECT_EQ(reply->header.command.get(), static_cast<std::uint16_t>(Command::kReset));
  EXPECT_EQ(reply->header.flags.get(), 1U);
  EXPECT_EQ(reply->header.size.get(), 16U);
  EXPECT_EQ(reply->header.error.get(), 0U);
}

TEST_F(VfioUserMust, M04_AnswersAnErrorWithABareHeader) {
  client_.set_next_id(7);
  const auto reply = client_.call(static_cast<Command>(99), RawVfioClient::Bytes(100));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->header.id.get(), 7);
  EXPECT_EQ(reply->header.command.get(), 99);
  EXPECT_EQ(reply->header.flags.get(), 0x21U);
  EXPECT_EQ(reply->header.size.get(), 16U);
  EXPECT_EQ(reply->header.error.get(), static_cast<std::uint32_t>(ENOTSUP));
}

TEST_F(VfioUserMust, M05_StaysSilentOnPostedWrites) {
  client_.write_value<std::uint32_t>(1, 8, 0x1234, Header::kNoReply);
  EXPECT_TRUE(client_.stays_silent());
  EXPECT_THAT(rig_.device().log(), ElementsAre("write 1 0x8 4 posted"));
  EXPECT_EQ(rig_.counters().posted_writes.value(), 1U);
}

TEST_F(VfioUserMust, M05_StaysSilentOnNoReplyEvenOnErrors) {
  client_.write_value<std::uint32_t>(1, 1 << 20, 1, Header::kNoReply);  // beyond the BAR
  client_.write_value<std::uint32_t>(42, 0, 1, Header::kNoReply);       // no such region
  client_.send(Command::kRegionWrite, RawVfioClient::Bytes(3), {}, Header::kNoReply);  // too short
  client_.send(Command::kDmaMap, RawVfioClient::Bytes(3), {}, Header::kNoReply);
  client_.send(static_cast<Command>(99), {}, {}, Header::kNoReply);
  EXPECT_TRUE(client_.stays_silent());
  EXPECT_EQ(rig_.counters().posted_errors.value(), 3U);
  EXPECT_EQ(rig_.counters().dropped_accesses.value(), 2U);
  EXPECT_TRUE(good(client_.reset()));
}

TEST_F(VfioUserMust, M05_NeverAnswersAnAnswer) {
  client_.send(Command::kReset, {}, {}, Header::kTypeReply);
  EXPECT_TRUE(client_.stays_silent());
  EXPECT_THAT(rig_.device().log(), ElementsAre());
}

TEST_F(VfioUserMust, M06_AnswersVersionWithTheLowerMinorAndJson) {
  for (const auto& [asked, answered] : {std::pair{0, 0}, {1, 1}, {7, 1}}) {
    VfioServerRig rig;
    RawVfioClient client = rig.connect();
    const auto reply =
        client.negotiate(RawVfioClient::kQemuJson, static_cast<std::uint16_t>(asked));
    ASSERT_TRUE(good(reply));
    EXPECT_EQ(reply->as<VersionNumbers>().major.get(), 0);
    EXPECT_EQ(reply->as<VersionNumbers>().minor.get(), answered);
    EXPECT_EQ(reply->payload.back(), std::byte{0});
    EXPECT_LE(reply->header.size.get(), 214U) << "QEMU has room for no more";
  }
}

TEST_F(VfioUserMust, M06_NeverAnswersVersionWithMoreThanTheRequest) {
  for (std::size_t padding = 0; padding < 100; ++padding) {
    VfioServerRig rig;
    RawVfioClient client = rig.connect();
    const std::string json = R"({"capabilities":{}})" + std::string(padding, ' ');
    const auto reply = client.negotiate(json);
    ASSERT_TRUE(good(reply)) << padding;
    EXPECT_LE(reply->header.size.get(), 16U + 4 + json.size() + 1) << padding;
    EXPECT_GT(reply->payload.size(), 4U) << "never without JSON";
  }
}

TEST_F(VfioUserMust, M07_M08_StatesItsLimitsAndNothingElse) {
  VfioServerRig rig;
  RawVfioClient client = rig.connect();
  const auto reply = client.negotiate();
  ASSERT_TRUE(good(reply));
  EXPECT_STREQ(reinterpret_cast<const char*>(reply->payload.data() + 4),
               R"({"capabilities":{"max_data_xfer_size":65536,"max_msg_fds":16,"pgsizes":4096}})");
}

TEST_F(VfioUserMust, M09_RefusesInVersionWithAnAnswer) {
  const auto version = [](std::uint16_t major, std::string_view rest) {
    return RawVfioClient::join(
        {RawVfioClient::bytes_of(VersionNumbers{.major = Le16(major), .minor = {}}),
         std::as_bytes(std::span(rest))});
  };
  using namespace std::string_view_literals;
  const std::array bad{
      version(1, "{}\0"sv),
      version(0, "{}"sv),  // no end
      version(0, "\0"sv),
      version(0, "{\"capabilities\":\0"sv),
      version(0, "[]\0"sv),
      version(0, "{\"capabilities\":7}\0"sv),
      version(0, "{\"capabilities\":{\"max_msg_fds\":\"x\"}}\0"sv),
      version(0, "{\"capabilities\":{\"max_msg_fds\":-1}}\0"sv),
      version(0, "{\"capabilities\":{\"max_data_xfer_size\":1.5}}\0"sv),
      version(0, std::string(5000, '{') + '\0'),
      RawVfioClient::Bytes(3),
      RawVfioClient::Bytes(),
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    VfioServerRig rig;
    RawVfioClient client = rig.connect();
    EXPECT_TRUE(refused(client.call(Command::kVersion, bad[i]), EINVAL)) << i;
    EXPECT_FALSE(rig.server().attached()) << i;
    EXPECT_THAT(rig.device().log(), ElementsAre()) << i;
    EXPECT_EQ(rig.counters().broken_connections.value(), 1U) << i;
    client.send(Command::kReset, {});
    EXPECT_TRUE(client.stays_silent()) << "nothing is answered any more, " << i;
    client.hang_up();
    rig.step();
    EXPECT_TRUE(good(rig.connect().negotiate())) << i;
  }
}

TEST_F(VfioUserMust, M09_AVersionThatWantsNoAnswerEndsTheConnection) {
  VfioServerRig rig;
  RawVfioClient client = rig.connect();
  const RawVfioClient::Bytes zero(sizeof(VersionNumbers));
  client.send(Command::kVersion, zero, {}, Header::kNoReply);
  EXPECT_TRUE(client.stays_silent());
  EXPECT_FALSE(rig.server().attached());
  EXPECT_EQ(rig.counters().broken_connections.value(), 1U);
  rig.pass(std::chrono::seconds(3));
  EXPECT_TRUE(client.is_closed());
  EXPECT_TRUE(good(rig.connect().negotiate()));
}

TEST_F(VfioUserMust, M09_DropsARefusedClientThatDoesNotLeave) {
  VfioServerRig rig;
  RawVfioClient client = rig.connect();
  EXPECT_TRUE(refused(client.call(Command::kVersion, {}), EINVAL));
  rig.pass(std::chrono::seconds(3));
  EXPECT_TRUE(client.is_closed());
  EXPECT_EQ(rig.counters().broken_connections.value(), 1U);
}

TEST_F(VfioUserMust, M09_AnswersNothingBeforeVersion) {
  VfioServerRig rig;
  RawVfioClient client = rig.connect();
  EXPECT_TRUE(refused(client.reset(), EINVAL));
  EXPECT_THAT(rig.device().log(), ElementsAre());
}

TEST_F(VfioUserMust, M09_AnswersVersionOnce) {
  EXPECT_TRUE(refused(client_.negotiate(), EINVAL));
  EXPECT_TRUE(good(client_.reset()));
  EXPECT_EQ(rig_.counters().attaches.value(), 1U);
}

TEST_F(VfioUserMust, M10_AcceptsPipelinedMapsBeforeGetInfo) {
  const UniqueFd file = ram(0x10000);
  const int fd = file.get();
  for (std::uint64_t i = 0; i < 10; ++i) {
    const DmaMap map{.argsz = Le32(32),
                     .flags = Le32(3),
                     .file_offset = Le64(i * 4096),
                     .iova = Le64(i * 8192),
                     .size = Le64(4096)};
    client_.send(Command::kDmaMap, RawVfioClient::bytes_of(map), {&fd, 1});
  }
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(good(client_.receive())) << i;
  EXPECT_EQ(rig_.memory().usage().ranges, 10U);
  EXPECT_TRUE(client_.stays_silent());
}

TEST_F(VfioUserMust, M29_AnswersUnknownCommandsWithAnErrorAndGoesOn) {
  for (const int command : {0, 11, 12, 14, 17, 18, 19, 0x100, 0xFFFF}) {
    EXPECT_TRUE(
        refused(client_.call(static_cast<Command>(command), RawVfioClient::Bytes(64)), ENOTSUP))
        << command;
  }
  EXPECT_TRUE(refused(client_.call(Command::kDeviceFeature, RawVfioClient::Bytes(64)), ENOTTY));
  EXPECT_TRUE(good(client_.reset()));
  EXPECT_EQ(rig_.counters().protocol_errors.value(), 10U);
}

}  // namespace
}  // namespace paravane::vfio_user
