#include "subnet_host/waiting_taps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace paravane::subnet_host {
namespace {

using Keys = std::vector<std::uint16_t>;

// Taps of which each has a number of frames.
class CountedTaps final : public WaitingTaps::Reader {
 public:
  explicit CountedTaps(WaitingTaps& waiting) : waiting_(waiting) {}
  ~CountedTaps() override {
    for (auto& [key, tap] : taps_) waiting_.leave(tap);
  }
  void add(std::uint16_t key, std::size_t frames) {
    WaitingTaps::Reader& reader = *this;
    frames_[key] = frames;
    taps_.try_emplace(key, reader, key);
    wait_again(key);
  }
  std::size_t read(std::uint16_t key, std::size_t most) override {
    order.push_back(key);
    std::size_t& left = frames_.at(key);
    const std::size_t taken = std::min(left, most);
    left -= taken;
    read_of[key] += taken;
    now += cost;
    return taken;
  }
  void wait_again(std::uint16_t key) override { waiting_.join(taps_.at(key)); }

  Keys order;
  std::map<std::uint16_t, std::size_t> read_of;
  Instant now{std::chrono::hours(1)};
  Duration cost{};  // of a read

 private:
  WaitingTaps& waiting_;
  std::map<std::uint16_t, std::size_t> frames_;
  std::map<std::uint16_t, WaitingTaps::Tap> taps_;
};

class WaitingTapsTest : public testing::Test {
 protected:
  WaitingTaps waiting_{[this] { return taps_.now; }};
  CountedTaps taps_{waiting_};
};

TEST_F(WaitingTapsTest, EachIsReadInItsTurnUntilNoneHasMore) {
  taps_.add(1, 2 * WaitingTaps::kFramesAtOnce + 1);
  taps_.add(2, 3);
  taps_.wait_again(1);  // has its place already
  EXPECT_FALSE(waiting_.turn());
  EXPECT_EQ(taps_.order, (Keys{1, 2, 1, 1}));
  EXPECT_EQ(taps_.read_of[1], 2 * WaitingTaps::kFramesAtOnce + 1);
  EXPECT_EQ(taps_.read_of[2], 3u);
  EXPECT_FALSE(waiting_.turn());
  EXPECT_EQ(taps_.order.size(), 4u);
}

TEST_F(WaitingTapsTest, AllTogetherAreReadUpToABound) {
  taps_.add(64, 3);
  for (std::uint16_t key = 0; key < 64; ++key) taps_.add(key, 100'000);
  const auto total = [this] {
    std::size_t frames = 0;
    for (const auto& [key, of_one] : taps_.read_of) frames += of_one;
    return frames;
  };
  EXPECT_TRUE(waiting_.turn());
  EXPECT_EQ(total(), WaitingTaps::kFramesPerTurn);
  EXPECT_TRUE(waiting_.turn());
  EXPECT_EQ(total(), 2 * WaitingTaps::kFramesPerTurn);
}

TEST_F(WaitingTapsTest, ATurnBeginsWhereTheLastOneHasEnded) {
  for (std::uint16_t key = 0; key < 5; ++key) taps_.add(key, 100'000);
  taps_.cost = WaitingTaps::kTimePerTurn / 2;
  EXPECT_TRUE(waiting_.turn());
  EXPECT_TRUE(waiting_.turn());
  EXPECT_TRUE(waiting_.turn());
  EXPECT_EQ(taps_.order, (Keys{0, 1, 2, 3, 4, 0})) << "two in the time of a turn";
}

TEST_F(WaitingTapsTest, OneReadIsTheLeast) {
  taps_.add(1, 100);
  taps_.cost = 2 * WaitingTaps::kTimePerTurn;
  EXPECT_TRUE(waiting_.turn());
  EXPECT_EQ(taps_.read_of[1], WaitingTaps::kFramesAtOnce);
}

}  // namespace
}  // namespace paravane::subnet_host
