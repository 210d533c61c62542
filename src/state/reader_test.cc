#include "state/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "state/writer.h"

namespace paravane::state {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Tag kFirst{1};
constexpr Tag kSecond{2};
constexpr Tag kThird{3};
constexpr Tag kGroup{4};
constexpr Tag kExtra{kMayBeSkipped | 2};
constexpr Tag kLastExtra{kMayBeSkipped | 9};

enum class Colour : std::uint8_t { kRed, kBlue, kGreen };

class ReaderTest : public testing::Test {
 protected:
  Reader reader() {
    bytes_ = writer_.take();
    return {bytes_, loading_};
  }
  std::string why() const { return loading_.good() ? "" : loading_.status().error().message; }

  Writer writer_;
  std::vector<std::byte> bytes_;
  Loading loading_;
};

TEST_F(ReaderTest, WhatIsWrittenIsRead) {
  const std::array some{std::byte{7}, std::byte{0}};
  writer_.number(kFirst, 0x1'0000'0001);
  writer_.flag(kSecond, true);
  writer_.choice(kThird, Colour::kBlue);
  {
    const Writer::Group group(writer_, kGroup);
    writer_.bytes(kFirst, some);
    writer_.number(kSecond, 0);
  }
  Reader in = reader();
  EXPECT_EQ(in.number(kFirst), 0x1'0000'0001U);
  EXPECT_TRUE(in.flag(kSecond));
  EXPECT_EQ(in.choice(kThird, Colour::kGreen), Colour::kBlue);
  Reader group = in.group(kGroup);
  std::array<std::byte, 2> read{};
  group.bytes_into(kFirst, read);
  EXPECT_EQ(read, some);
  EXPECT_EQ(group.number(kSecond), 0U);
  group.end();
  in.end();
  EXPECT_EQ(why(), "");
}

TEST_F(ReaderTest, ExtremesOfNumbers) {
  const std::vector<std::uint64_t> extremes = {
      0, 1, 0xFF, 0x100, 0xFF00, std::numeric_limits<std::uint64_t>::max()};
  for (const std::uint64_t value : extremes) writer_.number(kFirst, value);
  Reader in = reader();
  for (const std::uint64_t value : extremes) EXPECT_EQ(in.number(kFirst), value);
  in.end();
  EXPECT_EQ(why(), "");
}

TEST_F(ReaderTest, AListHasAsManyAsThereAre) {
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Writer::Group one(writer_, kSecond);
    writer_.number(kFirst, i);
  }
  writer_.number(kThird, 5);
  Reader in = reader();
  std::vector<std::uint64_t> found;
  while (auto one = in.group_if(kSecond)) {
    found.push_back(one->number(kFirst));
    one->end();
  }
  EXPECT_THAT(found, ElementsAre(0, 1, 2));
  EXPECT_EQ(in.number(kThird), 5U);
  EXPECT_EQ(why(), "");
}

TEST_F(ReaderTest, WhatMayBeMissingIsNotRefused) {
  writer_.number(kThird, 5);
  Reader in = reader();
  EXPECT_EQ(in.number_if(kFirst), std::nullopt);
  EXPECT_FALSE(in.group_if(kSecond).has_value());
  EXPECT_EQ(in.number_if(kThird, 5), 5U);
  EXPECT_EQ(why(), "");
}

TEST_F(ReaderTest, AnUnknownRecordThatMayBeSkippedIsPassed) {
  writer_.number(kFirst, 1);
  writer_.number(kExtra, 2);
  writer_.number(kSecond, 5);  // in the same place
  writer_.number(kThird, 3);
  writer_.number(kLastExtra, 4);
  Reader in = reader();
  EXPECT_EQ(in.number(kFirst), 1U);
  EXPECT_EQ(in.number(kSecond), 5U);
  EXPECT_EQ(in.number(kThird), 3U);
  in.end();
  EXPECT_EQ(why(), "");
}

TEST_F(ReaderTest, AnotherUnknownRecordIsRefusedByItsTags) {
  {
    const Writer::Group group(writer_, kGroup);
    writer_.number(kSecond, 2);
    writer_.number(kThird, 3);
  }
  Reader in = reader();
  Reader group = in.group(kGroup);
  EXPECT_EQ(group.number(kThird), 0U);
  EXPECT_THAT(why(), HasSubstr("4.2: is not known to this release"));
}

TEST_F(ReaderTest, AnUnknownRecordAtTheEndIsRefused) {
  writer_.number(kFirst, 2);
  writer_.number(kThird, 3);
  Reader in = reader();
  in.number(kFirst);
  EXPECT_EQ(why(), "");
  in.end();
  EXPECT_THAT(why(), HasSubstr("3: is not known to this release"));
}

TEST_F(ReaderTest, WhatIsMissingIsRefused) {
  writer_.number(kThird, 3);
  Reader in = reader();
  EXPECT_EQ(in.number(kSecond), 0U);
  EXPECT_THAT(why(), HasSubstr("2: is missing"));
}

