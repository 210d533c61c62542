#include "inventory/own_keys.h"

#include <gtest/gtest.h>

namespace paravane::inventory {
namespace {

const HostInfo kInfo{.address = "10.0.0.1", .port = 1, .version = "1"};

model::MacAddress mac_of(std::size_t number) {
  return {2, 0, 0, 0, static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)};
}
GidId gid_of(std::size_t number) {
  GidId gid{7, {0x20}, RoceType::kV2};
  for (std::size_t i = 0; i < 4; ++i) {
    gid.gid[12 + i] = static_cast<std::uint8_t>(number >> (8 * (3 - i)));
  }
  return gid;
}

TEST(OwnKeys, AllIsSaidWhenThereIsRoom) {
  const model::AdapterName id{"vm", 1};
  const Said said = say_all(kInfo, {{id, {.mac = mac_of(1), .port_group = "pg"}}},
                            {{gid_of(1), id}, {gid_of(2), {"gone", 1}}});
  EXPECT_EQ(said.keys.size(), 4u) << "info, MAC address, port group, GID";
  EXPECT_EQ(said.left_out, 0u);
}

TEST(OwnKeys, GidsOfAnAdapterWhoseLinkIsDownHaveTheirOwnKeys) {
  const model::AdapterName id{"vm", 1};
  const Said said = say_all(kInfo, {{id, {.mac = mac_of(1), .port_group = "pg"}}}, {},
                            {{gid_of(1), id}, {gid_of(2), {"gone", 1}}});
  EXPECT_EQ(said.keys.size(), 4u) << "info, MAC address, port group, GID";
  EXPECT_TRUE(said.keys.contains(unlinked_gid_key(gid_of(1), id)));
  EXPECT_EQ(said.left_out, 0u);
}

TEST(OwnKeys, GreedyAdaptersTakeNoRoomFromOthers) {
  std::map<model::AdapterName, AdapterInfo> adapters;
  std::map<GidId, model::AdapterName> gids;
  constexpr std::size_t kVms = 200;
  for (std::size_t vm = 0; vm < kVms; ++vm) {
    const model::AdapterName id{"vm" + std::to_string(1000 + vm), 1};
    adapters[id] = {.mac = mac_of(vm), .port_group = "pg"};
    gids[{7, link_local_gid(mac_of(vm)), RoceType::kV2}] = id;
    // The last one has one other GID, all before it as many as fit.
    const std::size_t more = vm + 1 == kVms ? 1 : 127;
    for (std::size_t i = 0; i < more; ++i) gids[gid_of(vm * 1000 + i)] = id;
  }
  const Said said = say_all(kInfo, adapters, gids);
  EXPECT_EQ(said.keys.size(), kMaxOwnKeys);
  EXPECT_EQ(said.keys.size() + said.left_out, 1 + 2 * kVms + gids.size());
  for (const auto& [id, adapter] : adapters) {
    EXPECT_TRUE(said.keys.contains(mac_key(id, adapter.mac)));
    EXPECT_TRUE(said.keys.contains(gid_key({7, link_local_gid(adapter.mac), RoceType::kV2}, id)));
  }
  EXPECT_TRUE(said.keys.contains(gid_key(gid_of((kVms - 1) * 1000), {"vm1199", 1})));
}

TEST(OwnKeys, AdaptersAreBoundedToo) {
  std::map<model::AdapterName, AdapterInfo> adapters;
  for (std::size_t i = 0; i < 12'000; ++i) {
    adapters[{"vm" + std::to_string(i), 1}] = {.mac = mac_of(i), .port_group = "pg"};
  }
  const Said said = say_all(kInfo, adapters, {});
  EXPECT_LE(said.keys.size(), kMaxOwnKeys);
  EXPECT_GT(said.left_out, 0u);
}

}  // namespace
}  // namespace paravane::inventory
