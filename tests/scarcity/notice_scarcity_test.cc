// Notices that wait behind others in a device ring, with memory that fails at one allocation after
// the other. The turn may be another VM's, so nothing is thrown: the ring of this guest is broken.

#include <gtest/gtest.h>

#include <cstdint>

#include "device/forgotten.h"
#include "device/queues/notification_ring.h"
#include "testing/scarce_memory.h"
#include "testing/test_memory.h"

namespace paravane::device {
namespace {

TEST(NoticeScarcity, ANoticeWithoutMemoryBreaksItsRingAlone) {
  constexpr std::uint32_t kNotices = 300;
  TestMemory ram(1 << 20);
  GuestMemory memory;
  ram.show(memory);
  const TestPages pages = ram.scattered_pages(4);
  std::uint32_t broken = 0;
  bool has_failed = true;
  for (std::uint64_t number = 1; has_failed; ++number) {
    NotificationRing ring(
        *PageList::from_directory(memory, pages.directory, pages.count(), Rights::kReadWrite), 4);
    const ScarceMemory scarce(number);
    for (std::uint32_t i = 0; i < kNotices; ++i) {
      ring.put({.element = i, .about = Notice::About::kCompletionQueue, .handle = i});
    }
    has_failed = scarce.has_failed();
    ASSERT_EQ(ring.broken(), has_failed) << number;
    ASSERT_EQ(ring.waiting(), has_failed ? 0U : kNotices) << number;
    if (ring.broken()) ++broken;
  }
  EXPECT_GT(broken, 0u);
}

TEST(NoticeScarcity, AnObjectThatEndsNeedsNoMemory) {
  Forgotten forgotten;
  forgotten.forget(3, 10);
  {
    const ScarceMemory scarce(1);
    forgotten.forget(5'000, 20);
    EXPECT_TRUE(scarce.has_failed());
  }
  EXPECT_TRUE(forgotten.covers(5'000, 20));
  EXPECT_FALSE(forgotten.covers(5'000, 21));
  EXPECT_TRUE(forgotten.covers(3, 10));
  EXPECT_FALSE(forgotten.covers(3, 11));
  forgotten.forget(6'000, 30);
  EXPECT_TRUE(forgotten.covers(5'000, 20)) << "still";
  EXPECT_FALSE(forgotten.covers(5'000, 21));
  EXPECT_TRUE(forgotten.covers(6'000, 30));
}

}  // namespace
}  // namespace paravane::device
