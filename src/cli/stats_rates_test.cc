#include "cli/stats_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace paravane::cli {
namespace {

using text::TableFormat;

// One adapter of db1 after `n` sends of 1 MB each, and half as many reads and errors.
model::Stats after(std::uint64_t n) {
  model::VmStats vm;
  vm.name = "db1";
  vm.groups = {{.name = "engine",
                .counters = {{"sends", "", n},
                             {"receives", "", 10},
                             {"sent_bytes", "", n * 1'000'000},
                             {"received_bytes", "", 5},
                             {"read_bytes", "bytes read", n * 500'000},
                             {"completion_errors", "", n / 2}}}};
  vm.queue_pairs = {{.number = 17,
                     .type = "RC",
                     .state = "RTS",
                     .path = "local",
                     .sends = n,
                     .sent_bytes = n * 1'000'000}};
  return {.daemon = {{.name = "worker", .counters = {{"rounds", "r", n}}}}, .vms = {vm}};
}

TEST(StatsRates, AreWhatChangedPerSecond) {
  const model::Stats before = after(100);
  const model::Stats now = after(300);
  const StatsInterval interval{.before = before, .now = now, .seconds = 2};
  EXPECT_EQ(vm_rate_table(interval).print(TableFormat::kTable),
            "VM   Path   QPs  Sent MB/s  Received MB/s  Messages/s  Errors/s\n"
            "---  -----  ---  ---------  -------------  ----------  --------\n"
            "db1  local  1    100.0      50.0           100.0       50.0\n");
  EXPECT_EQ(qp_rate_table(interval).print(TableFormat::kCsv),
            "VM,QP,Type,State,Path,Sent MB/s,Received MB/s,Messages/s,Errors/s\n"
            "db1,17,RC,RTS,local,100.0,0.0,100.0,0.0\n");
  EXPECT_EQ(rates_json(interval).dump(),
            R"([{"adapter":1,"errors_per_s":50.0,"messages_per_s":100.0,)"
            R"("received_bytes_per_s":50000000.0,"sent_bytes_per_s":100000000.0,"vm":"db1"}])");
}

TEST(StatsRates, OfCountersNameThoseThatChanged) {
  const model::Stats before = after(100);
  const model::Stats now = after(101);
  EXPECT_EQ(
      counter_rate_table({.before = before, .now = now, .seconds = 0.5}).print(TableFormat::kCsv),
      "Subject,Group,Counter,Value,Per Second,Meaning\n"
      "daemon,worker,rounds,101,2.0,r\n"
      "db1,engine,sends,101,2.0,\n"
      "db1,engine,sent_bytes,101000000,2000000.0,\n"
      "db1,engine,read_bytes,50500000,1000000.0,bytes read\n");
}

TEST(StatsRates, BeginAgainWithANewDaemonAndANewVm) {
  const model::Stats before = after(100);
  const model::Stats now = after(40);
  EXPECT_THAT(vm_rate_table({.before = before, .now = now, .seconds = 1}).print(TableFormat::kCsv),
              testing::HasSubstr("\ndb1,local,1,40.0,20.0,40.0,20.0\n"));
  const model::Stats none;
  EXPECT_THAT(vm_rate_table({.before = none, .now = now, .seconds = 1}).print(TableFormat::kCsv),
              testing::HasSubstr("\ndb1,local,1,40.0,20.0,50.0,20.0\n"));
  EXPECT_EQ(vm_rate_table({.before = now, .now = none, .seconds = 1}).print(TableFormat::kCsv),
            "VM,Path,QPs,Sent MB/s,Received MB/s,Messages/s,Errors/s\n");
}

}  // namespace
}  // namespace paravane::cli
