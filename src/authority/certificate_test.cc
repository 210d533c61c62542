#include "authority/certificate.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

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

TEST(Authority, IsInForceForClocksThatWereSetBackSinceItWasMade) {
  const auto authority = make_authority(kHost.cluster, kNow + std::chrono::hours(24 * 200));
  ASSERT_TRUE(authority);
  const auto request = make_request();
  const auto certificate = sign(*authority, request->certificate, grant());
  ASSERT_TRUE(certificate);
  EXPECT_TRUE(is_signed_by(*certificate, authority->certificate, kNow));
}

TEST(Authority, SignsForAKeyThatThereIsAlready) {
  const auto authority = make_authority(kHost.cluster, kNow);
  const auto first = make_request();
  const auto before = sign(*authority, first->certificate, grant());
  const auto again = make_request_with(*before + first->key);
  ASSERT_TRUE(again);
  EXPECT_EQ(inspect(*sign(*authority, again->certificate, grant()))->key, inspect(*before)->key);
  EXPECT_EQ(make_request_with(*before).error().code, Errc::kInvalidArgument);
}

TEST(Authority, IsNotMadeByAClockThatIsFarBehind) {
  EXPECT_FALSE(make_authority(kHost.cluster, kAuthoritySince - std::chrono::seconds(1)));
  EXPECT_TRUE(make_authority(kHost.cluster, kAuthoritySince));
}

// A self-signed certificate with these alternative names.
std::string certificate_of(const std::string& names) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(X509_new(), X509_free);
  X509_set_pubkey(certificate.get(), key.get());
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  const std::unique_ptr<X509_EXTENSION, void (*)(X509_EXTENSION*)> extension(
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str()),
      X509_EXTENSION_free);
  EXPECT_EQ(X509_add_ext(certificate.get(), extension.get(), -1), 1);
  EXPECT_GT(X509_sign(certificate.get(), key.get(), EVP_sha256()), 0);
  const std::unique_ptr<BIO, int (*)(BIO*)> text(BIO_new(BIO_s_mem()), BIO_free);
  EXPECT_EQ(PEM_write_bio_X509(text.get(), certificate.get()), 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  return {data, static_cast<std::size_t>(size)};
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
  EXPECT_EQ(seen->valid.until, grant().until);
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

TEST(Certificate, TheKeyIsTheSameInEveryCertificateOfIt) {
  const auto authority = make_authority(kHost.cluster, kNow);
  const auto request = make_request();
  const auto one = inspect(*sign(*authority, request->certificate, grant()));
  const auto same = inspect(*sign(*authority, request->certificate, grant()));
  const auto other = inspect(*sign(*authority, make_request()->certificate, grant()));
  ASSERT_TRUE(one && same && other);
  EXPECT_EQ(one->key.size(), 64U);
  EXPECT_EQ(one->key, same->key);
  EXPECT_NE(one->fingerprint, same->fingerprint);
  EXPECT_NE(one->key, other->key);
}

TEST(Certificate, TheAuthorityIsNoHost) {
  const auto authority = make_authority(kHost.cluster, kNow);
  const auto seen = inspect(authority->certificate);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->identity, std::nullopt);
  EXPECT_EQ(seen->fingerprint.size(), 64U);
}

// Whoever reads the other one would take it for another host.
TEST(Certificate, OfTwoNamesNeitherCounts) {
  const std::string own = "URI:" + print_identity(kHost);
  EXPECT_EQ(inspect(certificate_of(own))->identity, kHost);
  for (const std::string& names :
       {own + "," + own, own + ",URI:" + print_identity({kHost.cluster, "h2"}),
        own + ",URI:https://example.com", "URI:https://example.com," + own}) {
    const auto seen = inspect(certificate_of(names));
    ASSERT_TRUE(seen) << names;
    EXPECT_EQ(seen->identity, std::nullopt) << names;
  }
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
