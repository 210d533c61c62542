// A device between a client that records what it hears and paths that hold their tasks, for the
// tests of device.h.
//
// Owner thread only.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/device.h"
#include "testing/held_task_path.h"

namespace paravane::storage {

using fake::HeldTaskPath;
using fake::sense_result;
using nbd::BlockOperation;
using nbd::BlockResult;

inline constexpr std::byte kOperationRead{0x88};
inline constexpr std::byte kOperationWrite{0x8A};
inline constexpr std::byte kOperationFlush{0x91};
inline constexpr std::byte kOperationUnmap{0x42};

struct RecordingClient final : nbd::BlockClient {
  void on_done(std::uint64_t tag, BlockResult result,
               std::unique_ptr<nbd::BlockBuffer> /*buffer*/) override {
    done.emplace_back(tag, result);
    if (when_done) when_done();
  }
  void on_room() override { ++rooms; }
  void on_ready() override { ++ready; }

  std::vector<std::pair<std::uint64_t, BlockResult>> done{};
  std::function<void()> when_done{};
  unsigned rooms = 0;
  unsigned ready = 0;
};

class DeviceFixture : public testing::Test {
 protected:
  static constexpr std::uint32_t kPayloads = 56;

  static UnitFacts facts_of(std::string name = "naa.60014050000000000000000000000001") {
    return {.lun = scsi::Lun::of(0),
            .name = std::move(name),
            .blocks = 1 << 20,
            .block_bytes = 512,
            .most_transfer_blocks = 0,
            .most_unmap_blocks = 1024,
            .has_write_cache = true};
  }
  Device::Surroundings surroundings() {
    return {.memory = *memory,
            .timers = timers,
            .wake = [this] { ++woken; },
            .memory_freed = [this] { ++freed; },
            .look_again = [this](const UnitPath::Place& place) { looks.push_back(place); },
            .tell = [this](const Device::News& one) { news.push_back(one); }};
  }
  static UnitPath::Place place_of(std::uint32_t target) { return {.vmhba = 32, .target = target}; }
  void add(std::uint32_t target, HeldTaskPath& tasks) {
    device->add_path({.name = "T" + std::to_string(target),
                      .place = place_of(target),
                      .lun = scsi::Lun::of(0),
                      .tasks = &tasks},
                     facts);
  }
  // A path whose login has ended.
  void lose(std::uint32_t target, HeldTaskPath& tasks) {
    tasks.end();
    device->lose_path(place_of(target), "its port is down");
    settle();
  }
  // As an owner does, until all is still.
  void settle() {
    for (unsigned rounds = 0; std::exchange(woken, 0) > 0; ++rounds) {
      ASSERT_LT(rounds, 1000u) << "there is no end";
      device->pump(now);
      timers.run_due(now);
    }
  }
  void pass(Duration time) {
    now += time;
    timers.run_due(now);
    settle();
  }
  // Past the fence that the first use of an engine needs.
  void fence(HeldTaskPath& tasks) {
    ASSERT_EQ(tasks.held.size(), 1u);
    ASSERT_TRUE(tasks.held[0].is_reset);
    tasks.answer();
    settle();
    ASSERT_EQ(tasks.held.size(), 1u);
    ASSERT_EQ(tasks.held[0].operation(), std::byte{0});
    tasks.answer();
    settle();
  }
  // One path, a client, an open fence.
  void begin() {
    add(0, a);
    ASSERT_TRUE(device->open(client));
    settle();
    submit(BlockOperation::kFlush, 0, 0);
    settle();
    fence(a);
    a.answer_all();
    settle();
    ASSERT_EQ(client.done.size(), 1u);
    ASSERT_TRUE(a.held.empty());
    client.done.clear();
    news.clear();
    a.executed = a.resets = 0;
    next_tag = 1;
  }
  std::uint64_t submit(BlockOperation operation, std::uint64_t offset, std::uint32_t length,
                       bool force = false) {
    nbd::BlockRequest request{
        .operation = operation, .offset = offset, .length = length, .force_unit_access = force};
    if (operation == BlockOperation::kRead || operation == BlockOperation::kWrite) {
      request.buffer = device->take_buffer(length);
      EXPECT_NE(request.buffer, nullptr);
    }
    device->submit(next_tag, std::move(request));
    return next_tag++;
  }
  std::uint64_t write(std::uint64_t offset = 0, std::uint32_t length = 4096) {
    const std::uint64_t tag = submit(BlockOperation::kWrite, offset, length);
    settle();
    return tag;
  }
  std::uint64_t read(std::uint64_t offset = 0, std::uint32_t length = 4096) {
    const std::uint64_t tag = submit(BlockOperation::kRead, offset, length);
    settle();
    return tag;
  }
  void answer(HeldTaskPath& tasks, const TaskResult& result = {}, std::size_t number = 0) {
    ASSERT_LT(number, tasks.held.size());
    tasks.answer(result, number);
    settle();
  }
  // What the client has heard since the last time, without tags.
  std::vector<BlockResult> heard() {
    std::vector<BlockResult> all;
    for (const auto& [tag, result] : std::exchange(client.done, {})) all.push_back(result);
    return all;
  }
  unsigned told(Device::News::What what) const {
    return static_cast<unsigned>(std::ranges::count(news, what, &Device::News::what));
  }

  Instant now{std::chrono::hours(1)};
  std::unique_ptr<host_verbs::ServiceMemory> memory =
      host_verbs::ServiceMemory::make({.payloads = kPayloads, .messages = 1}).value();
  TimerQueue timers;
  unsigned woken = 0;
  unsigned freed = 0;
  std::vector<UnitPath::Place> looks;
  std::vector<Device::News> news;
  HeldTaskPath a, b;
  UnitFacts facts = facts_of();
  RecordingClient client;
  std::unique_ptr<Device> device = std::make_unique<Device>(facts, surroundings());
  std::uint64_t next_tag = 1;
};

}  // namespace paravane::storage
