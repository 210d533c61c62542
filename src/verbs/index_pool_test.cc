#include "verbs/index_pool.h"

#include <gtest/gtest.h>

namespace paravane::verbs {
namespace {

TEST(IndexPool, GivesEveryIndexOnce) {
  IndexPool pool(1, 4);
  EXPECT_EQ(pool.take(), 1u);
  EXPECT_EQ(pool.take(), 2u);
  EXPECT_EQ(pool.take(), 3u);
  EXPECT_EQ(pool.take(), std::nullopt);
}

TEST(IndexPool, C28PrefersWhatWasNeverUsed) {
  IndexPool pool(0, 3);
  pool.give_back(*pool.take());
  EXPECT_EQ(pool.take(), 1u);
  EXPECT_EQ(pool.take(), 2u);
  EXPECT_EQ(pool.take(), 0u);
}

TEST(IndexPool, C28ReusesTheLongestFreeFirst) {
  IndexPool pool(0, 3);
  for (int i = 0; i < 3; ++i) pool.take();
  pool.give_back(2);
  pool.give_back(0);
  EXPECT_EQ(pool.take(), 2u);
  pool.give_back(1);
  EXPECT_EQ(pool.take(), 0u);
  EXPECT_EQ(pool.take(), 1u);
}

}  // namespace
}  // namespace paravane::verbs
