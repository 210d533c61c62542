#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "wire/block_reader.h"
#include "wire/block_writer.h"

namespace paravane::wire {
namespace {

std::vector<std::byte> bytes_of(std::span<const std::byte> span) {
  return {span.begin(), span.end()};
}

std::span<const std::byte> block_of(std::span<const std::byte> record) {
  return record.subspan(sizeof(RecordHeader));
}

TEST(Block, FramesComeBackInOrderWithTheirPayload) {
  BlockWriter writer;
  writer.clear();
  writer.add(Ping{.header = {}, .number = Le64(7)});
  const std::span<std::byte> payload =
      writer.add(More{.header = {}, .link = Le32(3), .offset = Le64(64)}, 5);
  std::ranges::fill(payload, std::byte{0xAB});
  writer.add(Ack{.header = {}, .link = Le32(9), .serial = Le64(11)});
  const auto record = writer.finish(0);

  BlockReader reader(block_of(record));
  const auto ping = reader.next();
  ASSERT_TRUE(ping);
  EXPECT_EQ(ping->kind, FrameKind::kPing);
  EXPECT_EQ(ping->as<Ping>()->number.get(), 7u);
  const auto more = reader.next();
  ASSERT_TRUE(more);
  EXPECT_EQ(more->as<More>()->offset.get(), 64u);
  EXPECT_EQ(bytes_of(more->payload<More>()), std::vector(5, std::byte{0xAB}));
  const auto ack = reader.next();
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->as<Ack>()->serial.get(), 11u);
  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.broken());
}

// The worked example of docs/tcp-channel.md.
TEST(Block, TheExampleOfTheDocument) {
  constexpr std::array<std::uint8_t, 172> kExample = {
      0x8c, 0,    0,    0,   0,    0,    0, 0, 0,    0, 0, 0, 0,    0, 0, 0,              // header
      0,    0,    0,    0,   0,    0,    0, 0, 0,    0, 0, 0, 0,    0, 0, 0,              // tag
      0x4c, 0,    0x0a, 0,   1,    0,    0, 0, 0x11, 0, 0, 0, 0x12, 0, 0, 0,              // Open
      2,    0,    0,    0,                                                                //
      0xfe, 0x80, 0,    0,   0,    0,    0, 0, 0,    0, 0, 0, 0,    0, 0, 1,              //
      0xfe, 0x80, 0,    0,   0,    0,    0, 0, 0,    0, 0, 0, 0,    0, 0, 2,              //
      0x2a, 0,    0,    0,   0,    0,    0, 0,                                            //
      7,    0,    0,    0,   0,    0,    0, 0, 0,    0, 0, 0, 0,    0, 0, 0,              //
      0x40, 0,    0x0b, 0,   1,    0,    0, 0, 5,    0, 0, 0, 0,    0, 0, 0,              // Request
      0,    0,    0,    0,   0x34, 0x12, 0, 0,                                            //
      0,    0x10, 0,    0,   0,    0,    0, 0, 4,    0, 0, 0, 0,    0, 0, 0,              //
      0,    0,    0,    0,   0,    0,    0, 0, 0,    0, 0, 0, 0,    0, 0, 0, 0, 0, 0, 0,  //
      0xde, 0xad, 0xbe, 0xef};
  Open open{};
  open.link.set(1);
  open.requester_qpn.set(0x11);
  open.responder_qpn.set(0x12);
  open.gid_type.set(2);
  open.requester_gid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  open.responder_gid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  open.segment.set(0x2a);
  open.requester_life.set(7);
  Request request{};
  request.link.set(1);
  request.serial.set(5);
  request.rkey.set(0x1234);
  request.remote_addr.set(0x1000);
  request.length.set(4);
  BlockWriter writer;
  writer.clear();
  writer.add(open);
  const auto payload = std::as_bytes(std::span(kExample)).last(4);
  std::ranges::copy(payload, writer.add(request, payload.size()).begin());
  EXPECT_EQ(bytes_of(writer.finish(0)), bytes_of(std::as_bytes(std::span(kExample))));
}

TEST(Block, AShortOneFillsTheHead) {
  BlockWriter writer;
  writer.clear();
  writer.add(Ping{});
  const auto record = writer.finish(4096);
  ASSERT_EQ(record.size(), kHeadBytes);
  const auto header = read_header(std::span(record).first<kHeadBytes>());
  ASSERT_TRUE(header);
  EXPECT_EQ(header->block_bytes.get(), kMinBlockBytes);
  EXPECT_EQ(header->direct_bytes.get(), 4096u);
}

TEST(Block, AFrameCanBeTakenBack) {
  BlockWriter writer;
  writer.clear();
  writer.add(Ping{});
  writer.add(Request{}, 100);
  writer.take_back();
  BlockReader reader(block_of(writer.finish(0)));
  EXPECT_TRUE(reader.next());
  EXPECT_FALSE(reader.next());
}

TEST(Block, HugeAndTinyLengthsAreRefused) {
  std::array<std::byte, kHeadBytes> head{};
  RecordHeader header;
  const auto refused = [&] {
    std::memcpy(head.data(), &header, sizeof header);
    return !read_header(head).has_value();
  };
  header.block_bytes.set(kMinBlockBytes);
  EXPECT_FALSE(refused());
  header.block_bytes.set(kMinBlockBytes - 1);
  EXPECT_TRUE(refused());
  header.block_bytes.set(kMaxBlockBytes + 1);
  EXPECT_TRUE(refused());
  header.block_bytes.set(0xFFFF'FFFF);
  EXPECT_TRUE(refused());
  header.block_bytes.set(kMaxBlockBytes);
  header.direct_bytes.set(kMaxDirectBytes + 1);
  EXPECT_TRUE(refused());
  header.direct_bytes.set(kMaxDirectBytes);
  EXPECT_FALSE(refused());
  header.reserved.set(1);
  EXPECT_TRUE(refused());
}

TEST(Block, FramesThatDoNotFitAreBroken) {
  std::vector<std::byte> block(96);
  const auto breaks = [&](std::uint16_t length, std::uint8_t kind, std::uint8_t reserved) {
    FrameHeader header;
    header.length.set(length);
    header.kind.set(kind);
    header.reserved.set(reserved);
    std::memcpy(block.data(), &header, sizeof header);
    BlockReader reader(block);
    while (reader.next()) continue;
    return reader.broken();
  };
  EXPECT_FALSE(breaks(96, 2, 0));
  EXPECT_FALSE(breaks(4, 2, 0));
  EXPECT_TRUE(breaks(97, 2, 0));
  EXPECT_TRUE(breaks(3, 2, 0));
  EXPECT_TRUE(breaks(0, 2, 0));
  EXPECT_TRUE(breaks(0xFFFF, 2, 0));
  EXPECT_TRUE(breaks(96, 2, 1));
  EXPECT_TRUE(breaks(1, 0, 0)) << "padding is zeros";
  EXPECT_FALSE(breaks(0, 0, 0));
}

TEST(Block, AFrameShorterThanItsKindIsNotRead) {
  std::vector<std::byte> block(96);
  FrameHeader header;
  header.length.set(sizeof(Ack) - 1);
  header.kind.set(static_cast<std::uint8_t>(FrameKind::kAck));
  std::memcpy(block.data(), &header, sizeof header);
  BlockReader reader(block);
  const auto frame = reader.next();
  ASSERT_TRUE(frame);
  EXPECT_FALSE(frame->as<Ack>());
}

}  // namespace
}  // namespace paravane::wire
