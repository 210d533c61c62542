#include "wire/infiniband/communication.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <initializer_list>

namespace paravane::wire::infiniband {
namespace {

using std::chrono::nanoseconds;
using CmBytes = std::array<std::uint8_t, kMadBytes>;

// Bytes of a message where IBTA's tables have its fields, counted from the MAD's first byte.
class CmImage {
 public:
  CmImage& at(std::size_t offset, std::initializer_list<unsigned> values) {
    for (const unsigned value : values) bytes_[offset++] = static_cast<std::uint8_t>(value);
    return *this;
  }
  // `count` bytes from `first` on, each one more than the one before.
  CmImage& count_up(std::size_t offset, std::size_t count, unsigned first) {
    for (std::size_t i = 0; i < count; ++i) at(offset + i, {first + static_cast<unsigned>(i)});
    return *this;
  }
  template <typename Message>
  Message as() const {
    return std::bit_cast<Message>(bytes_);
  }
  const CmBytes& bytes() const { return bytes_; }

 private:
  CmBytes bytes_{};
};

CmImage cm_header(unsigned attribute) {
  // 13.4.2 and 12.6: version 1, class 7, class version 2, Send; transaction at 8.
  return CmImage().at(0, {1, 0x07, 2, 0x03}).at(8, {1, 2, 3, 4, 5, 6, 7, 8}).at(16, {0, attribute});
}

MadHeader cm_header_of(std::uint16_t attribute) {
  MadHeader header;
  header.management_class = management_class::kCommunication;
  header.class_version = kCommunicationVersion;
  header.method = method::kSend;
  header.transaction.set(0x0102'0304'0506'0708);
  header.attribute.set(attribute);
  return header;
}

Gid cm_gid(std::uint8_t first) {
  Gid gid{};
  for (std::uint8_t& byte : gid) byte = first++;
  return gid;
}

// ---- REQ: 12.6.5, table 106; offsets there begin after the header of 24 bytes ----

CmImage request_image() {
  return cm_header(0x10)
      .at(24, {0xA1, 0xA2, 0xA3, 0xA4})                          // local communication ID
      .at(32, {0, 0, 0, 0, 1, 6, 0x0C, 0xBC})                    // service ID
      .at(40, {0xB1, 0xB2, 0xB3, 0xB4, 0xB5, 0xB6, 0xB7, 0xB8})  // local CA GUID
      .at(52, {0x80, 1, 0, 0})                                   // local Q_Key
      .at(56, {0x12, 0x34, 0x56, 4})                             // QPN, responder resources
      .at(60, {0, 0, 0, 3})                                      // EECN, initiator depth
      .at(64, {0, 0, 0, 18 << 3 | 1})                            // EECN, timeout, RC, flow control
      .at(68, {0xAB, 0xCD, 0xEF, 17 << 3 | 7})                   // PSN, timeout, retry count
      .at(72, {0xFF, 0xFF})                                      // partition key
      .at(74, {3 << 4 | 6})                                      // path MTU, RNR retry count
      .at(75, {15 << 4 | 8})                                     // most CM retries, SRQ
      .at(76, {0xFF, 0xFF, 0xFF, 0xFE})                          // LIDs
      .count_up(80, 16, 0x20)                                    // local GID
      .count_up(96, 16, 0x40)                                    // remote GID
      .at(112, {0x12, 0x34, 0x50, 7})                            // flow label, packet rate
      .at(116, {9, 64, 5 << 4 | 8, 19 << 3})  // class, hop limit, SL and local, ACK timeout
      .at(120, {0, 1, 0, 2})                  // alternate LIDs
      .at(156, {0, 0, 0x10, 3})               // of it: flow label, packet rate
      .at(160, {2, 1, 4 << 4, 20 << 3});
}

TEST(CommunicationTest, RequestByteForByte) {
  ConnectionRequest request;
  request.header = cm_header_of(communication::kRequest);
  request.local_id.set(0xA1A2'A3A4);
  request.service.set(tcp_port_service(0x0CBC));
  request.local_guid.set(0xB1B2'B3B4'B5B6'B7B8);
  request.local_qkey.set(0x8001'0000);
  request.set_qp_resources(0x12'3456, 4);
  request.eec_depth.set(3);
  request.set_remote_times(18, true);
  request.set_psn_times(0xAB'CDEF, 17, 7);
  request.partition.set(0xFFFF);
  request.set_mtu_rnr(3, 6);
  request.set_retries_srq(15, true);
  request.primary.local_lid.set(0xFFFF);
  request.primary.remote_lid.set(0xFFFE);
  request.primary.local_gid = cm_gid(0x20);
  request.primary.remote_gid = cm_gid(0x40);
  request.primary.set_flow_rate(0x1'2345, 7);
  request.primary.traffic_class = 9;
  request.primary.hop_limit = 64;
  request.primary.level_local = 5 << 4 | 8;
  request.primary.set_ack_timeout_code(19);
  request.alternate.local_lid.set(1);
  request.alternate.remote_lid.set(2);
  request.alternate.set_flow_rate(1, 3);
  request.alternate.traffic_class = 2;
  request.alternate.hop_limit = 1;
  request.alternate.level_local = 4 << 4;
  request.alternate.set_ack_timeout_code(20);
  EXPECT_EQ(std::bit_cast<CmBytes>(request), request_image().bytes());
}

TEST(CommunicationTest, RequestIsRead) {
  const auto request = request_image().as<ConnectionRequest>();
  EXPECT_EQ(request.local_id.get(), 0xA1A2'A3A4u);
  EXPECT_EQ(request.service.get(), 0x0000'0000'0106'0CBCu);
  EXPECT_EQ(request.local_qp(), 0x12'3456u);
  EXPECT_EQ(request.responder_resources(), 4);
  EXPECT_EQ(request.initiator_depth(), 3);
  EXPECT_EQ(request.remote_response_code(), 18);
  EXPECT_EQ(request.transport(), 0);
  EXPECT_TRUE(request.has_flow_control());
  EXPECT_EQ(request.starting_psn(), 0xAB'CDEFu);
  EXPECT_EQ(request.local_response_code(), 17);
  EXPECT_EQ(request.retry_count(), 7);
  EXPECT_EQ(request.mtu_code(), 3);
  EXPECT_EQ(request.rnr_retry(), 6);
  EXPECT_EQ(request.most_retries(), 15);
  EXPECT_TRUE(request.has_shared_receive_queue());
  EXPECT_EQ(request.primary.flow_label(), 0x1'2345u);
  EXPECT_EQ(request.primary.packet_rate(), 7);
  EXPECT_EQ(request.primary.level(), 5);
  EXPECT_TRUE(request.primary.is_subnet_local());
  EXPECT_EQ(request.primary.ack_timeout_code(), 19);
  EXPECT_FALSE(request.alternate.is_subnet_local());
  EXPECT_EQ(request.alternate.ack_timeout_code(), 20);
}

TEST(CommunicationTest, RequestsPrivateDataIsTheLast92Bytes) {
  const auto request = CmImage().count_up(164, 92, 1).as<ConnectionRequest>();
  EXPECT_EQ(request.private_data.front(), std::byte{1});
  EXPECT_EQ(request.private_data.back(), std::byte{92});
  EXPECT_EQ(request.alternate.ack_timeout, 0);
}

// ---- MRA: 12.6.6, table 107 ----

TEST(CommunicationTest, ReceiptAcknowledge) {
  const auto mra = cm_header(0x11)
                       .at(24, {0, 0, 0, 1, 0, 0, 0, 2, 1 << 6 | 0x3F, 21 << 3 | 7})
                       .count_up(34, 222, 0)
                       .as<ReceiptAcknowledge>();
  EXPECT_EQ(mra.local_id.get(), 1u);
  EXPECT_EQ(mra.remote_id.get(), 2u);
  EXPECT_EQ(mra.answered(), AnsweredMessage::kReply);
  EXPECT_EQ(mra.service_code(), 21);
  EXPECT_EQ(mra.private_data.back(), std::byte{221});
}

// ---- REJ: 12.6.7, table 108 ----

TEST(CommunicationTest, RejectByteForByte) {
  ConnectionReject reject;
  reject.header = cm_header_of(communication::kReject);
  reject.local_id.set(1);
  reject.remote_id.set(2);
  reject.set_answered(AnsweredMessage::kOther);
  reject.set_info_bytes(8);
  reject.reason.set(reject_reason::kTimeout);
  reject.info.back() = std::byte{9};
  reject.private_data.front() = std::byte{8};
  const CmImage image =
      cm_header(0x12).at(24, {0, 0, 0, 1, 0, 0, 0, 2, 2 << 6, 8 << 1, 0, 4}).at(36 + 71, {9, 8});
  EXPECT_EQ(std::bit_cast<CmBytes>(reject), image.bytes());
  EXPECT_EQ(reject.answered(), AnsweredMessage::kOther);
  EXPECT_EQ(reject.info_bytes(), 8u);
}

TEST(CommunicationTest, RejectMayClaimMoreInformationThanThereIs) {
  const auto reject = CmImage().at(33, {0xFF}).as<ConnectionReject>();
  EXPECT_EQ(reject.info_bytes(), 127u);
}

// ---- REP: 12.6.8, table 110 ----

TEST(CommunicationTest, Reply) {
  const auto reply = cm_header(0x13)
                         .at(24, {0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3})
                         .at(36, {0x12, 0x34, 0x56, 0xFF})  // QPN
                         .at(40, {0x65, 0x43, 0x21, 0xFF})  // EECN
                         .at(44, {0xAB, 0xCD, 0xEF, 0xFF})  // PSN
                         .at(48, {4, 5, 15 << 3 | 2 << 1 | 1, 7 << 5 | 0x10})
                         .at(52, {1, 2, 3, 4, 5, 6, 7, 8})  // CA GUID
                         .count_up(60, 196, 0)
                         .as<ConnectionReply>();
  EXPECT_EQ(reply.local_id.get(), 1u);
  EXPECT_EQ(reply.remote_id.get(), 2u);
  EXPECT_EQ(reply.local_qkey.get(), 3u);
  EXPECT_EQ(reply.local_qp(), 0x12'3456u);
  EXPECT_EQ(reply.starting_psn(), 0xAB'CDEFu);
  EXPECT_EQ(reply.responder_resources, 4);
  EXPECT_EQ(reply.initiator_depth, 5);
  EXPECT_EQ(reply.ack_delay_code(), 15);
  EXPECT_TRUE(reply.has_flow_control());
  EXPECT_EQ(reply.rnr_retry(), 7);
  EXPECT_TRUE(reply.has_shared_receive_queue());
  EXPECT_EQ(reply.local_guid.get(), 0x0102'0304'0506'0708u);
  EXPECT_EQ(reply.private_data.front(), std::byte{0});
  EXPECT_EQ(reply.private_data.back(), std::byte{195});
}

// ---- RTU, DREQ, DREP: 12.6.9 to 12.6.11, tables 111 to 113 ----

TEST(CommunicationTest, ReadyToUseByteForByte) {
  ReadyToUse ready;
  ready.header = cm_header_of(communication::kReadyToUse);
  ready.local_id.set(1);
  ready.remote_id.set(2);
  ready.private_data.front() = std::byte{3};
  EXPECT_EQ(std::bit_cast<CmBytes>(ready),
            cm_header(0x14).at(24, {0, 0, 0, 1, 0, 0, 0, 2, 3}).bytes());
}

TEST(CommunicationTest, DisconnectByteForByte) {
  DisconnectRequest request;
  request.header = cm_header_of(communication::kDisconnectRequest);
  request.local_id.set(1);
  request.remote_id.set(2);
  request.remote_qp.set(0x12'3456U << 8);
  request.private_data.front() = std::byte{3};
  EXPECT_EQ(std::bit_cast<CmBytes>(request),
            cm_header(0x15).at(24, {0, 0, 0, 1, 0, 0, 0, 2, 0x12, 0x34, 0x56, 0, 3}).bytes());
  EXPECT_EQ(request.remote_qp_number(), 0x12'3456u);

  DisconnectReply reply;
  reply.header = cm_header_of(communication::kDisconnectReply);
  reply.local_id.set(1);
  reply.remote_id.set(2);
  EXPECT_EQ(std::bit_cast<CmBytes>(reply),
            cm_header(0x16).at(24, {0, 0, 0, 1, 0, 0, 0, 2}).bytes());
}

// ---- Times, and IP addresses ----

TEST(CommunicationTest, Times) {
  EXPECT_EQ(time_of_code(0), nanoseconds(4096));
  EXPECT_EQ(time_of_code(18), nanoseconds(1'073'741'824));
  EXPECT_EQ(time_of_code(31), nanoseconds(8'796'093'022'208));
  // Five bits.
  EXPECT_EQ(time_of_code(32), nanoseconds(4096));
}

TEST(CommunicationTest, IpAddressingHeaderByteForByte) {
  IpAddressingHeader header;
  header.set_ip(4);
  header.source_port.set(0x1234);
  std::ranges::copy(std::array{10, 0, 0, 1}, header.source.begin() + 12);
  std::ranges::copy(std::array{10, 0, 0, 2}, header.destination.begin() + 12);
  std::array<std::uint8_t, 36> bytes{0, 0x40, 0x12, 0x34};
  std::ranges::copy(std::array{10, 0, 0, 1}, bytes.begin() + 16);
  std::ranges::copy(std::array{10, 0, 0, 2}, bytes.begin() + 32);
  EXPECT_EQ((std::bit_cast<std::array<std::uint8_t, 36>>(header)), bytes);
  EXPECT_EQ(header.ip(), 4);
  EXPECT_EQ(tcp_port_service(3260), 0x0106'0CBCu);
}

}  // namespace
}  // namespace paravane::wire::infiniband
