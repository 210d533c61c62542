#include "inventory/host_writes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inventory/keys.h"

namespace paravane::inventory {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kOfA = host_prefix("a") + "info";
const std::string kOfB = host_prefix("b") + "info";
const Instant kStart = Instant() + std::chrono::hours(1);

TEST(HostWrites, AHostMaySayAllThatItHasAtOnce) {
  HostWrites writes;
  for (int i = 0; i < 20'000; ++i) writes.note(kOfA, 300, kStart);
  EXPECT_THAT(writes.take_excessive(), IsEmpty());
}

TEST(HostWrites, OneThatWritesWithoutEndIsNamedOnce) {
  HostWrites writes;
  for (int i = 0; i < 200; ++i) {
    writes.note(kOfA, HostWrites::kBurst / 100, kStart);
    writes.note(kOfB, 1, kStart);
  }
  EXPECT_THAT(writes.take_excessive(), ElementsAre("a"));
  writes.note(kOfA, HostWrites::kBurst, kStart);
  EXPECT_THAT(writes.take_excessive(), IsEmpty());
}

TEST(HostWrites, WhatWasWrittenIsForgottenInTime) {
  HostWrites writes;
  writes.note(kOfA, HostWrites::kBurst, kStart);
  const auto hour = std::chrono::hours(1);
  writes.note(kOfA, HostWrites::kBurst, kStart + hour);
  EXPECT_THAT(writes.take_excessive(), IsEmpty());
  writes.note(kOfA, HostWrites::kPerSecond + 1, kStart + hour + std::chrono::milliseconds(100));
  EXPECT_THAT(writes.take_excessive(), ElementsAre("a"));
  writes.note(kOfA, 1, kStart + 2 * hour);
  writes.note(kOfA, HostWrites::kBurst, kStart + 2 * hour);
  EXPECT_THAT(writes.take_excessive(), ElementsAre("a")) << "again, later";
}

TEST(HostWrites, CompactionIsDueByWhatAllHaveWritten) {
  HostWrites writes;
  EXPECT_FALSE(writes.take_compaction());
  writes.note(kOfA, HostWrites::kUntilCompaction / 2, kStart);
  writes.note(std::string(kConfigPrefix) + "cluster", HostWrites::kUntilCompaction / 2, kStart);
  EXPECT_TRUE(writes.take_compaction());
  EXPECT_FALSE(writes.take_compaction());
  EXPECT_TRUE(writes.take_look());
  EXPECT_FALSE(writes.take_look());
  writes.note(kOfA, HostWrites::kUntilLook, kStart);
  EXPECT_TRUE(writes.take_look());
}

TEST(HostWrites, NamesOfNoHostTakeNoRoom) {
  HostWrites writes;
  for (int i = 0; i < 1000; ++i) {
    writes.note(host_prefix("h" + std::to_string(i)) + "info", 2 * HostWrites::kBurst, kStart);
  }
  EXPECT_EQ(writes.take_excessive().size(), 256U);
}

}  // namespace
}  // namespace paravane::inventory
