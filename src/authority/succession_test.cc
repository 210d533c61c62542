#include "authority/succession.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "authority/certificate.h"

namespace paravane::authority {
namespace {

const std::string kCluster(32, 'a');

class SuccessionTest : public ::testing::Test {
 protected:
  KeyPair authority_ =
      make_authority(kCluster, kAuthoritySince + std::chrono::hours(1)).value_or(KeyPair{});
  Succession one_{.keeper = {.cluster = kCluster, .host = "h2"},
                  .term = 1,
                  .door = "10.77.0.2:28249",
                  .etcd = {"https://10.77.0.2:2379"}};
};

TEST_F(SuccessionTest, IsReadAsItWasSigned) {
  const auto text = print_succession(one_, authority_.key);
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(parse_succession(*text, authority_.certificate).value_or(Succession{}), one_);
}

TEST_F(SuccessionTest, OfAnotherAuthorityIsNone) {
  const auto other = make_authority(kCluster, kAuthoritySince + std::chrono::hours(1));
  ASSERT_TRUE(other.has_value());
  const auto text = print_succession(one_, other->key);
  ASSERT_TRUE(text.has_value());
  const auto refused = parse_succession(*text, authority_.certificate);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "the proof of promotion is not signed by the cluster's authority");
}

TEST_F(SuccessionTest, WhatWasChangedIsRefused) {
  const auto text = print_succession(one_, authority_.key);
  ASSERT_TRUE(text.has_value());
  auto value = nlohmann::json::parse(*text);
  std::string inner = value["succession"];
  inner.replace(inner.find("h2"), 2, "h3");
  value["succession"] = inner;
  EXPECT_FALSE(parse_succession(value.dump(), authority_.certificate).has_value());
}

TEST_F(SuccessionTest, OddOnesAreRefused) {
  Succession odd = one_;
  odd.term = 0;
  EXPECT_FALSE(
      parse_succession(print_succession(odd, authority_.key).value_or(""), authority_.certificate)
          .has_value());
  odd = one_;
  odd.etcd.clear();
  EXPECT_FALSE(
      parse_succession(print_succession(odd, authority_.key).value_or(""), authority_.certificate)
          .has_value());
  odd = one_;
  odd.door = "somewhere";
  EXPECT_FALSE(
      parse_succession(print_succession(odd, authority_.key).value_or(""), authority_.certificate)
          .has_value());
  for (const char* text : {"", "{}", "[]", R"({"succession":"{}","signature":""})",
                           R"({"succession":1,"signature":2})"}) {
    EXPECT_FALSE(parse_succession(text, authority_.certificate).has_value()) << text;
  }
}

TEST_F(SuccessionTest, AHigherTermFollowsAndThenTheGreaterName) {
  Succession later = one_;
  later.term = 2;
  later.keeper.host = "h1";
  EXPECT_TRUE(later.follows(one_));
  EXPECT_FALSE(one_.follows(later));
  later.term = 1;
  later.keeper.host = "h3";
  EXPECT_TRUE(later.follows(one_));
  EXPECT_FALSE(one_.follows(later));
  EXPECT_FALSE(one_.follows(one_));
}

}  // namespace
}  // namespace paravane::authority
