#include "model/impairment.h"

#include <gtest/gtest.h>

namespace paravane::model {
namespace {

TEST(Impairment, ReadsShares) {
  EXPECT_EQ(parse_share("0.1%"), 1'000u);
  EXPECT_EQ(parse_share("25"), 250'000u);
  EXPECT_EQ(parse_share("0.0001%"), 1u);
  EXPECT_EQ(parse_share("100%"), kPartsPerMillion);
  EXPECT_EQ(parse_share("0"), 0u);
  for (const char* bad : {"", "%", "-1%", "100.1%", "x", "1%%", "1e1", "0.00001%", "nan", "1.2.3",
                          ".", "inf", "99999999999999999"}) {
    EXPECT_FALSE(parse_share(bad)) << bad;
  }
  EXPECT_EQ(format_share(1'000), "0.1%");
  EXPECT_EQ(format_share(0), "0%");
}

TEST(Impairment, ReadsDelays) {
  EXPECT_EQ(parse_delay_us("20us"), 20u);
  EXPECT_EQ(parse_delay_us("1.5ms"), 1'500u);
  EXPECT_EQ(parse_delay_us("10s"), kMaxImpairmentDelayUs);
  for (const char* bad :
       {"", "20", "us", "-1us", "10.1s", "0.1us", "1h", "1 s", "infs", "nanms", "1e9us"}) {
    EXPECT_FALSE(parse_delay_us(bad)) << bad;
  }
  EXPECT_EQ(format_delay(1'500), "1500us");
  EXPECT_EQ(format_delay(2'000), "2ms");
  EXPECT_EQ(format_delay(2'000'000), "2s");
}

TEST(Impairment, ReadsSeeds) {
  EXPECT_EQ(parse_seed("0"), 0u);
  EXPECT_EQ(parse_seed("18446744073709551615"), ~std::uint64_t{0});
  for (const char* bad : {"", "-1", "x", "1 ", "1.5", "18446744073709551616"}) {
    EXPECT_FALSE(parse_seed(bad)) << bad;
  }
}

TEST(Impairment, KnowsAGidInEachSpelling) {
  for (const char* peer : {"fe80::1", "FE80:0:0:0:0:0:0:1", "fe80:0000::0001"}) {
    EXPECT_EQ(canonical_peer(peer), "fe80::1") << peer;
  }
  for (const char* peer : {"10.77.0.1", "::ffff:10.77.0.1", "::FFFF:a4d:1"}) {
    EXPECT_EQ(canonical_peer(peer), "::ffff:10.77.0.1") << peer;
  }
  for (const char* peer : {"any", "db1", "10.77.0", "10.77.0.1.2", "fe80::1::2"}) {
    EXPECT_EQ(canonical_peer(peer), peer);
  }
}

TEST(Impairment, ChecksWhatItIsGiven) {
  const Impairment good{.vm = "a", .peer = "fe80::1", .loss_ppm = 1};
  EXPECT_TRUE(check_impairment(good));
  for (const char* peer : {"any", "b", "10.77.0.1"}) {
    Impairment other = good;
    other.peer = peer;
    EXPECT_TRUE(check_impairment(other)) << peer;
  }
  for (const char* peer : {"", "B", "fe80::1::2", "a/2", "1.2.3.4/24"}) {
    Impairment bad = good;
    bad.peer = peer;
    const Status refused = check_impairment(bad);
    ASSERT_FALSE(refused) << peer;
    EXPECT_NE(refused.error().message.find("\"" + bad.peer + "\""), std::string::npos);
  }
  Impairment bad = good;
  bad.vm = "A";
  EXPECT_FALSE(check_impairment(bad));
  bad = good;
  bad.rnr_ppm = kPartsPerMillion + 1;
  EXPECT_FALSE(check_impairment(bad));
  bad = good;
  bad.delay_us = kMaxImpairmentDelayUs + 1;
  EXPECT_FALSE(check_impairment(bad));
  bad = good;
  bad.loss_ppm = 0;
  EXPECT_FALSE(check_impairment(bad));
}

}  // namespace
}  // namespace paravane::model
