#include "device/handle_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace paravane::device {
namespace {

std::uint32_t put_next(HandleTable<int>& table) {
  const std::uint32_t handle = *table.take_handle();
  table.put(handle, std::make_unique<int>(static_cast<int>(handle)));
  return handle;
}

TEST(HandleTable, GivesOutExactlyItsRange) {
  HandleTable<int> table(2, 6);
  std::set<std::uint32_t> handles;
  for (int i = 0; i < 4; ++i) handles.insert(put_next(table));

  EXPECT_EQ(handles, (std::set<std::uint32_t>{2, 3, 4, 5}));
  EXPECT_FALSE(table.take_handle().has_value());
  EXPECT_EQ(table.count(), 4u);
}

TEST(HandleTable, C28_AFreedHandleComesBackAfterAllThatAreFree) {
  HandleTable<int> table(0, 4);
  const std::uint32_t first = put_next(table);
  const std::uint32_t second = put_next(table);
  table.erase(second);
  table.erase(first);

  EXPECT_EQ(put_next(table), 2u);
  EXPECT_EQ(put_next(table), 3u);
  EXPECT_EQ(put_next(table), second) << "free for the longest time";
  EXPECT_EQ(put_next(table), first);
}

TEST(HandleTable, FindsNothingBeyondWhatWasEverUsed) {
  HandleTable<int> table(0, 100);
  put_next(table);

  EXPECT_NE(table.find(0), nullptr);
  EXPECT_EQ(table.find(1), nullptr);
  EXPECT_EQ(table.find(0xFF'FFFF), nullptr);
}

TEST(HandleTable, AHandleGivenBackUnusedIsNotLost) {
  HandleTable<int> table(0, 1);
  table.give_back(*table.take_handle());

  EXPECT_EQ(table.take_handle(), 0u);
}

TEST(HandleTable, AReservedHandleIsNeverGivenOut) {
  HandleTable<int> table(2, 4);
  table.make_place(1);
  table.put(1, std::make_unique<int>(1));
  table.erase(1, /*reusable=*/false);

  EXPECT_EQ(table.take_handle(), 2u);
  EXPECT_EQ(table.take_handle(), 3u);
  EXPECT_FALSE(table.take_handle().has_value());
}

}  // namespace
}  // namespace paravane::device
