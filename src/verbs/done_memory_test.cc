#include "verbs/done_memory.h"

#include <gtest/gtest.h>

namespace paravane::verbs {
namespace {

constexpr Life kPeer{.high = 1, .low = 2};

TEST(DoneMemoryTest, KnowsAllUpToTheLast) {
  DoneMemory done;
  done.meet(kPeer);
  EXPECT_FALSE(done.has(0));
  EXPECT_FALSE(done.has(1));
  done.note(7);
  done.note(5);  // again
  EXPECT_TRUE(done.has(7));
  EXPECT_TRUE(done.has(1));
  EXPECT_FALSE(done.has(8));
  EXPECT_FALSE(done.has(0));  // no request has it
  EXPECT_EQ(done.last(), 7u);
}

TEST(DoneMemoryTest, StaysWithTheSamePeer) {
  DoneMemory done;
  done.meet(kPeer);
  done.note(7);
  done.keep_atomic({.serial = 7, .before = 70}, 4);
  done.meet(kPeer);
  EXPECT_TRUE(done.has(7));
  EXPECT_NE(done.find_atomic(7), nullptr);
}

// Another connection numbers its requests anew.
TEST(DoneMemoryTest, ForgetsWhatWasDoneForAnother) {
  for (const Life& other : {Life{.high = 1, .low = 3}, Life{.high = 2, .low = 2}}) {
    DoneMemory done;
    done.meet(kPeer);
    done.note(7);
    done.keep_atomic({.serial = 7, .before = 70}, 4);
    done.meet(other);
    EXPECT_FALSE(done.has(1));
    EXPECT_EQ(done.last(), 0u);
    EXPECT_EQ(done.find_atomic(7), nullptr);
  }
}

TEST(DoneMemoryTest, KeepsTheNewestAtomics) {
  DoneMemory done;
  for (std::uint64_t serial = 1; serial <= 5; ++serial) {
    done.keep_atomic({.serial = serial, .before = serial * 10}, 3);
  }
  EXPECT_EQ(done.find_atomic(2), nullptr);
  ASSERT_NE(done.find_atomic(3), nullptr);
  EXPECT_EQ(done.find_atomic(3)->before, 30u);
  EXPECT_NE(done.find_atomic(5), nullptr);
}

}  // namespace
}  // namespace paravane::verbs
