#include "base/base64.h"

#include <gtest/gtest.h>

namespace paravane {
namespace {

TEST(Base64, MakesTheTextsOfTheStandard) {
  EXPECT_EQ(base64_encode(""), "");
  EXPECT_EQ(base64_encode("f"), "Zg==");
  EXPECT_EQ(base64_encode("fo"), "Zm8=");
  EXPECT_EQ(base64_encode("foo"), "Zm9v");
  EXPECT_EQ(base64_encode("foobar"), "Zm9vYmFy");
}

TEST(Base64, GivesEveryByteBack) {
  std::string bytes;
  for (int value = 0; value < 256; ++value) {
    bytes += static_cast<char>(value);
    EXPECT_EQ(base64_decode(base64_encode(bytes)), bytes);
  }
}

TEST(Base64, RefusesWhatItDoesNotMake) {
  EXPECT_EQ(base64_decode(""), "");
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zg= =", "=Zg=", "Zg==Zg==", "Zh==", "Zm9=", "Zm9v\n", "====", "Z-=="}) {
    EXPECT_EQ(base64_decode(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace paravane
