#include "inventory/keys.h"

#include <gtest/gtest.h>

namespace paravane::inventory {
namespace {

constexpr model::MacAddress kMac{0x02, 0x50, 0x56, 0x00, 0x00, 0x01};

TEST(Keys, AKeySaysWhoSpeaksAndOfWhat) {
  const auto info = parse_host_key("/paravane/v1/hosts/h1/info");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->host, "h1");
  EXPECT_EQ(info->kind, HostKey::Kind::kInfo);
  const model::AdapterName adapter{"db1", 2};
  const auto mac = parse_host_key(host_prefix("h1") + mac_key(adapter, kMac));
  ASSERT_TRUE(mac);
  EXPECT_EQ(mac->kind, HostKey::Kind::kMac);
  EXPECT_EQ(mac->adapter, adapter);
  EXPECT_EQ(mac->mac, kMac);
  const auto port_group = parse_host_key(host_prefix("h1") + port_group_key(adapter, "rdma.1"));
  ASSERT_TRUE(port_group);
  EXPECT_EQ(port_group->kind, HostKey::Kind::kPortGroup);
  EXPECT_EQ(port_group->adapter, adapter);
  EXPECT_EQ(port_group->port_group, "rdma.1");
  const GidId id{0x0123456789abcdef, link_local_gid(kMac), RoceType::kV1};
  const auto gid = parse_host_key(host_prefix("h1") + gid_key(id, adapter));
  ASSERT_TRUE(gid);
  EXPECT_EQ(gid->kind, HostKey::Kind::kGid);
  EXPECT_EQ(gid->gid, id);
  EXPECT_EQ(gid->adapter, adapter);
}

// A name may be what stands between others.
TEST(Keys, TheLongestAndTheOddestNamesFit) {
  const std::string longest(63, 'x');
  const model::AdapterName adapter{longest, 8};
  for (const std::string& name : {longest, std::string("mac"), std::string("portgroup")}) {
    for (const std::string& key : {mac_key(adapter, kMac), mac_key({name, 1}, kMac),
                                   port_group_key({name, 1}, name), port_group_key(adapter, name),
                                   gid_key({1, link_local_gid(kMac), RoceType::kV2}, {name, 1})}) {
      EXPECT_TRUE(parse_host_key(host_prefix(longest) + key)) << key;
    }
  }
}

TEST(Keys, TheFirstGidIsMadeFromTheMacAddress) {
  EXPECT_EQ(gid_key({0xA, link_local_gid(kMac), RoceType::kV2}, {"db1", 1}),
            "gids/000000000000000a/v2/fe80000000000000005056fffe000001/db1/1");
}

TEST(Keys, WhatIsNoKeyOfOursIsNothing) {
  const std::string zero(32, '0');
  const std::string group = "ff" + std::string(30, '1');
  const std::string good = "fe" + std::string(30, '1');
  const std::string gids = "/paravane/v1/hosts/h/gids/0123456789abcdef/";
  const std::string adapters = "/paravane/v1/hosts/h/adapters/";
  ASSERT_TRUE(parse_host_key(gids + "v2/" + good + "/db1/1"));
  ASSERT_TRUE(parse_host_key(adapters + "db1/1/mac/02:00:00:00:00:0a"));
  ASSERT_TRUE(parse_host_key(adapters + "db1/1/portgroup/a"));
  ASSERT_TRUE(parse_host_key(adapters + "vmhba32/0/portgroup/a")) << "a service's adapter";
  for (const std::string& key :
       {std::string(),
        std::string("/paravane/v1/hosts/"),
        std::string("/paravane/v1/hosts/h"),
        std::string("/paravane/v1/hosts/h/"),
        std::string("/paravane/v1/hosts/h/infos"),
        std::string("/paravane/v1/hosts//info"),
        std::string("/paravane/v1/hosts/H/info"),
        std::string("/paravane/v1/hosts/../info"),
        std::string("/paravane/v2/hosts/h/info"),
        adapters + "db1",
        adapters + "db1/1",
        adapters + "db1/1/",
        adapters + "db1/1/mac/",
        adapters + "db1/9/mac/02:00:00:00:00:0a",
        adapters + "db1/01/mac/02:00:00:00:00:0a",
        adapters + "/1/mac/02:00:00:00:00:0a",
        adapters + "a/b/1/mac/02:00:00:00:00:0a",
        adapters + "db1/1/mac/02:00:00:00:00:0A",
        adapters + "db1/1/mac/02-00-00-00-00-0a",
        adapters + "db1/1/mac/01:00:00:00:00:00",
        adapters + "db1/1/mac/00:00:00:00:00:00",
        adapters + "db1/1/mac/02:00:00:00:00:0a/",
        adapters + "db1/1/mac/02:00:00:00:00",
        adapters + "db1/1/portgroup/",
        adapters + "db1/1/portgroup/A",
        adapters + "db1/1/portgroup/a/b",
        adapters + "db1/1/portgroup/" + std::string(64, 'a'),
        adapters + "db1/1/portgroups/a",
        gids + "v2/" + good,
        gids + "v2/" + good + "/",
        gids + "v2/" + good + "/db1",
        gids + "v2/" + good + "/db1/1/",
        gids + "v2/" + good + "0/db1/1",
        gids + "v3/" + good + "/db1/1",
        gids + "v2/" + zero + "/db1/1",
        gids + "v2/" + group + "/db1/1",
        gids + "v2/FE" + good.substr(2) + "/db1/1",
        "/paravane/v1/hosts/h/gids/v2/" + good + "/db1/1",
        "/paravane/v1/hosts/h/gids/0123456789ABCDEF/v2/" + good + "/db1/1",
        "/paravane/v1/hosts/h/gids/123456789abcdef/v2/" + good + "/db1/1",
        "/paravane/v1/hosts/h/gids/0000000000000000/v2/" + good + "/db1/1",
        "/paravane/v1/hosts/h/gids/0123456789abcdef-v2/" + good + "/db1/1"}) {
    EXPECT_FALSE(parse_host_key(key)) << key;
  }
}

}  // namespace
}  // namespace paravane::inventory
