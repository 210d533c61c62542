#include "text/erf.h"

#include <gtest/gtest.h>

#include <string>

namespace paravane::text::erf {
namespace {

std::string hex_of(const InfinibandRecord& record) {
  std::string text;
  for (const std::byte byte : header_of(record)) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[static_cast<unsigned>(byte) >> 4];
    text += kDigits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

TEST(ErfTest, AHeaderStandsBeforeTheKeptBytes) {
  EXPECT_EQ(
      hex_of({.timestamp_ns = 1'700'000'000'500'000'000, .kept_bytes = 0x64, .wire_bytes = 0x122}),
      "00000080"  // half a second
      "00f15365"
      "15"
      "04"
      "0074"
      "0000"
      "0122");
}

// The last nanosecond of a second does not become the next second.
TEST(ErfTest, TimesAreFractionsOfSeconds) {
  EXPECT_EQ(hex_of({.timestamp_ns = 2'999'999'999}).substr(0, 16), "fbffffff02000000");
  EXPECT_EQ(hex_of({.timestamp_ns = 3'000'000'000}).substr(0, 16), "0000000003000000");
}

}  // namespace
}  // namespace paravane::text::erf
