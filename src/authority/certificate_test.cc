#include "authority/certificate.h"

#include <gtest/gtest.h>

namespace paravane::authority {
namespace {

const Identity kHost{"00112233445566778899aabbccddeeff", "h1"};
const Seconds kNow{std::chrono::seconds(1'800'000'000)};

Grant grant() {
  return {.identity = kHost,
          .address = {},
          .from = kNow - std::chrono::hours(1),
          .until = kNow + std::chrono::hours(24)};
}

TEST(Certificate, TheAuthoritySignsForAHost) {
  const auto authority = make_authority(kHost.cluster, kNow);
  const auto request = make_request();
  ASSERT_TRUE(authority && request);
  const auto certificate = sign(*authority, request->certificate, grant());
  ASSERT_TRUE(certificate);
  const auto seen = inspect(*certificate);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->identity, kHost);
  EXPECT_EQ(seen->until, grant().until);
  EXPECT_TRUE(is_signed_by(*certificate, authority->certificate, kNow));
}

TEST(Certificate, IsOfNoUseOutsideItsTimeOrToAnotherAuthority) {
  const auto authority = make_authority(kHost.cluster, kNow);
  const auto other = make_authority(kHost.cluster, kNow);
  const auto request = make_request();
  const auto certificate = sign(*authority, request->certificate, grant());
  ASSERT_TRUE(certificate);
  EXPECT_FALSE(is_signed_by(*certificate, other->certificate, kNow));
  EXPECT_FALSE(
      is_signed_by(*certificate, authority->certificate, grant().until + std::chrono::seconds(1)));
  EXPECT_FALSE(
      is_signed_by(*certificate, authority->certificate, grant().from - std::chrono::seconds(1)));
  EXPECT_FALSE(is_signed_by(*certificate, *certificate, kNow));
}

TEST(Certificate, TheAuthorityIsNoHost) {
  const auto authority = make_authority(kHost.cluster, kNow);
  const auto seen = inspect(authority->certificate);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->identity, std::nullopt);
  EXPECT_EQ(seen->fingerprint.size(), 64U);
}

TEST(Certificate, WhatIsNoRequestIsNotSigned) {
  const auto authority = make_authority(kHost.cluster, kNow);
  const auto request = make_request();
  std::string forged = request->certificate;  // its signature is not right now
  const std::size_t middle = forged.size() - 60;
  forged[middle] = forged[middle] == 'A' ? 'B' : 'A';
  for (const std::string& text : {std::string(), std::string("x"), authority->certificate,
                                  request->key, forged, std::string(kMaxPem + 1, 'x')}) {
    const auto certificate = sign(*authority, text, grant());
    ASSERT_FALSE(certificate) << text;
    EXPECT_EQ(certificate.error().code, Errc::kInvalidArgument);
  }
}

TEST(Certificate, SecretsDifferAndAreCompared) {
  const auto a = make_secret(32);
  const auto b = make_secret(32);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->size(), 64U);
  EXPECT_FALSE(equal_secrets(*a, *b));
  EXPECT_TRUE(equal_secrets(*a, std::string(*a)));
  EXPECT_FALSE(equal_secrets(*a, a->substr(1)));
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Identity, IsAnUriAndNothingElse) {
  EXPECT_EQ(print_identity(kHost), "paravane://00112233445566778899aabbccddeeff/host/h1");
  EXPECT_EQ(parse_identity(print_identity(kHost)), kHost);
  for (const char* uri :
       {"", "paravane://", "paravane://00112233445566778899aabbccddeeff/host/",
        "paravane://00112233445566778899aabbccddeeff/host/a/b",
        "paravane://00112233445566778899AABBCCDDEEFF/host/a", "paravane://0011/host/a",
        "http://00112233445566778899aabbccddeeff/host/a"}) {
    EXPECT_EQ(parse_identity(uri), std::nullopt) << uri;
  }
}

}  // namespace
}  // namespace paravane::authority
