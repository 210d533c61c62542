#include "authority/damage_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "authority/certificate.h"

namespace paravane::authority {
namespace {

using testing::HasSubstr;

class DamageCheckTest : public testing::Test {
 protected:
  const KeyPair authority_ = *make_authority("00112233445566778899aabbccddeeff", wall_clock());
  const KeyPair other_ = *make_authority("00112233445566778899aabbccddeeff", wall_clock());
};

TEST_F(DamageCheckTest, AKeyIsThatOfItsCertificate) {
  EXPECT_TRUE(check_key(authority_.key, authority_.certificate));
  const std::string both = authority_.key + authority_.certificate;
  EXPECT_TRUE(check_key(both, both));
  EXPECT_THAT(check_key(other_.key, authority_.certificate).error().message,
              HasSubstr("does not match the certificate"));
}

TEST_F(DamageCheckTest, AKeyThatIsEmptyOrCutIsNone) {
  EXPECT_THAT(check_key("", authority_.certificate).error().message,
              HasSubstr("no readable private key"));
  const std::string half = authority_.key.substr(0, authority_.key.size() / 2);
  EXPECT_FALSE(check_key(half, authority_.certificate));
  EXPECT_THAT(check_key(authority_.key, "").error().message,
              HasSubstr("certificate of the private key cannot be read"));
}

// Also of the half of it that no other certificate shows.
TEST_F(DamageCheckTest, AKeyWithAnyBitFlippedIsNotGoodOrTheSame) {
  int good = 0;
  for (std::size_t i = 0; i < authority_.key.size(); ++i) {
    std::string flipped = authority_.key;
    flipped[i] ^= 1;
    if (check_key(flipped, authority_.certificate)) ++good;
  }
  // Line ends, dashes and what base64 leaves unused.
  EXPECT_LT(good, 16);
}

TEST_F(DamageCheckTest, ACertificateIsAsItWasSigned) {
  EXPECT_TRUE(check_signature(authority_.certificate, authority_.certificate));
  EXPECT_THAT(check_signature(authority_.certificate, other_.certificate).error().message,
              HasSubstr("the authority's signature on the certificate is not valid"));
  EXPECT_FALSE(check_signature("", authority_.certificate));
  EXPECT_FALSE(check_signature(authority_.certificate, ""));
}

// Whether it is in force is asked elsewhere: a wrong clock damages nothing.
TEST_F(DamageCheckTest, ACertificateOfLaterIsWhole) {
  const auto request = make_request();
  const auto later = sign(authority_, request->certificate,
                          {.identity = {"00112233445566778899aabbccddeeff", "h1"},
                           .address = {},
                           .from = wall_clock() + std::chrono::hours(1),
                           .until = wall_clock() + std::chrono::hours(2)});
  EXPECT_TRUE(check_signature(*later, authority_.certificate));
  EXPECT_TRUE(check_key(request->key, *later));
}

}  // namespace
}  // namespace paravane::authority
