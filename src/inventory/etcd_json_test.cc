#include "inventory/etcd_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace paravane::inventory {
namespace {

using nlohmann::json;

TEST(EtcdJson, NumbersAreTextsOrNumbersOrNothing) {
  const json object = {
      {"text", "9223372036854775807"},  {"number", 7}, {"word", "seven"},      {"rest", "7 "},
      {"large", 18446744073709551615U}, {"real", 1.5}, {"list", json::array()}};
  EXPECT_EQ(read_int64(object, "text"), 9223372036854775807);
  EXPECT_EQ(read_int64(object, "number"), 7);
  EXPECT_EQ(read_int64(object, "absent"), 0);
  for (const char* key : {"word", "rest", "large", "real", "list"}) {
    EXPECT_FALSE(read_int64(object, key)) << key;
  }
}

TEST(EtcdJson, ReadsARange) {
  const auto range = read_range(json::parse(
      R"({"header":{"cluster_id":"1","revision":"9"},"more":true,"kvs":[{"key":"YQ==",
          "create_revision":"4","mod_revision":"5","version":"2","value":"Yg==","lease":"77"}],
          "count":"3"})"));
  ASSERT_TRUE(range);
  EXPECT_EQ(range->revision, 9);
  EXPECT_TRUE(range->more);
  ASSERT_EQ(range->pairs.size(), 1U);
  EXPECT_EQ(range->pairs[0].key, "a");
  EXPECT_EQ(range->pairs[0].value, "b");
  EXPECT_EQ(range->pairs[0].create_revision, 4);
  EXPECT_EQ(range->pairs[0].lease, 77);
}

TEST(EtcdJson, WhatIsEmptyIsLeftOut) {
  const auto range = read_range(json::parse(R"({"header":{"revision":"1"}})"));
  ASSERT_TRUE(range);
  EXPECT_TRUE(range->pairs.empty());
  EXPECT_FALSE(range->more);
}

TEST(EtcdJson, ReadsAWatch) {
  const auto answer = read_watch(json::parse(
      R"({"result":{"header":{"revision":"6"},"events":[{"kv":{"key":"YQ==","value":"Yg=="}},
          {"type":"DELETE","kv":{"key":"Yw==","mod_revision":"6"}}]}})"));
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->events.size(), 2U);
  EXPECT_FALSE(answer->events[0].deleted);
  EXPECT_TRUE(answer->events[1].deleted);
  EXPECT_EQ(answer->events[1].pair.key, "c");
}

TEST(EtcdJson, AWatchThatIsOverSaysWhy) {
  const auto gone = read_watch(json::parse(
      R"({"result":{"header":{"revision":"6"},"canceled":true,"compact_revision":"5"}})"));
  ASSERT_TRUE(gone);
  EXPECT_TRUE(gone->canceled);
  EXPECT_EQ(gone->compact_revision, 5);
  const auto failed = read_watch(json::parse(R"({"error":{"grpc_code":7,"message":"no"}})"));
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("no"), std::string::npos);
}

TEST(EtcdJson, RefusesWhatEtcdDoesNotSay) {
  for (const char* text :
       {"[]", "7", "{}", R"({"header":7})", R"({"header":{"revision":"x"}})",
        R"({"header":{"revision":"1"},"kvs":{}})", R"({"header":{"revision":"1"},"kvs":[7]})",
        R"({"header":{"revision":"1"},"kvs":[{"key":"***"}]})",
        R"({"header":{"revision":"1"},"kvs":[{"key":7}]})",
        R"({"header":{"revision":"1"},"kvs":[{"value":"YQ=="}]})"}) {
    EXPECT_FALSE(read_range(json::parse(text))) << text;
  }
  EXPECT_FALSE(read_watch(json::parse(R"({"result":{"header":{},"events":[{}]}})")));
  EXPECT_FALSE(read_watch(
      json::parse(R"({"result":{"header":{},"events":[{"type":"EAT","kv":{"key":"YQ=="}}]}})")));
}

TEST(EtcdJson, ARefusalIsPrintable) {
  const Refusal refusal = read_refusal("{\"error\":\"a\\nb\",\"code\":7}");
  EXPECT_EQ(refusal.code, 7);
  EXPECT_EQ(refusal.message, "a?b");
  EXPECT_EQ(read_refusal("<html>").code, 2);
}

TEST(EtcdJson, ThePrefixEndsBehindAllThatBeginSo) {
  EXPECT_EQ(end_of_prefix("/a/"), "/a0");
  EXPECT_LT(std::string("/a/\xFF\xFF"), end_of_prefix("/a/"));
}

}  // namespace
}  // namespace paravane::inventory
