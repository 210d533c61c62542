#include "cable/frame_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "testing/cable_pipe.h"

namespace paravane::cable {
namespace {

using testing::HasSubstr;

void give(FrameReader& reader, std::span<const std::byte> bytes) {
  const std::span<std::byte> room = reader.room();
  ASSERT_LE(bytes.size(), room.size());
  std::ranges::copy(bytes, room.begin());
  reader.arrived(bytes.size());
}

std::vector<std::byte> header_of(std::uint8_t kind, std::uint16_t length) {
  FrameHeader header{.kind = kind};
  header.length.set(length);
  const auto bytes = std::as_bytes(std::span(&header, 1));
  return {bytes.begin(), bytes.end()};
}

TEST(FrameReader, CutsBytesThatArriveOneByOne) {
  FrameReader reader;
  const std::vector<std::byte> packet(28, std::byte{7});
  for (const std::byte byte : fake::cable_frame(FrameKind::kPacket, packet, 3)) {
    EXPECT_FALSE(reader.next());
    give(reader, std::span(&byte, 1));
  }
  const auto frame = reader.next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->kind, FrameKind::kPacket);
  EXPECT_EQ(frame->cables, 3);
  EXPECT_TRUE(std::ranges::equal(frame->body, packet));
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.problem(), "");
}

TEST(FrameReader, HasRoomAgainAfterMoreBytesThanItHolds) {
  FrameReader reader;
  const std::vector<std::byte> packet(kMostFrameBytes, std::byte{1});
  const std::vector<std::byte> bytes = fake::cable_frame(FrameKind::kPacket, packet);
  for (std::size_t i = 0; i < 3 * FrameReader::kRoom / bytes.size(); ++i) {
    give(reader, bytes);
    const auto frame = reader.next();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->body.size(), packet.size());
  }
}

TEST(FrameReader, RefusesWhatNoFrameCanBe) {
  struct Bad {
    std::uint8_t kind;
    std::uint16_t length;
  };
  const auto longest = static_cast<std::uint16_t>(kMostFrameBytes);
  for (const Bad bad : {Bad{4, 0}, Bad{0xFF, 8}, Bad{0, 0}, Bad{0, 0xFFFF},
                        Bad{0, static_cast<std::uint16_t>(longest + 1)}, Bad{1, 15}, Bad{1, 17},
                        Bad{2, 1}, Bad{3, 0}, Bad{3, 2}}) {
    FrameReader reader;
    give(reader, header_of(bad.kind, bad.length));
    EXPECT_FALSE(reader.next());
    EXPECT_THAT(reader.problem(), HasSubstr("a frame of kind"));
    give(reader, fake::beat_frame());
    EXPECT_FALSE(reader.next()) << "after a problem nothing is a frame";
  }
}

}  // namespace
}  // namespace paravane::cable
