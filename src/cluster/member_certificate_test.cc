#include "cluster/member_certificate.h"

#include <gtest/gtest.h>

#include "cluster/cluster_files.h"
#include "testing/temp_dir.h"

namespace paravane::cluster {
namespace {

using std::chrono::hours;

const authority::Identity kSelf{"00112233445566778899aabbccddeeff", "a"};

authority::Seconds today() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

class MemberCertificateTest : public testing::Test {
 protected:
  Result<std::string> sign(const std::string& request, const authority::Identity& identity,
                           hours since, hours left) {
    ++signed_;
    return authority::sign(
        authority_, request,
        {.identity = identity, .address = {}, .from = today() - since, .until = today() + left});
  }
  // One that is `since` old, with `left` to go.
  MemberCertificate aged(hours since, hours left) {
    const authority::KeyPair request = *authority::make_request();
    const std::string certificate = *sign(request.certificate, kSelf, since, left);
    signed_ = 0;
    EXPECT_TRUE(write_file(file_, request.key + certificate));
    return *MemberCertificate::load(file_, kSelf);
  }
  MemberCertificate::Sign signer_of(const authority::Identity& identity) {
    return [this, identity](const std::string& request) {
      return sign(request, identity, hours(0), hours(24));
    };
  }
  Result<authority::Certificate> in_file() { return authority::inspect(*read_file(file_)); }

  TempDir directory_;
  std::filesystem::path file_ = directory_.path() / "host.pem";
  authority::KeyPair authority_ = *authority::make_authority(kSelf.cluster, today() - hours(48));
  Instant now_ = std::chrono::steady_clock::now();
  int signed_ = 0;
};

TEST_F(MemberCertificateTest, IsLeftAloneForTwoThirdsOfItsLife) {
  MemberCertificate certificate = aged(hours(15), hours(9));
  EXPECT_FALSE(certificate.look(now_, signer_of(kSelf)));
  EXPECT_EQ(signed_, 0);
  EXPECT_GT(certificate.next_look(), now_);
  // Its time is told by another clock than the one that says when to look.
  EXPECT_LE(certificate.next_look(), now_ + std::chrono::seconds(10));
}

// Signed by a clock that was 200 days ahead.
TEST_F(MemberCertificateTest, OneThatIsNotInForceYetIsRenewedAtOnce) {
  MemberCertificate certificate = aged(-hours(200 * 24), hours(290 * 24));
  EXPECT_TRUE(certificate.look(now_, signer_of(kSelf)));
  EXPECT_TRUE(certificate.valid().covers(today()));
}

TEST_F(MemberCertificateTest, OneThatIsNotInForceYetIsAskedForAgainSoon) {
  MemberCertificate certificate = aged(-hours(200 * 24), hours(290 * 24));
  const auto refuse = [](const std::string&) -> Result<std::string> {
    return fail(Errc::kIo, "away");
  };
  EXPECT_FALSE(certificate.look(now_, refuse));
  EXPECT_EQ(certificate.next_look(), now_ + std::chrono::seconds(10));
}

TEST_F(MemberCertificateTest, WhatAWrongClockHasSignedIsNotTaken) {
  for (const auto& [since, left] :
       {std::pair(-hours(1), hours(24)), std::pair(hours(24), -hours(1))}) {
    MemberCertificate certificate = aged(hours(17), hours(7));
    const std::string before = in_file()->fingerprint;
    EXPECT_FALSE(certificate.look(
        now_, [&](const std::string& request) { return sign(request, kSelf, since, left); }));
    EXPECT_EQ(in_file()->fingerprint, before);
  }
}

TEST_F(MemberCertificateTest, IsRenewedAfterThat) {
  MemberCertificate certificate = aged(hours(17), hours(7));
  const std::string before = in_file()->fingerprint;
  EXPECT_EQ(certificate.key(), in_file()->key);
  const std::string key = certificate.key();
  EXPECT_TRUE(certificate.look(now_, signer_of(kSelf)));
  EXPECT_NE(certificate.key(), key);
  EXPECT_EQ(certificate.key(), in_file()->key);
  EXPECT_GT(certificate.valid().until, today() + hours(23));
  EXPECT_NE(in_file()->fingerprint, before);
  EXPECT_FALSE(certificate.look(certificate.next_look(), signer_of(kSelf)));
  EXPECT_EQ(signed_, 1);
}

TEST_F(MemberCertificateTest, AnothersCertificateIsNotTaken) {
  MemberCertificate certificate = aged(hours(17), hours(7));
  const std::string before = in_file()->fingerprint;
  EXPECT_FALSE(certificate.look(now_, signer_of({kSelf.cluster, "b"})));
  EXPECT_EQ(in_file()->fingerprint, before);
}

TEST_F(MemberCertificateTest, ARefusalIsNoReasonToAskWithoutEnd) {
  MemberCertificate certificate = aged(hours(24), -hours(1));
  int asked = 0;
  const auto refuse = [&](const std::string&) -> Result<std::string> {
    ++asked;
    return fail(Errc::kBadState, "no");
  };
  EXPECT_FALSE(certificate.look(now_, refuse));
  EXPECT_FALSE(certificate.look(now_ + std::chrono::seconds(59), refuse));
  EXPECT_EQ(asked, 1);
  EXPECT_FALSE(certificate.look(now_ + std::chrono::seconds(60), refuse));
  EXPECT_EQ(asked, 2);
}

TEST_F(MemberCertificateTest, ADamagedFileIsSaid) {
  EXPECT_FALSE(MemberCertificate::load(file_, kSelf));
  ASSERT_TRUE(write_file(file_, "no certificate"));
  EXPECT_FALSE(MemberCertificate::load(file_, kSelf));
}

}  // namespace
}  // namespace paravane::cluster
