#include "state/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace paravane::state {
namespace {

using testing::HasSubstr;

const std::vector<std::byte> kState(300, std::byte{5});

std::string why_not(std::span<const std::byte> image) {
  const auto opened = open_image(image);
  return opened ? "" : opened.error().message;
}

TEST(StateImage, WhatIsMadeIsOpened) {
  const auto image = make_image(kState);
  ASSERT_TRUE(image);
  const auto opened = open_image(*image);
  ASSERT_TRUE(opened);
  EXPECT_TRUE(std::ranges::equal(*opened, kState));
}

TEST(StateImage, AnEmptyStateIsAState) {
  const auto image = make_image({});
  ASSERT_TRUE(image);
  const auto opened = open_image(*image);
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->empty());
}

TEST(StateImage, EachChangedByteIsNoticed) {
  std::vector<std::byte> image = *make_image(kState);
  for (std::size_t at = 0; at < image.size(); ++at) {
    image[at] ^= std::byte{0x10};
    EXPECT_NE(why_not(image), "") << at;
    image[at] ^= std::byte{0x10};
  }
  EXPECT_EQ(why_not(image), "");
}

TEST(StateImage, EachOtherLengthIsNoticed) {
  std::vector<std::byte> image = *make_image(kState);
  for (std::size_t size = 0; size < image.size(); ++size) {
    EXPECT_NE(why_not(std::span(image).first(size)), "") << size;
  }
  image.push_back(std::byte{0});
  EXPECT_THAT(why_not(image), HasSubstr("another length"));
}

TEST(StateImage, AnotherFormatIsNamed) {
  std::vector<std::byte> image = *make_image(kState);
  image[8] = std::byte{2};
  EXPECT_THAT(why_not(image), HasSubstr("the format is 2, and this release reads 1"));
}

}  // namespace
}  // namespace paravane::state
