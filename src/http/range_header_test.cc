#include "http/range_header.h"

#include <gtest/gtest.h>

#include <string>

namespace paravane::http {
namespace {

TEST(RangeHeader, IsTakenOutWhereverItStandsInTheHead) {
  EXPECT_EQ(without_ranges("GET / HTTP/1.1\r\nRange: bytes=0-1\r\nHost: x\r\nrAnGe:\r\n\r\n"),
            "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
}

TEST(RangeHeader, OtherFieldsStay) {
  const std::string request =
      "GET / HTTP/1.1\r\nIf-Range: x\r\nRange : 1\r\nRanges: 2\r\nX: Range: 3\r\n\r\n";
  EXPECT_EQ(without_ranges(request), request);
}

TEST(RangeHeader, TheBodyStays) {
  const std::string request = "POST / HTTP/1.1\r\n\r\nRange: bytes=0-1\r\n\r\nRange: 2";
  EXPECT_EQ(without_ranges(request), request);
}

// The parser passes a line over that has no carriage return, and reads the next one.
TEST(RangeHeader, IsFoundBehindALineThatIsNone) {
  EXPECT_EQ(without_ranges("GET / HTTP/1.1\r\nX: y\nRange: bytes=0-1\r\n\n\r\n"),
            "GET / HTTP/1.1\r\nX: y\n\n\r\n");
}

TEST(RangeHeader, RequestsThatEndAnywhereAreNoHarm) {
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\nRange: bytes=0-1\r\n\r\n";
  for (std::size_t size = 0; size <= request.size(); ++size) {
    EXPECT_LE(without_ranges(request.substr(0, size)).size(), size);
  }
  EXPECT_EQ(without_ranges("GET / HTTP/1.1\r\nRange: bytes=0-1"), "GET / HTTP/1.1\r\n");
}

}  // namespace
}  // namespace paravane::http
