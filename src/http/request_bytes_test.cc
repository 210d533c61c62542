#include "http/request_bytes.h"

#include <gtest/gtest.h>

#include <string>

#include "api/api_handler.h"

namespace paravane::http {
namespace {

std::string post(std::size_t length) {
  return "POST /v1/vms HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(length) +
         "\r\n\r\n";
}

TEST(RequestBytesTest, RequestWithoutABodyIsWholeWithItsEmptyLine) {
  RequestBytes bytes;
  const std::string request = "GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n";
  for (std::size_t i = 0; i + 1 < request.size(); ++i) {
    EXPECT_FALSE(bytes.add(request.substr(i, 1))) << i;
  }
  EXPECT_TRUE(bytes.add("\n"));
  EXPECT_EQ(bytes.take(), request);
}

TEST(RequestBytesTest, BodyIsWaitedFor) {
  RequestBytes bytes;
  EXPECT_FALSE(bytes.add(post(5)));
  EXPECT_FALSE(bytes.add("1234"));
  EXPECT_TRUE(bytes.add("5"));
  EXPECT_EQ(bytes.take(), post(5) + "12345");
}

TEST(RequestBytesTest, NameOfTheHeaderMayBeWrittenInAnyCase) {
  RequestBytes bytes;
  EXPECT_FALSE(bytes.add("POST / HTTP/1.1\r\ncOnTeNt-LENGTH:\t 3\r\n\r\n12"));
  EXPECT_TRUE(bytes.add("3"));
}

TEST(RequestBytesTest, HeadersThatLookAlikeSayNothing) {
  RequestBytes bytes;
  EXPECT_TRUE(bytes.add("POST / HTTP/1.1\r\nX-Content-Length: 9\r\n\r\n"));
}

TEST(RequestBytesTest, LargestBodyIsWaitedForAndNoneAboveIt) {
  RequestBytes largest;
  EXPECT_FALSE(largest.add(post(api::kMaxApiBody)));
  EXPECT_FALSE(largest.add(std::string(api::kMaxApiBody - 1, ' ')));
  EXPECT_TRUE(largest.add(" "));
  RequestBytes larger;
  EXPECT_TRUE(larger.add(post(api::kMaxApiBody + 1)));
}

TEST(RequestBytesTest, ABackupMayBeLarger) {
  RequestBytes bytes;
  EXPECT_FALSE(bytes.add("POST /v1/cluster/restore?x HTTP/1.1\r\nContent-Length: " +
                         std::to_string(api::kMaxBackupBody) + "\r\n\r\n"));
  RequestBytes larger;
  EXPECT_TRUE(larger.add("POST /v1/cluster/restore HTTP/1.1\r\nContent-Length: " +
                         std::to_string(api::kMaxBackupBody + 1) + "\r\n\r\n"));
}

TEST(RequestBytesTest, LengthThatIsNoneIsNotWaitedFor) {
  for (const char* length : {"", "-1", "x", "18446744073709551616", "\r\n"}) {
    RequestBytes bytes;
    EXPECT_TRUE(bytes.add("POST / HTTP/1.1\r\nContent-Length: " + std::string(length) + "\r\n\r\n"))
        << length;
  }
}

TEST(RequestBytesTest, HeadWithoutAnEndIsNotWaitedForAboveItsLimit) {
  RequestBytes bytes;
  EXPECT_FALSE(bytes.add(std::string(RequestBytes::kMaxHead, 'x')));
  EXPECT_TRUE(bytes.add("x"));
}

}  // namespace
}  // namespace paravane::http
