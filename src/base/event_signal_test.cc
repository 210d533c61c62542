#include "base/event_signal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace paravane {
namespace {

constexpr std::uint64_t kFull = 0xFFFF'FFFF'FFFF'FFFE;

std::uint64_t take(const UniqueFd& event) {
  std::uint64_t count = 0;
  return ::read(event.get(), &count, sizeof count) == sizeof count ? count : 0;
}

TEST(EventSignal, RaisesByOneEachTime) {
  const UniqueFd event(eventfd(0, EFD_NONBLOCK));
  EventSignal signal;
  signal.raise(event.get());
  EXPECT_EQ(take(event), 1U);
  for (int i = 0; i < 1000; ++i) signal.raise(event.get());
  EXPECT_EQ(take(event), 1000U);
}

TEST(EventSignal, DoesNotWaitForAFullBlockingEventfd) {
  EventSignal signal;
  const UniqueFd event(eventfd(0, 0));
  signal.raise(event.get());
  ASSERT_TRUE(signal.is_bounded()) << "the kernel refuses asynchronous I/O";
  ASSERT_EQ(take(event), 1U);
  ASSERT_EQ(::write(event.get(), &kFull, sizeof kFull), 8);
  for (int i = 0; i < 100; ++i) signal.raise(event.get());  // a write would hang here
  EXPECT_GE(take(event), kFull);
}

TEST(EventSignal, ADescriptorThatIsGoneIsHarmless) {
  EventSignal signal;
  signal.raise(-1);
  const UniqueFd event(eventfd(0, EFD_NONBLOCK));
  signal.raise(event.get());
  EXPECT_EQ(take(event), 1U);
}

}  // namespace
}  // namespace paravane
