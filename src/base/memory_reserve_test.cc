#include "base/memory_reserve.h"

#include <gtest/gtest.h>

#include <new>

namespace paravane {
namespace {

// What operator new does with an allocation that fails.
bool goes_through() {
  try {
    std::get_new_handler()();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

TEST(MemoryReserve, GivenUpOnceAndHadAgain) {
  EXPECT_TRUE(has_memory_reserve()) << "a program without one is not short of it";
  keep_memory_reserve();
  EXPECT_TRUE(has_memory_reserve());
  EXPECT_TRUE(goes_through());
  EXPECT_EQ(memory_reserve_uses(), 1u);
  EXPECT_FALSE(goes_through()) << "there is one";
  EXPECT_TRUE(has_memory_reserve());
  EXPECT_TRUE(goes_through());
  EXPECT_EQ(memory_reserve_uses(), 2u);
  std::set_new_handler(nullptr);
}

}  // namespace
}  // namespace paravane