TEST_F(ReaderTest, ABoundIsKept) {
  writer_.number(kFirst, 6);
  Reader in = reader();
  EXPECT_EQ(in.number(kFirst, 5), 0U);
  EXPECT_THAT(why(), HasSubstr("1: 6 is above 5"));
}

TEST_F(ReaderTest, AChoiceIsOneOfThose) {
  writer_.number(kFirst, 3);
  Reader in = reader();
  EXPECT_EQ(in.choice(kFirst, Colour::kGreen), Colour::kRed);
  EXPECT_FALSE(loading_.good());
}

TEST_F(ReaderTest, NumbersHaveOneForm) {
  const std::array long_one{std::byte{7}, std::byte{0}};
  writer_.bytes(kFirst, long_one);
  Reader in = reader();
  EXPECT_EQ(in.number(kFirst), 0U);
  EXPECT_THAT(why(), HasSubstr("1: not a number"));
}

TEST_F(ReaderTest, NumbersHaveEightBytesAtMost) {
  std::array<std::byte, 9> nine{};
  nine.back() = std::byte{1};
  writer_.bytes(kFirst, nine);
  Reader in = reader();
  EXPECT_EQ(in.number(kFirst), 0U);
  EXPECT_THAT(why(), HasSubstr("1: not a number"));
}

TEST_F(ReaderTest, TooManyBytesAreRefused) {
  const std::array<std::byte, 3> three{};
  writer_.bytes(kFirst, three);
  writer_.bytes(kSecond, three);
  Reader in = reader();
  EXPECT_EQ(in.bytes(kFirst, 3).size(), 3U);
  EXPECT_TRUE(in.bytes(kSecond, 2).empty());
  EXPECT_THAT(why(), HasSubstr("2: 3 bytes are more than 2"));
}

TEST_F(ReaderTest, AnotherNumberOfBytesIsRefused) {
  const std::array three{std::byte{1}, std::byte{2}, std::byte{3}};
  writer_.bytes(kFirst, three);
  Reader in = reader();
  std::array two{std::byte{9}, std::byte{9}};
  in.bytes_into(kFirst, two);
  EXPECT_EQ(two[0], std::byte{0});
  EXPECT_THAT(why(), HasSubstr("1: 3 bytes instead of 2"));
}

TEST_F(ReaderTest, ValuesOfOneSizeAreAList) {
  const std::vector<Le32> values{Le32(7), Le32(0), Le32(9)};
  writer_.list(kFirst, values);
  writer_.list(kSecond, values);
  writer_.bytes(kThird, std::array<std::byte, 5>{});
  Reader in = reader();
  EXPECT_EQ(in.list<Le32>(kFirst, 3), values);
  EXPECT_EQ(why(), "");
  Reader another = in;
  EXPECT_TRUE(in.list<Le32>(kSecond, 2).empty());
  EXPECT_THAT(why(), HasSubstr("2: 12 bytes are more than 8"));
  loading_ = {};
  EXPECT_EQ(another.list<Le32>(kSecond, 3), values);
  EXPECT_TRUE(another.list<Le32>(kThird, 3).empty());
  EXPECT_THAT(why(), HasSubstr("3: no list"));
}

TEST_F(ReaderTest, WhatIsCutIsRefused) {
  writer_.number(kFirst, 0x1234);
  const std::vector<std::byte> whole = writer_.take();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    Loading loading;
    Reader in{std::span(whole).first(size), loading};
    in.number(kFirst);
    EXPECT_FALSE(loading.good()) << size;
  }
}

TEST_F(ReaderTest, GroupsAreNotEndlesslyDeep) {
  const auto nest = [this](const auto& self, std::uint32_t depth) -> void {
    if (depth == 0) return writer_.number(kFirst, 1);
    const Writer::Group group(writer_, kGroup);
    self(self, depth - 1);
  };
  nest(nest, kMostDepth + 1);
  Reader in = reader();
  for (std::uint32_t i = 0; i < kMostDepth; ++i) in = in.group(kGroup);
  EXPECT_EQ(why(), "");
  in.group(kGroup);
  EXPECT_THAT(why(), HasSubstr("too many groups in groups"));
}

// The first word is the one that is told, and nothing is read any more.
TEST_F(ReaderTest, AfterARefusalAllIsZero) {
  writer_.number(kFirst, 1);
  for (int i = 0; i < 3; ++i) const Writer::Group one(writer_, kSecond);
  Reader in = reader();
  in.refuse("no such handle");
  in.refuse("another");
  EXPECT_EQ(in.number(kFirst), 0U);
  EXPECT_FALSE(in.group_if(kSecond).has_value());
  EXPECT_EQ(why(), "the state is refused: no such handle");
}

}  // namespace
}  // namespace paravane::state
