#include "base/event_loop.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <chrono>
#include <thread>

namespace paravane {
namespace {

using namespace std::chrono_literals;

class EventLoopTest : public ::testing::Test {
 protected:
  UniqueFd ready_event() { return UniqueFd(eventfd(1, EFD_NONBLOCK)); }
  std::unique_ptr<EventLoop> loop_ = std::move(EventLoop::create().value());
};

TEST_F(EventLoopTest, CallsBackWhatIsReady) {
  const UniqueFd fd = ready_event();
  std::uint32_t seen = 0;
  ASSERT_TRUE(loop_->watch(fd.get(), EPOLLIN, [&](std::uint32_t events) { seen = events; }));
  EXPECT_EQ(loop_->poll(0ns), 1);
  EXPECT_EQ(seen, static_cast<std::uint32_t>(EPOLLIN));
}

TEST_F(EventLoopTest, UnwatchedInTheSameRoundIsNotCalled) {
  const UniqueFd a = ready_event();
  const UniqueFd b = ready_event();
  int calls = 0;
  const auto drop_both = [&](std::uint32_t) {
    ++calls;
    loop_->unwatch(a.get());
    loop_->unwatch(b.get());
  };
  ASSERT_TRUE(loop_->watch(a.get(), EPOLLIN, drop_both));
  ASSERT_TRUE(loop_->watch(b.get(), EPOLLIN, drop_both));
  EXPECT_EQ(loop_->poll(0ns), 1);
  EXPECT_EQ(calls, 1);
}

TEST_F(EventLoopTest, WakeEndsAWaitFromAnotherThread) {
  std::jthread waker([&] { loop_->wake(); });
  EXPECT_EQ(loop_->poll(10s), 1);
}

TEST_F(EventLoopTest, PollWithoutWorkReturnsAtTheTimeout) {
  constexpr auto kWait = 3ms;
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(loop_->poll(kWait), 0);
  EXPECT_GE(std::chrono::steady_clock::now() - began, kWait);
}

}  // namespace
}  // namespace paravane
