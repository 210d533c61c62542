#include "base/free_numbers.h"

#include <gtest/gtest.h>

namespace paravane {
namespace {

TEST(FreeNumbers, GivesOutWhatHasBeenFreeForTheLongest) {
  FreeNumbers free;
  free.make_room(3);
  EXPECT_FALSE(free.take());
  free.put(7);
  free.put(8);
  EXPECT_EQ(free.take(), 7u);
  free.put(9);
  free.put(10);
  EXPECT_EQ(free.take(), 8u);
  EXPECT_EQ(free.take(), 9u);
  EXPECT_EQ(free.take(), 10u);
  EXPECT_TRUE(free.empty());
}

TEST(FreeNumbers, KeepsTheirOrderWhenItGrows) {
  FreeNumbers free;
  free.make_room(2);
  free.put(1);
  free.put(2);
  EXPECT_EQ(free.take(), 1u);
  free.put(3);  // behind the end of its room
  free.make_room(5);
  free.put(4);
  EXPECT_EQ(free.take(), 2u);
  EXPECT_EQ(free.take(), 3u);
  EXPECT_EQ(free.take(), 4u);
}

}  // namespace
}  // namespace paravane
