#include "base/doorway.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "testing/log_capture.h"
#include "testing/no_more_descriptors.h"

namespace paravane {
namespace {

using testing::HasSubstr;

class DoorwayTest : public testing::Test {
 protected:
  DoorwayTest() {
    UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_un any{.sun_family = AF_UNIX, .sun_path = {}};  // the kernel names it
    EXPECT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(sa_family_t)),
              0);
    EXPECT_EQ(::listen(listener.get(), 8), 0);
    size_ = sizeof name_;
    EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&name_), &size_), 0);
    EXPECT_TRUE(door_.open(std::move(listener)));
  }

  UniqueFd knock() const {
    UniqueFd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&name_), size_), 0);
    return client;
  }
  // One round; how many callbacks ran.
  int round() { return *loop_->poll(Duration::zero()); }
  // The same, while no client can be taken.
  int round_in_vain() {
    out_of_descriptors_ = true;
    const int ran = round();
    out_of_descriptors_ = false;
    return ran;
  }

  Result<std::optional<UniqueFd>> accept(int listener) const {
    if (out_of_descriptors_) return fail(Errc::kResourceExhausted, "no more descriptors", error_);
    return accept_client(listener);
  }

  Instant now_{std::chrono::hours(1)};
  std::unique_ptr<EventLoop> loop_ = *EventLoop::create();
  TimerQueue timers_;
  int taken_ = 0;
  bool out_of_descriptors_ = false;
  int error_ = 0;  // of the system call
  sockaddr_un name_{};
  socklen_t size_ = 0;
  Doorway door_{*loop_,
                timers_,
                "door",
                [this](UniqueFd /*client*/) { ++taken_; },
                [this] { return now_; },
                [this](int listener) { return accept(listener); }};
};

TEST_F(DoorwayTest, HandsOverWhoComes) {
  const UniqueFd client = knock();
  EXPECT_EQ(round(), 1);
  EXPECT_EQ(taken_, 1);
  EXPECT_EQ(round(), 0);
}

TEST_F(DoorwayTest, LeavesTheSocketAloneWhileClientsCannotBeTaken) {
  const UniqueFd client = knock();
  EXPECT_EQ(round_in_vain(), 1);
  EXPECT_EQ(round_in_vain(), 0) << "the client still waits, and the loop would spin";
  EXPECT_EQ(timers_.next_deadline(), now_ + Doorway::kPause);
}

TEST_F(DoorwayTest, TakesWhoHasWaitedMeanwhile) {
  const UniqueFd client = knock();
  EXPECT_EQ(round_in_vain(), 1);
  now_ += Doorway::kPause;
  timers_.run_due(now_);
  EXPECT_EQ(round(), 1);
  EXPECT_EQ(taken_, 1);
}

TEST_F(DoorwayTest, SaysSoAFewTimesAndNoMore) {
  const LogCapture log;
  const UniqueFd client = knock();
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(round_in_vain(), 1);
    now_ += Doorway::kPause;
    timers_.run_due(now_);
  }
  EXPECT_EQ(log.lines(), 3u);
  EXPECT_THAT(log.text(), HasSubstr("door: cannot accept a connection: no more descriptors"));
}

TEST_F(DoorwayTest, NamesTheLimitThatWasReached) {
  const LogCapture log;
  error_ = EMFILE;
  const UniqueFd client = knock();
  EXPECT_EQ(round_in_vain(), 1);
  EXPECT_THAT(log.text(), HasSubstr("Raise LimitNOFILE= of paravaned.service"));
}

#if !PARAVANE_NEEDS_DESCRIPTORS
TEST_F(DoorwayTest, TellsThoseWhoWaitByItsReserve) {
  const LogCapture log;
  int refused = 0;
  door_.keep_reserve([&](UniqueFd client) { refused += client ? 1 : 0; });
  const UniqueFd first = knock();
  const UniqueFd second = knock();
  {
    const AllDescriptorsTaken full;
    EXPECT_EQ(round(), 1);
    EXPECT_EQ(refused, 2) << "each of them, by the one descriptor";
    EXPECT_EQ(taken_, 0);
  }
}
#endif

#if !PARAVANE_NEEDS_DESCRIPTORS
TEST_F(DoorwayTest, TakesClientsAgainWhenThereAreDescriptors) {
  const LogCapture log;
  door_.keep_reserve([](UniqueFd) {});
  const UniqueFd early = knock();
  {
    const AllDescriptorsTaken full;
    EXPECT_EQ(round(), 1);
  }
  const UniqueFd late = knock();
  now_ += Doorway::kPause;
  timers_.run_due(now_);
  EXPECT_EQ(round(), 1);
  EXPECT_EQ(taken_, 1);
}
#endif

#if !PARAVANE_NEEDS_DESCRIPTORS
TEST_F(DoorwayTest, TakesAClientAsSoonAsThereAreDescriptors) {
  const LogCapture log;
  int refused = 0;
  std::unique_ptr<AllDescriptorsTaken> full;
  door_.keep_reserve([&](UniqueFd) {
    ++refused;
    full.reset();  // another has closed one
  });
  const UniqueFd first = knock();
  const UniqueFd second = knock();
  full = std::make_unique<AllDescriptorsTaken>();
  EXPECT_EQ(round(), 1);
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(taken_, 1);
}
#endif

TEST_F(DoorwayTest, IsClosedDuringAPause) {
  const UniqueFd client = knock();
  EXPECT_EQ(round_in_vain(), 1);
  EXPECT_TRUE(door_.open(UniqueFd()));
  EXPECT_EQ(timers_.size(), 0u);
}

}  // namespace
}  // namespace paravane
