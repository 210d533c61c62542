#include "storage/device_table.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "model/storage.h"
#include "testing/held_task_path.h"
#include "testing/temp_dir.h"

namespace paravane::storage {
namespace {

using fake::HeldTaskPath;

class DeviceTableTest : public testing::Test {
 protected:
  static std::string name_of(std::uint32_t number) {
    return "naa.6001405" + std::to_string(1'000'000'000 + number);
  }
  static UnitFacts unit(std::uint32_t number, std::string name) {
    return {.lun = scsi::Lun::of(number),
            .number = number,
            .name = std::move(name),
            .vendor = "LIO-ORG",
            .product = "disk",
            .blocks = 2048,
            .block_bytes = 512};
  }
  void set(std::uint32_t target, HeldTaskPath& tasks, const std::vector<UnitFacts>& units) {
    table->set_units({.vmhba = 32, .target = target, .vmhba_name = "vmhba32", .tasks = &tasks},
                     units);
  }
  void settle() {
    for (int rounds = 0; table->has_work(); ++rounds) {
      ASSERT_LT(rounds, 100);
      table->pump(now);
    }
  }
  const Device& device(const std::string& name) { return table->devices().at(name)->device(); }

  TempDir directory;
  Instant now{std::chrono::hours(1)};
  TurnClock clock{now};
  TimerQueue timers;
  std::unique_ptr<EventLoop> loop = std::move(EventLoop::create().value());
  std::unique_ptr<host_verbs::ServiceMemory> memory =
      host_verbs::ServiceMemory::make({.payloads = 8, .messages = 1}).value();
  unsigned woken = 0;
  std::vector<DeviceTable::DeviceNews> news;
  HeldTaskPath a, b;
  std::unique_ptr<DeviceTable> table = std::make_unique<DeviceTable>(DeviceTable::Surroundings{
      .memory = *memory,
      .timers = timers,
      .loop = *loop,
      .clock = clock,
      .sockets = {.directory = directory.path()},
      .wake = [this] { ++woken; },
      .look_again = [](const UnitPath::Place&) {},
      .tell = [this](const DeviceTable::DeviceNews& one) { news.push_back(one); }});
};

TEST_F(DeviceTableTest, WhatAScanHasFoundIsServed) {
  set(0, a, {unit(0, name_of(0)), unit(5, name_of(5))});
  ASSERT_EQ(table->devices().size(), 2u);
  const ServedDevice& served = *table->devices().at(name_of(5));
  EXPECT_EQ(served.problem(), "");
  EXPECT_TRUE(std::filesystem::is_socket(served.socket()));
  EXPECT_EQ(served.device().paths().all().at(0).name, "vmhba32:C0:T0:L5");
  EXPECT_TRUE(table->refused().empty());
  EXPECT_EQ(news.size(), 2u);
  EXPECT_EQ(news[0].device, name_of(0));
}

TEST_F(DeviceTableTest, IsStillWhenAllIsDone) {
  set(0, a, {unit(0, name_of(0))});
  EXPECT_TRUE(table->has_work());
  EXPECT_GT(woken, 0u);
  settle();
  EXPECT_FALSE(table->has_work());
  EXPECT_EQ(table->next_look(), kNever);
  EXPECT_EQ(timers.next_deadline(), kNever);
}

TEST_F(DeviceTableTest, TwoWaysToOneNameAreOneDevice) {
  set(0, a, {unit(0, name_of(0))});
  set(1, b, {unit(3, name_of(0))});
  ASSERT_EQ(table->devices().size(), 1u);
  EXPECT_EQ(device(name_of(0)).paths().all().size(), 2u);
  table->lose_target(32, 0, "its port is down");
  const auto& paths = device(name_of(0)).paths().all();
  EXPECT_EQ(paths[0].tasks, nullptr);
  EXPECT_EQ(paths[0].problem, "its port is down");
  EXPECT_EQ(paths[1].tasks, &b);
}

TEST_F(DeviceTableTest, AUnitThatIsGoneOrAnotherIsForgottenIfNoProgramUsesIt) {
  set(0, a, {unit(0, name_of(0)), unit(1, name_of(1))});
  set(0, a, {unit(0, name_of(7))});
  EXPECT_EQ(table->devices().size(), 1u);
  EXPECT_NE(device(name_of(7)).paths().best(), nullptr);
  set(0, a, {unit(0, name_of(0)), unit(1, name_of(1))});
  EXPECT_NE(device(name_of(0)).paths().best(), nullptr);
}

TEST_F(DeviceTableTest, UnitsWithAProblemAreRefusedWithIt) {
  UnitFacts tape = unit(1, "");
  tape.problem = "it is not a disk";
  set(0, a,
      {unit(0, name_of(0)), tape, unit(2, "naa." + std::string(80, 'f')),
       unit(3, "t10.a/../../etc/x")});
  EXPECT_EQ(table->devices().size(), 1u);
  ASSERT_EQ(table->refused().size(), 3u);
  EXPECT_EQ(table->refused()[0].facts.problem, "it is not a disk");
  EXPECT_NE(table->refused()[1].facts.problem, "");
  EXPECT_NE(table->refused()[2].facts.problem, "");
  set(0, a, {});
  EXPECT_TRUE(table->refused().empty());
}

TEST_F(DeviceTableTest, ARemovedTargetTakesItsDevicesAlong) {
  set(0, a, {unit(0, name_of(0)), unit(1, name_of(1))});
  set(1, b, {unit(0, name_of(1))});
  const auto socket = table->devices().at(name_of(0))->socket();
  table->remove_target(32, 0);
  ASSERT_EQ(table->devices().size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(socket));
  EXPECT_EQ(device(name_of(1)).paths().all().size(), 1u);
  settle();
  table->remove_target(32, 1);
  EXPECT_TRUE(table->devices().empty());
  EXPECT_FALSE(table->has_work());
}

TEST_F(DeviceTableTest, PathsOfADeviceAreBounded) {
  std::vector<UnitFacts> units;
  for (std::uint32_t i = 0; i < model::kMaxLuns; ++i) units.push_back(unit(i, name_of(0)));
  set(0, a, units);
  EXPECT_EQ(device(name_of(0)).paths().all().size(), DeviceTable::kMostPaths);
  EXPECT_EQ(table->refused().size(), model::kMaxLuns - DeviceTable::kMostPaths);
  set(0, a, units);
  EXPECT_EQ(device(name_of(0)).paths().all().size(), DeviceTable::kMostPaths);
  EXPECT_NE(device(name_of(0)).paths().best(), nullptr);
}

TEST_F(DeviceTableTest, NamesThatChangeAgainAndAgainLeavePlaceForOthers) {
  std::uint32_t name = 0;
  for (int scans = 0; scans < 6; ++scans) {
    std::vector<UnitFacts> units;
    for (std::uint32_t i = 0; i < model::kMaxLuns; ++i) units.push_back(unit(i, name_of(name++)));
    set(0, a, units);
    settle();
    EXPECT_LE(table->devices().size(), model::kMaxDevices);
  }
  set(1, b, {unit(0, name_of(1'000'000))});
  EXPECT_TRUE(table->devices().contains(name_of(1'000'000)));
  EXPECT_TRUE(table->refused().empty());
}

TEST_F(DeviceTableTest, FreedMemoryWakesThoseThatWait) {
  set(0, a, {unit(0, name_of(0))});
  settle();
  Device& one = table->devices().at(name_of(0))->device();
  struct : nbd::BlockClient {
    void on_done(std::uint64_t, nbd::BlockResult, std::unique_ptr<nbd::BlockBuffer>) override {}
    void on_room() override { ++rooms; }
    void on_ready() override {}
    unsigned rooms = 0;
  } client;
  ASSERT_TRUE(one.open(client));
  settle();
  std::vector<std::unique_ptr<nbd::BlockBuffer>> buffers;
  while (auto buffer = one.take_buffer(512)) buffers.push_back(std::move(buffer));
  EXPECT_EQ(memory->payloads().free(), Device::kLeftForScans);
  settle();
  buffers.pop_back();
  EXPECT_TRUE(table->has_work());
  settle();
  EXPECT_EQ(client.rooms, 1u);
  buffers.clear();
  one.close(client);
}

TEST_F(DeviceTableTest, ADeviceWhoseSocketCannotBeMadeSaysSo) {
  std::filesystem::remove(directory.path());
  set(0, a, {unit(0, name_of(0))});
  ASSERT_EQ(table->devices().size(), 1u);
  EXPECT_NE(table->devices().at(name_of(0))->problem(), "");
  EXPECT_EQ(table->devices().at(name_of(0))->server(), nullptr);
  table->look_at_clients();
  nbd::TurnBudget budget{.bytes = 1, .operations = 1};
  table->serve(now, budget);
}

}  // namespace
}  // namespace paravane::storage
