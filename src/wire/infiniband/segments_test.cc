#include "wire/infiniband/segments.h"

#include <gtest/gtest.h>

namespace paravane::wire::infiniband {
namespace {

// The numbers of Linux's ib_mad.h: IB_MGMT_SA_HDR and its like.
TEST(SegmentsTest, DataBeginsBehindTheHeaderOfTheClass) {
  EXPECT_EQ(data_offset(0x03), 56u);
  for (const int with_long_header : {0x06, 0x10, 0x12}) {
    EXPECT_EQ(data_offset(static_cast<std::uint8_t>(with_long_header)), 64u);
  }
  EXPECT_EQ(data_offset(0x30), 40u);
  EXPECT_EQ(data_offset(0x4F), 40u);
  for (const int without : {0x01, 0x04, 0x05, 0x07, 0x09, 0x11, 0x2F, 0x50, 0x81}) {
    EXPECT_FALSE(uses_segments(static_cast<std::uint8_t>(without))) << without;
    EXPECT_EQ(data_offset(static_cast<std::uint8_t>(without)), 24u);
  }
}

TEST(SegmentsTest, AMadHasASegmentForEachShareOfItsDataAndAtLeastOne) {
  const SegmentShape shape(0x03);
  EXPECT_EQ(shape.class_header, 20u);
  EXPECT_EQ(shape.segments(56), 1u);
  EXPECT_EQ(shape.segments(57), 1u);
  EXPECT_EQ(shape.segments(256), 1u);
  EXPECT_EQ(shape.segments(257), 2u);
  EXPECT_EQ(shape.segments(456), 2u);
  EXPECT_EQ(shape.segments(457), 3u);
}

TEST(SegmentsTest, OnlyAnActiveMadOfSuchAClassIsASegment) {
  MadBytes mad{};
  EXPECT_FALSE(is_segment(mad));
  mad[1] = std::byte{0x03};
  EXPECT_FALSE(is_segment(mad));
  mad[26] = std::byte{0xFE};
  EXPECT_FALSE(is_segment(mad));
  mad[26] = std::byte{0x01};
  EXPECT_TRUE(is_segment(mad));
  mad[1] = std::byte{0x04};
  EXPECT_FALSE(is_segment(mad));
}

TEST(SegmentsTest, AnAnswerHasTheHeadersOfItsSegmentAndNoData) {
  MadBytes mad;
  mad.fill(std::byte{0x55});
  mad[1] = std::byte{0x30};
  mad[3] = std::byte{0x92};
  mad[26] = std::byte{0xF3};  // response time 30, first
  const MadBytes answer = answer_to_segment(mad, SegmentType::kAbort, 127, 5, 6);
  EXPECT_EQ(answer[3], std::byte{0x12});
  EXPECT_EQ(answer[24], std::byte{1});
  EXPECT_EQ(answer[25], std::byte{4});
  EXPECT_EQ(answer[26], std::byte{0xF1});
  EXPECT_EQ(answer[27], std::byte{127});
  EXPECT_EQ(answer[31], std::byte{5});
  EXPECT_EQ(answer[35], std::byte{6});
  EXPECT_EQ(answer[39], std::byte{0x55});
  for (std::size_t i = 40; i < kMadBytes; ++i) EXPECT_EQ(answer[i], std::byte{0}) << i;
}

}  // namespace
}  // namespace paravane::wire::infiniband
