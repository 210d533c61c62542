#include "ipoib/arp.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>

#include "ipoib/packet_test.h"

namespace paravane::ipoib {
namespace {

constexpr MacBytes kArpVm{0x02, 0x50, 0x56, 0, 0, 1};
constexpr MacBytes kArpNode{0x02, 0, 0, 0x48, 0, 7};
constexpr IpoibAddress kArpOwn{
    .flags = 0,
    .number = Be24(0x123),
    .gid = {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2, 0x50, 0x56, 0, 1, 0xA2, 0xB3, 1}};
constexpr IpoibAddress kArpRemote{
    .flags = 0x80, .number = Be24(0x48), .gid = {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xC9, 3}};

// RFC 826: hardware, protocol, lengths, operation; sender; target.
constexpr std::string_view kEthernetRequest =
    "0001 0800 06 04 0001"
    "025056000001 0a000001"
    "000000000000 0a000002";
constexpr std::string_view kInfinibandRequest =
    "0020 0800 14 04 0001"
    "00 000123 fe80000000000000 0250560001a2b301 0a000001"
    "00 000000 0000000000000000 0000000000000000 0a000002";
constexpr std::string_view kInfinibandReply =
    "0020 0800 14 04 0002"
    "80 000048 fe80000000000000 0002c90300000000 0a000002"
    "00 000123 fe80000000000000 0250560001a2b301 0a000001";
constexpr std::string_view kEthernetReply =
    "0001 0800 06 04 0002"
    "020000480007 0a000002"
    "025056000001 0a000001";

ArpRefusal ethernet_refusal(std::span<const std::byte> packet) {
  const auto read = read_ethernet_arp(packet);
  EXPECT_FALSE(read.has_value());
  return read ? ArpRefusal{0xFF} : read.error();
}
ArpRefusal infiniband_refusal(std::span<const std::byte> packet) {
  const auto read = read_infiniband_arp(packet);
  EXPECT_FALSE(read.has_value());
  return read ? ArpRefusal{0xFF} : read.error();
}

Bytes changed(std::string_view text, std::size_t at, std::uint8_t value) {
  Bytes packet = bytes_of(text);
  packet[at] = std::byte{value};
  return packet;
}

TEST(ArpTest, ARequestGoesToInfinibandByteForByte) {
  const auto request = read_ethernet_arp(bytes_of(kEthernetRequest));
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(*request, (EthernetArp{.operation = ArpOperation::kRequest,
                                   .sender = kArpVm,
                                   .sender_ipv4 = {10, 0, 0, 1},
                                   .target = {},
                                   .target_ipv4 = {10, 0, 0, 2}}));
  EXPECT_EQ(hex_of(infiniband_arp(to_infiniband(*request, kArpOwn, std::nullopt))),
            plain_hex(kInfinibandRequest));
}

TEST(ArpTest, M3_1AReplyOfANodeThatOffersConnectedModeComesByteForByte) {
  const auto reply = read_infiniband_arp(bytes_of(kInfinibandReply));
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(*reply, (InfinibandArp{.operation = ArpOperation::kReply,
                                   .sender = kArpRemote,
                                   .sender_ipv4 = {10, 0, 0, 2},
                                   .target = kArpOwn,
                                   .target_ipv4 = {10, 0, 0, 1}}));
  EXPECT_EQ(hex_of(ethernet_arp(to_ethernet(*reply, kArpNode, kArpVm))), plain_hex(kEthernetReply));
}

TEST(ArpTest, AReplyGoesToInfinibandWithItsTarget) {
  const auto reply = read_ethernet_arp(bytes_of(kEthernetReply));
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(hex_of(infiniband_arp(to_infiniband(*reply, kArpRemote, kArpOwn))),
            plain_hex(kInfinibandReply));
}

TEST(ArpTest, EachOperationIsReadAndHasItsType) {
  for (const std::uint8_t number : std::initializer_list<std::uint8_t>{1, 2, 3, 4}) {
    const auto ethernet = read_ethernet_arp(changed(kEthernetReply, 7, number));
    const auto infiniband = read_infiniband_arp(changed(kInfinibandReply, 7, number));
    ASSERT_TRUE(ethernet.has_value() && infiniband.has_value()) << number;
    EXPECT_EQ(static_cast<int>(ethernet->operation), number);
    EXPECT_EQ(to_infiniband(*ethernet, kArpRemote, kArpOwn), *infiniband);
    EXPECT_EQ(to_ethernet(*infiniband, kArpNode, kArpVm), *ethernet);
    EXPECT_EQ(type_of(ethernet->operation), number <= 2 ? 0x0806 : 0x8035);
  }
}

TEST(ArpTest, PaddingOfAShortFrameIsLeftOut) {
  Bytes packet = bytes_of(kEthernetRequest);
  packet.resize(46);
  const auto read = read_ethernet_arp(packet);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(hex_of(ethernet_arp(*read)), plain_hex(kEthernetRequest));
}

TEST(ArpTest, InfinibandHasNoPadding) {
  Bytes packet = bytes_of(kInfinibandReply);
  packet.resize(57);
  EXPECT_EQ(infiniband_refusal(packet), ArpRefusal::kLong);
}

TEST(ArpTest, EveryPacketThatIsCutShortIsRefused) {
  const Bytes ethernet = bytes_of(kEthernetRequest);
  for (std::size_t size = 0; size < ethernet.size(); ++size) {
    const Bytes cut(ethernet.begin(), ethernet.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(ethernet_refusal(cut), ArpRefusal::kShort) << size;
  }
  const Bytes infiniband = bytes_of(kInfinibandRequest);
  for (std::size_t size = 0; size < infiniband.size(); ++size) {
    const Bytes cut(infiniband.begin(), infiniband.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(infiniband_refusal(cut), ArpRefusal::kShort) << size;
  }
}

TEST(ArpTest, APacketOfTheOtherLinkIsRefused) {
  EXPECT_EQ(ethernet_refusal(bytes_of(kInfinibandRequest)), ArpRefusal::kHardware);
  Bytes padded = bytes_of(kEthernetRequest);
  padded.resize(56);
  EXPECT_EQ(infiniband_refusal(padded), ArpRefusal::kHardware);
}

TEST(ArpTest, AnotherLengthOfAnAddressIsRefused) {
  EXPECT_EQ(ethernet_refusal(changed(kEthernetRequest, 4, 20)), ArpRefusal::kHardware);
  EXPECT_EQ(infiniband_refusal(changed(kInfinibandRequest, 4, 6)), ArpRefusal::kHardware);
  EXPECT_EQ(ethernet_refusal(changed(kEthernetRequest, 5, 16)), ArpRefusal::kProtocol);
}

TEST(ArpTest, AnotherProtocolOrOperationIsRefused) {
  EXPECT_EQ(ethernet_refusal(changed(kEthernetRequest, 2, 0x86)), ArpRefusal::kProtocol);
  EXPECT_EQ(infiniband_refusal(changed(kInfinibandRequest, 3, 1)), ArpRefusal::kProtocol);
  for (const std::uint8_t number : std::initializer_list<std::uint8_t>{0, 5, 8, 255})
    EXPECT_EQ(ethernet_refusal(changed(kEthernetRequest, 7, number)), ArpRefusal::kOperation);
  EXPECT_EQ(infiniband_refusal(changed(kInfinibandRequest, 6, 1)), ArpRefusal::kOperation);
}

TEST(ArpTest, ASenderThatIsNotOneStationIsRefused) {
  EXPECT_EQ(ethernet_refusal(changed(kEthernetRequest, 8, 0x03)), ArpRefusal::kSender);
  Bytes none = bytes_of(kEthernetRequest);
  std::fill_n(none.begin() + 8, 6, std::byte{0});
  EXPECT_EQ(ethernet_refusal(none), ArpRefusal::kSender);
  EXPECT_EQ(infiniband_refusal(changed(kInfinibandReply, 11, 1)), ArpRefusal::kSender);  // QP 1
  EXPECT_EQ(infiniband_refusal(changed(kInfinibandReply, 12, 0xFF)), ArpRefusal::kSender);
}

}  // namespace
}  // namespace paravane::ipoib
