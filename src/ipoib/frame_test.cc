#include "ipoib/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "ipoib/packet_test.h"

namespace paravane::ipoib {
namespace {

constexpr std::string_view kPlainFrame = "ffffffffffff 025056000001 0806 aabbcc";
// Priority 5, may be dropped, VLAN 0x123.
constexpr std::string_view kTaggedFrame = "020000480007 025056000001 8100 b123 86dd aabbcc";

FrameRefusal frame_refusal(std::string_view text) {
  const auto read = read_frame(bytes_of(text));
  EXPECT_FALSE(read.has_value());
  return read ? FrameRefusal{0xFF} : read.error();
}

TEST(IpoibFrameTest, PlainFrame) {
  const Bytes bytes = bytes_of(kPlainFrame);
  const auto frame = read_frame(bytes);
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->destination, (MacBytes{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}));
  EXPECT_EQ(frame->source, (MacBytes{0x02, 0x50, 0x56, 0, 0, 1}));
  EXPECT_EQ(frame->vlan, std::nullopt);
  EXPECT_EQ(frame->type, 0x0806);
  EXPECT_EQ(hex_of(frame->payload), "aabbcc");
}

TEST(IpoibFrameTest, TaggedFrame) {
  const Bytes bytes = bytes_of(kTaggedFrame);
  const auto frame = read_frame(bytes);
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->vlan, (Vlan{.number = 0x123, .priority = 5, .may_be_dropped = true}));
  EXPECT_EQ(frame->type, 0x86DD);
  EXPECT_EQ(hex_of(frame->payload), "aabbcc");
}

TEST(IpoibFrameTest, WhatIsReadIsWrittenTheSame) {
  for (const std::string_view text :
       {kPlainFrame, kTaggedFrame, std::string_view("020000480007 025056000001 0800"),
        std::string_view("020000480007 025056000001 8100 0000 0800 01"),
        std::string_view("020000480007 025056000001 8100 effe 0800 01")}) {
    const Bytes bytes = bytes_of(text);
    const auto frame = read_frame(bytes);
    ASSERT_TRUE(frame.has_value()) << text;
    Bytes written(99, std::byte{0xEE});
    write_frame(*frame, written);
    EXPECT_EQ(hex_of(written), plain_hex(text));
  }
}

TEST(IpoibFrameTest, AFrameThatEndsWithinItsHeadersIsRefused) {
  for (const std::string_view text : {kPlainFrame, kTaggedFrame}) {
    const std::string hex = plain_hex(text);
    const std::size_t headers = hex.size() / 2 - 3;
    for (std::size_t size = 0; size < headers; ++size) {
      EXPECT_EQ(frame_refusal(hex.substr(0, size * 2)), FrameRefusal::kShort) << size;
    }
    EXPECT_TRUE(read_frame(bytes_of(hex.substr(0, headers * 2))).has_value());
  }
}

TEST(IpoibFrameTest, ASecondTagIsRefused) {
  EXPECT_EQ(frame_refusal("020000480007 025056000001 8100 0001 8100 0002 0800 00"),
            FrameRefusal::kTags);
  EXPECT_EQ(frame_refusal("020000480007 025056000001 8100 0001 88a8 0002 0800 00"),
            FrameRefusal::kTags);
}

TEST(IpoibFrameTest, ATagOfAProviderIsRefused) {
  EXPECT_EQ(frame_refusal("020000480007 025056000001 88a8 0001 0800 00"), FrameRefusal::kTags);
  EXPECT_EQ(frame_refusal("020000480007 025056000001 9100 0001 0800 00"), FrameRefusal::kTags);
}

TEST(IpoibFrameTest, TheReservedVlanIsRefused) {
  EXPECT_EQ(frame_refusal("020000480007 025056000001 8100 0fff 0800 00"), FrameRefusal::kVlan);
}

TEST(IpoibFrameTest, ASourceThatIsNotOneStationIsRefused) {
  EXPECT_EQ(frame_refusal("020000480007 000000000000 0800 00"), FrameRefusal::kSource);
  EXPECT_EQ(frame_refusal("020000480007 01005e000001 0800 00"), FrameRefusal::kSource);
  EXPECT_EQ(frame_refusal("020000480007 ffffffffffff 0800 00"), FrameRefusal::kSource);
}

}  // namespace
}  // namespace paravane::ipoib
