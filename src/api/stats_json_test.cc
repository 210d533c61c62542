#include "api/stats_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace paravane::api {
namespace {

model::Stats some_stats() {
  const model::QpStats qp{.number = 0x11,
                          .handle = 3,
                          .type = "RC",
                          .state = "RTS",
                          .dest_qpn = 0x12,
                          .path = "tcp",
                          .peer_gid = "fe80::1",
                          .peer_host = "h2",
                          .why = "on host h2; hca: no usable adapter",
                          .sends = 1,
                          .receives = 2,
                          .sent_bytes = 3,
                          .received_bytes = ~std::uint64_t{0},
                          .errors = 5,
                          .rnr_waits = 6,
                          .retries = 7};
  return {.daemon = {{.name = "worker", .counters = {{"rounds", "rounds made", 9}}}},
          .vms = {{.name = "db1",
                   .adapter = 2,
                   .groups = {{.name = "engine", .counters = {{"sends", "sends done", 1}}},
                              {.name = "device", .counters = {}}},
                   .objects = {.name = "objects", .counters = {{"gids", "addresses", 2}}},
                   .queue_pairs = {qp}}}};
}

TEST(StatsJson, KeepsStatisticsWhole) {
  const auto read = stats_from_json(to_json(some_stats()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, some_stats());
}

TEST(StatsJson, KeepsAStatusWhole) {
  const model::DaemonStatus status{.version = "1.2",
                                   .pid = 9,
                                   .uptime_seconds = 10,
                                   .vms = 3,
                                   .attached = 2,
                                   .state_dir = "/a",
                                   .socket_dir = "/b",
                                   .config_file = "",
                                   .left_out = {{.kind = "vm",
                                                 .name = "db1",
                                                 .reason = "its record is damaged",
                                                 .remedy = "Restore it."}},
                                   .upgrade = {.state = model::UpgradeState::kFailed,
                                               .from = "1.1",
                                               .to = "1.2",
                                               .cause = "no memory",
                                               .gap_ms = 3,
                                               .time = "2026-11-22T16:14:38.000Z"},
                                   .keeper = {.version = "1.1", .cause = "cannot execute it"}};
  const auto read = daemon_status_from_json(to_json(status));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, status);
  auto older = to_json(status);
  older.erase("left_out");
  older.erase("upgrade");
  older.erase("keeper");
  EXPECT_TRUE(daemon_status_from_json(older));
}

TEST(StatsJson, RefusesWhatIsNotStatistics) {
  EXPECT_FALSE(stats_from_json(nlohmann::json(1)));
  EXPECT_FALSE(stats_from_json({{"vms", nlohmann::json::array({1})}}));
  nlohmann::json value = to_json(some_stats());
  value["vms"][0]["queue_pairs"][0].erase("sends");
  EXPECT_FALSE(stats_from_json(value));
}

}  // namespace
}  // namespace paravane::api
