#include "connection/messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>
#include <vector>

namespace paravane::connection {
namespace {

namespace reject_reason = wire::infiniband::reject_reason;
using wire::infiniband::AnsweredMessage;
using wire::infiniband::Gid;
using wire::infiniband::kMadBytes;
using wire::infiniband::Mtu;
using MessageImage = std::array<std::uint8_t, kMadBytes>;

constexpr Gid kOurs{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 1};
constexpr Gid kTheirs{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 2};
constexpr Names kNames{
    .local = 0xA1A2'A3A4, .remote = 0xC1C2'C3C4, .transaction = 0x0102'0304'0506'0708};

void put(MessageImage& image, std::size_t offset, std::initializer_list<unsigned> values) {
  for (const unsigned value : values) image[offset++] = static_cast<std::uint8_t>(value);
}

MessageImage image_of(unsigned attribute) {
  MessageImage image{1, 7, 2, 3};
  put(image, 8, {1, 2, 3, 4, 5, 6, 7, 8, 0, attribute});
  put(image, 24, {0xA1, 0xA2, 0xA3, 0xA4, 0xC1, 0xC2, 0xC3, 0xC4});
  return image;
}

ConnectRequest possible_request() {
  return {.remote_gid = kTheirs, .local_gid = kOurs, .local_qp = 0x12'3456};
}

// Field by field, from table 106 of IBTA.
TEST(MessagesTest, RequestByteForByte) {
  const std::vector<std::byte> data(92, std::byte{0xDD});
  ConnectRequest request = possible_request();
  request.local_guid = 0xB1B2'B3B4'B5B6'B7B8;
  request.service = 0x0002'C903'0000'0048;
  request.starting_psn = 0xAB'CDEF;
  request.mtu = Mtu::k1024;
  request.responder_resources = 4;
  request.initiator_depth = 1;
  request.ack_timeout = 19;
  request.retry_count = 6;
  request.rnr_retry = 5;
  request.private_data = data;
  MessageImage image{1, 7, 2, 3};
  put(image, 8, {1, 2, 3, 4, 5, 6, 7, 8, 0, 0x10});
  put(image, 24, {0xA1, 0xA2, 0xA3, 0xA4});
  put(image, 32, {0x00, 0x02, 0xC9, 0x03, 0, 0, 0, 0x48});
  put(image, 40, {0xB1, 0xB2, 0xB3, 0xB4, 0xB5, 0xB6, 0xB7, 0xB8});
  put(image, 56, {0x12, 0x34, 0x56, 4, 0, 0, 0, 1});
  put(image, 64, {0, 0, 0, 18 << 3 | 1});  // reliable, with flow control
  put(image, 68, {0xAB, 0xCD, 0xEF, 18 << 3 | 6});
  put(image, 72, {0xFF, 0xFF, 3 << 4 | 5, 15 << 4});  // no shared receive queue
  put(image, 76, {0xFF, 0xFF, 0xFF, 0xFF});           // permissive LIDs
  std::ranges::copy(kOurs, image.begin() + 80);
  std::ranges::copy(kTheirs, image.begin() + 96);
  put(image, 112, {0, 0, 0, 7, 0, 64, 0, 19 << 3});  // not local to a subnet
  std::fill(image.begin() + 164, image.end(), std::uint8_t{0xDD});
  EXPECT_EQ(std::bit_cast<MessageImage>(make_request(request, kNames)), image);
}

TEST(MessagesTest, RequestTellsOfASharedReceiveQueue) {
  ConnectRequest request = possible_request();
  request.has_shared_receive_queue = true;
  request.has_flow_control = false;
  const auto message = make_request(request, kNames);
  EXPECT_TRUE(message.has_shared_receive_queue());
  EXPECT_FALSE(message.has_flow_control());
}

TEST(MessagesTest, EndsOfConnectionsByteForByte) {
  EXPECT_EQ(std::bit_cast<MessageImage>(make_ready_to_use(kNames)), image_of(0x14));
  EXPECT_EQ(std::bit_cast<MessageImage>(make_disconnect_reply(kNames)), image_of(0x16));
  MessageImage disconnect = image_of(0x15);
  put(disconnect, 32, {0x12, 0x34, 0x56, 0});
  EXPECT_EQ(std::bit_cast<MessageImage>(make_disconnect_request(kNames, 0x12'3456)), disconnect);
}

TEST(MessagesTest, RejectByteForByte) {
  const std::array info{std::byte{1}, std::byte{2}};
  const std::array data{std::byte{3}};
  MessageImage image = image_of(0x12);
  put(image, 32, {1 << 6, 2 << 1, 0, 28, 1, 2});
  put(image, 36 + 72, {3});
  EXPECT_EQ(std::bit_cast<MessageImage>(make_reject(kNames, {.message = AnsweredMessage::kReply,
                                                             .reason = reject_reason::kConsumer,
                                                             .info = info,
                                                             .private_data = data})),
            image);
}

TEST(MessagesTest, ValuesMustFitTheirFields) {
  EXPECT_TRUE(is_possible(possible_request()));
  const auto is_refused = [](auto change) {
    ConnectRequest request = possible_request();
    change(request);
    return !is_possible(request);
  };
  // Queue pairs of management, that of multicasts, and more than 24 bits.
  for (const std::uint32_t qp : {0U, 1U, 0xFF'FFFFU, 0x100'0000U})
    EXPECT_TRUE(is_refused([qp](ConnectRequest& request) { request.local_qp = qp; })) << qp;
  EXPECT_TRUE(is_refused([](ConnectRequest& request) { request.starting_psn = 0x100'0000; }));
  EXPECT_TRUE(is_refused([](ConnectRequest& request) { request.mtu = Mtu{0}; }));
  EXPECT_TRUE(is_refused([](ConnectRequest& request) { request.mtu = Mtu{6}; }));
  EXPECT_TRUE(is_refused([](ConnectRequest& request) { request.ack_timeout = 32; }));
  EXPECT_TRUE(is_refused([](ConnectRequest& request) { request.retry_count = 8; }));
  EXPECT_TRUE(is_refused([](ConnectRequest& request) { request.rnr_retry = 8; }));
  EXPECT_TRUE(is_refused([](ConnectRequest& request) { request.packet_rate = 64; }));
  const std::vector<std::byte> data(93);
  EXPECT_TRUE(is_refused([&data](ConnectRequest& request) { request.private_data = data; }));
}

}  // namespace
}  // namespace paravane::connection
