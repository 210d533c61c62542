#include "api/infiniband_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace paravane::api {
namespace {

using nlohmann::json;
using testing::HasSubstr;

model::IbAdapterStatus some_ib_adapter() {
  return {.adapter = {.name = "mlx4_0", .device = "MT26428", .bus = 13},
          .description = "ConnectX IB QDR, PCIe 2.0 5.0GT/s",
          .guid = 0x0250560001a2b300,
          .ports = {{.number = 1,
                     .guid = 0x0250560001a2b301,
                     .state = model::IbPortState::kActive,
                     .rate_gbps = 40,
                     .lid = 2,
                     .sm_lid = 1,
                     .is_sm = true,
                     .mtu = 4096,
                     .partitions = {0xffff, 0x800a}},
                    {.number = 2,
                     .guid = 0xffffffffffffffff,
                     .state = model::IbPortState::kDown,
                     .problem = "the port is not linked"}},
          .problem = "the subnet has no room"};
}

model::IbFabric some_fabric() {
  return {.host = "h1",
          .switch_guid = 0x0250560001000000,
          .switch_lid = 3,
          .sm_lid = 1,
          .links = {{.port = 1,
                     .peer = "mlx4_0 port 1",
                     .state = model::IbPortState::kActive,
                     .sent_packets = 1,
                     .received_packets = 2,
                     .sent_bytes = 0xffffffffffffffff,
                     .received_bytes = 4,
                     .dropped = 5},
                    {.port = 3, .peer = "host h2", .state = model::IbPortState::kArmed}},
          .umad_socket = "/run/paravane/umad.sock"};
}

TEST(InfinibandJson, IsReadBack) {
  EXPECT_EQ(*ib_adapter_from_json(to_json(some_ib_adapter().adapter)), some_ib_adapter().adapter);
  EXPECT_EQ(*ib_adapter_status_from_json(to_json(some_ib_adapter())), some_ib_adapter());
  EXPECT_EQ(*ib_fabric_from_json(to_json(some_fabric())), some_fabric());
}

TEST(InfinibandJson, GuidsAndPartitionsAreHexadecimal) {
  const json adapter = to_json(some_ib_adapter());
  EXPECT_EQ(adapter.at("guid"), "0x0250560001a2b300");
  EXPECT_EQ(adapter.at("ports")[0].at("guid"), "0x0250560001a2b301");
  EXPECT_EQ(adapter.at("ports")[0].at("partitions"), json({"0xffff", "0x800a"}));
  EXPECT_EQ(adapter.at("ports")[0].at("state"), "Active");
  EXPECT_EQ(to_json(some_fabric()).at("switch_guid"), "0x0250560001000000");
}

TEST(InfinibandJson, WithoutAnAdapterThereIsNoSwitch) {
  const model::IbFabric none{.host = "h1"};
  const json fabric = to_json(none);
  EXPECT_EQ(fabric.at("switch_guid"), nullptr);
  EXPECT_EQ(*ib_fabric_from_json(fabric), none);
}

TEST(InfinibandJson, ARequestIsReadStrictly) {
  const json good = {{"name", "mlx4_0"}, {"device", "MT26428"}, {"bus", 13}};
  ASSERT_TRUE(ib_adapter_from_json(good));
  const auto message = [&good](const char* key, const json& value) {
    json request = good;
    request[key] = value;
    const auto adapter = ib_adapter_from_json(request);
    return adapter ? std::string() : adapter.error().message;
  };
  EXPECT_THAT(message("guid", "0x1"), HasSubstr("unknown key \"guid\""));
  EXPECT_THAT(message("name", "4"), HasSubstr("'4'"));
  EXPECT_THAT(message("name", 4), HasSubstr("must be a string"));
  EXPECT_THAT(message("device", "MT1"), HasSubstr("MT25408"));
  EXPECT_THAT(message("bus", 256), HasSubstr("256"));
  EXPECT_THAT(message("bus", -1), HasSubstr("whole number"));
  EXPECT_THAT(message("bus", 4294967296), HasSubstr("at most"));
  for (const char* key : {"name", "device", "bus"}) {
    json request = good;
    request.erase(key);
    EXPECT_THAT(ib_adapter_from_json(request).error().message, HasSubstr(key));
  }
  EXPECT_FALSE(ib_adapter_from_json(json::array()));
}

TEST(InfinibandJson, AStoredAdapterOfANewerVersionIsRead) {
  json kept = to_json(some_ib_adapter().adapter);
  kept["speed"] = "fast";
  EXPECT_EQ(*kept_ib_adapter_from_json(kept), some_ib_adapter().adapter);
  kept["device"] = "MT1";
  EXPECT_FALSE(kept_ib_adapter_from_json(kept));
}

TEST(InfinibandJson, AnUplinkComesBackAsItWas) {
  const model::IbUplink uplink{
      .name = "vmnic32",
      .adapter = "mlx4_0",
      .device = "MT26428",
      .port = 1,
      .mac = {2, 0x50, 0x56, 0xa2, 0xb3, 1},
      .rate_gbps = 40,
      .vds = "lan",
      .mtu = 1500,
      .partitions = {{.vlan = 0, .key = 0xFFFF, .mtu = 2044},
                     {.vlan = 10, .problem = "this port has no such partition"}},
      .addresses = 2,
      .counters = {{"frames_sent", 7}, {"too_big", std::uint64_t{1} << 63}},
      .problem = "the link is down"};
  const json value = to_json(uplink);
  EXPECT_EQ(value.at("partitions").at(0).at("key"), "0xffff");
  EXPECT_TRUE(value.at("partitions").at(1).at("key").is_null());
  EXPECT_EQ(ib_uplink_from_json(value).value(), uplink);
  const auto refused = [&value](const char* pointer, const json& other) {
    json changed = value;
    changed[json::json_pointer(pointer)] = other;
    return !ib_uplink_from_json(changed);
  };
  EXPECT_FALSE(refused("/new", 1));
  EXPECT_TRUE(refused("/mac", "2"));
  EXPECT_TRUE(refused("/counters/too_big", -1));
  EXPECT_TRUE(refused("/partitions/0/key", "0x1ffff"));
  EXPECT_TRUE(refused("/partitions", 1));
  json many = value;
  for (std::size_t i = 0; i < model::kMaxIbUplinkCounters; ++i)
    many["counters"]["x" + std::to_string(i)] = 1;
  EXPECT_FALSE(ib_uplink_from_json(many));
}

TEST(InfinibandJson, RefusesAnAnswerThatIsNone) {
  const auto refused = [](const char* pointer, const json& value) {
    json adapter = to_json(some_ib_adapter());
    adapter[json::json_pointer(pointer)] = value;
    return !ib_adapter_status_from_json(adapter);
  };
  EXPECT_FALSE(refused("/new", 1));
  EXPECT_FALSE(refused("/ports/0/new", 1));
  for (const char* guid : {"", "0x", "0250560001a2b300", "0x250560001a2b300", "0x0250560001a2b30g",
                           "0x+250560001a2b300", "0x0250560001a2b3000"}) {
    EXPECT_TRUE(refused("/guid", guid)) << guid;
  }
  EXPECT_TRUE(refused("/ports", 1));
  EXPECT_TRUE(refused("/ports/0/state", "Fast"));
  EXPECT_TRUE(refused("/ports/0/lid", "1"));
  EXPECT_TRUE(refused("/ports/0/partitions", "0xffff"));
  EXPECT_TRUE(refused("/ports/0/partitions/0", 0xffff));
  EXPECT_TRUE(refused("/ports/0/partitions/0", "0x1ffff"));
  EXPECT_TRUE(refused("/ports/0", "one"));
  json fabric = to_json(some_fabric());
  fabric["links"][0]["state"] = 4;
  EXPECT_THAT(ib_fabric_from_json(fabric).error().message, HasSubstr("\"state\""));
  fabric.erase("links");
  EXPECT_THAT(ib_fabric_from_json(fabric).error().message, HasSubstr("\"links\" is missing"));
}

}  // namespace
}  // namespace paravane::api
