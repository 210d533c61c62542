#include "inventory/keys.h"

#include <gtest/gtest.h>

namespace paravane::inventory {
namespace {

constexpr control::MacAddress kMac{0x02, 0x50, 0x56, 0x00, 0x00, 0x01};

TEST(Keys, AKeySaysWhoSpeaksAndOfWhat) {
  const auto info = parse_host_key("/paravane/v1/hosts/h1/info");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->host, "h1");
  EXPECT_EQ(info->kind, HostKey::Kind::kInfo);
  const auto adapter = parse_host_key(host_prefix("h1") + adapter_key({"db1", 2}));
  ASSERT_TRUE(adapter);
  EXPECT_EQ(adapter->kind, HostKey::Kind::kAdapter);
  EXPECT_EQ(adapter->adapter, (AdapterId{"db1", 2}));
  const GidId id{0x0123456789abcdef, link_local_gid(kMac), RoceType::kV1};
  const auto gid = parse_host_key(host_prefix("h1") + gid_key(id));
  ASSERT_TRUE(gid);
  EXPECT_EQ(gid->kind, HostKey::Kind::kGid);
  EXPECT_EQ(gid->gid, id);
}

TEST(Keys, TheFirstGidIsMadeFromTheMacAddress) {
  EXPECT_EQ(gid_key({0xA, link_local_gid(kMac), RoceType::kV2}),
            "gids/000000000000000a/v2/fe80000000000000005056fffe000001");
}

TEST(Keys, WhatIsNoKeyOfOursIsNothing) {
  const std::string zero(32, '0');
  const std::string group = "ff" + std::string(30, '1');
  const std::string good = "fe" + std::string(30, '1');
  const std::string gids = "/paravane/v1/hosts/h/gids/0123456789abcdef/";
  ASSERT_TRUE(parse_host_key(gids + "v2/" + good));
  for (const std::string& key : {std::string(),
                                 std::string("/paravane/v1/hosts/"),
                                 std::string("/paravane/v1/hosts/h"),
                                 std::string("/paravane/v1/hosts/h/"),
                                 std::string("/paravane/v1/hosts/h/infos"),
                                 std::string("/paravane/v1/hosts//info"),
                                 std::string("/paravane/v1/hosts/H/info"),
                                 std::string("/paravane/v1/hosts/../info"),
                                 std::string("/paravane/v2/hosts/h/info"),
                                 std::string("/paravane/v1/hosts/h/adapters/db1"),
                                 std::string("/paravane/v1/hosts/h/adapters/db1/0"),
                                 std::string("/paravane/v1/hosts/h/adapters/db1/9"),
                                 std::string("/paravane/v1/hosts/h/adapters/db1/01"),
                                 std::string("/paravane/v1/hosts/h/adapters//1"),
                                 std::string("/paravane/v1/hosts/h/adapters/a/b/1"),
                                 gids + "v3/" + good,
                                 gids + "v2/" + good + "0",
                                 gids + "v2/" + zero,
                                 gids + "v2/" + group,
                                 gids + "v2/FE" + good.substr(2),
                                 "/paravane/v1/hosts/h/gids/v2/" + good,
                                 "/paravane/v1/hosts/h/gids/0123456789ABCDEF/v2/" + good,
                                 "/paravane/v1/hosts/h/gids/123456789abcdef/v2/" + good,
                                 "/paravane/v1/hosts/h/gids/0000000000000000/v2/" + good,
                                 "/paravane/v1/hosts/h/gids/0123456789abcdef-v2/" + good}) {
    EXPECT_FALSE(parse_host_key(key)) << key;
  }
}

}  // namespace
}  // namespace paravane::inventory
