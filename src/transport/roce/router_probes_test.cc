#include "transport/roce/router_probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace paravane::transport_roce {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using wire::roce::Network;
using wire::roce::ProbeNonce;

RouterWay way_to(std::uint8_t last, std::uint8_t gateway = 1) {
  return {.own = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 1}},
          .peer = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 1, last}},
          .gateway = {2, 0, 0, 0, 0, gateway},
          .hop_limit = 64};
}

class RouterProbesTest : public testing::Test {
 protected:
  std::shared_ptr<RouterProbe> use(const RouterWay& way) {
    return probes_.use(way, Network::kV2Ipv4, now_);
  }
  // As the port's timer does.
  void run_for(Duration duration) {
    const Instant end = now_ + duration;
    while (probes_.due() <= end) {
      now_ = std::max(now_, probes_.due());
      probes_.tick(now_, {.leads = [this](const RouterWay&) { return leads_; },
                          .send = [this](const RouterProbe& probe) -> std::optional<ProbeNonce> {
                            if (!has_room_) return std::nullopt;
                            ProbeNonce nonce{};
                            nonce[0] = std::byte(sent_.size());
                            nonce[1] = std::byte(sent_.size() >> 8);
                            sent_.push_back(nonce);
                            if (answers_) {
                              probes_.on_answer(probe.way().own, probe.way().peer, nonce);
                            }
                            return nonce;
                          }});
    }
    now_ = end;
  }
  ProbeState state_of(const RouterWay& way) const {
    const RouterProbe* probe = probes_.find(way);
    return probe != nullptr ? probe->state() : ProbeState::kNone;
  }
  bool answer(const RouterWay& way, const ProbeNonce& nonce) {
    return probes_.on_answer(way.own, way.peer, nonce);
  }

  Instant now_ = Instant{} + 1h;
  bool leads_ = true;
  bool has_room_ = true;
  bool answers_ = false;
  std::vector<ProbeNonce> sent_;
  std::shared_ptr<ProbedWays> all_ = std::make_shared<ProbedWays>();
  RouterProbes probes_{all_};
  const RouterWay way_ = way_to(1);
};

TEST_F(RouterProbesTest, NothingIsDueWhileNoWayIsUsed) {
  EXPECT_EQ(probes_.due(), kNever);
  EXPECT_EQ(state_of(way_), ProbeState::kNone);
}

TEST_F(RouterProbesTest, AWayIsProbedEachSecondWhileItIsUsed) {
  const auto used = use(way_);
  EXPECT_EQ(probes_.due(), now_);
  run_for(0s);
  EXPECT_EQ(sent_.size(), 1u);
  EXPECT_EQ(state_of(way_), ProbeState::kAwaited);
  run_for(60s);
  EXPECT_EQ(sent_.size(), 61u);
}

TEST_F(RouterProbesTest, ThreeMissingAnswersInARowMeanThatNothingGetsThrough) {
  const auto used = use(way_);
  run_for(2900ms);
  EXPECT_EQ(sent_.size(), 3u);
  EXPECT_EQ(state_of(way_), ProbeState::kAwaited);
  const std::uint64_t before = probes_.changes();
  run_for(100ms);
  EXPECT_EQ(state_of(way_), ProbeState::kUnanswered);
  EXPECT_NE(probes_.changes(), before);
  EXPECT_TRUE(answer(way_, sent_.back()));
  EXPECT_EQ(state_of(way_), ProbeState::kAnswered);
  run_for(2s);
  EXPECT_TRUE(answer(way_, sent_.at(sent_.size() - 2))) << "a late one counts as well";
  run_for(2900ms);
  EXPECT_EQ(state_of(way_), ProbeState::kAnswered);
}

TEST_F(RouterProbesTest, AnAnswerCountsOnceAndOnlyForItsProbe) {
  const auto used = use(way_);
  run_for(1s);
  ASSERT_EQ(sent_.size(), 2u);
  ProbeNonce guess = sent_[1];
  guess[15] ^= std::byte{1};
  EXPECT_FALSE(answer(way_, guess));
  EXPECT_FALSE(answer(way_to(2), sent_[1])) << "it comes from another adapter";
  EXPECT_EQ(state_of(way_), ProbeState::kAwaited);
  EXPECT_TRUE(answer(way_, sent_[0]));
  EXPECT_FALSE(answer(way_, sent_[0]));
  EXPECT_FALSE(answer(way_, sent_[1])) << "one that came before it is out of date";
  run_for(4s);
  EXPECT_EQ(state_of(way_), ProbeState::kUnanswered);
  EXPECT_FALSE(answer(way_, sent_[0])) << "replayed";
  EXPECT_FALSE(answer(way_, sent_.at(sent_.size() - 4))) << "too late";
  EXPECT_EQ(state_of(way_), ProbeState::kUnanswered);
}

TEST_F(RouterProbesTest, AProbeThatCouldNotLeaveIsNotMissing) {
  has_room_ = false;
  const auto used = use(way_);
  run_for(60s);
  EXPECT_EQ(state_of(way_), ProbeState::kAwaited);
}

TEST_F(RouterProbesTest, WaysThroughTwoGatewaysAreTwo) {
  const auto first = use(way_);
  const auto second = use(way_to(1, 2));
  EXPECT_NE(first, second);
  EXPECT_EQ(use(way_), first);
  run_for(0s);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_TRUE(answer(way_, sent_[1]));
  EXPECT_EQ(state_of(way_), ProbeState::kAwaited);
  EXPECT_EQ(state_of(way_to(1, 2)), ProbeState::kAnswered);
}

// So that an operator hears why a connection ended that had less time than three probes.
TEST_F(RouterProbesTest, AWayIsProbedForAWhileAfterItsLastUse) {
  auto used = use(way_);
  run_for(0s);
  used.reset();
  run_for(5s);
  EXPECT_EQ(state_of(way_), ProbeState::kUnanswered);
  used = use(way_);
  EXPECT_EQ(state_of(way_), ProbeState::kUnanswered) << "it is the same";
  run_for(60s);
  EXPECT_FALSE(used->is_over());
  used.reset();
  run_for(12s);
  EXPECT_THAT(probes_.reports(now_), IsEmpty());
  EXPECT_EQ(probes_.due(), kNever);
  EXPECT_EQ(all_->count, 0u);
}

TEST_F(RouterProbesTest, AWayThatLeadsThroughNoRouterAnyMoreIsNotProbed) {
  const auto used = use(way_);
  run_for(2s);
  leads_ = false;
  run_for(1s);
  EXPECT_TRUE(used->is_over());
  EXPECT_EQ(probes_.due(), kNever);
  EXPECT_EQ(sent_.size(), 3u);
  leads_ = true;
  EXPECT_NE(use(way_), used);
}

TEST_F(RouterProbesTest, AnAdapterProbesABoundedNumberOfWays) {
  std::vector<std::shared_ptr<RouterProbe>> used;
  for (std::uint8_t i = 0; i < RouterProbes::kMost; ++i) used.push_back(use(way_to(i)));
  EXPECT_EQ(use(way_to(99)), nullptr);
  EXPECT_EQ(use(way_to(0)), used[0]);
  run_for(10s);
  EXPECT_EQ(sent_.size(), 11 * RouterProbes::kMost);
  used[3].reset();
  EXPECT_NE(use(way_to(99)), nullptr) << "in the place of one that is not used any more";
  EXPECT_EQ(state_of(way_to(3)), ProbeState::kNone);
  EXPECT_EQ(all_->count, RouterProbes::kMost);
}

TEST_F(RouterProbesTest, AllAdaptersTogetherProbeABoundedNumberOfWays) {
  all_->count = RouterProbes::kMostOfAll - 1;
  auto used = use(way_);
  ASSERT_NE(used, nullptr);
  EXPECT_EQ(use(way_to(2)), nullptr);
  used.reset();
  EXPECT_NE(use(way_to(2)), nullptr);
  probes_.clear();
  EXPECT_EQ(all_->count, RouterProbes::kMostOfAll - 1);
}

TEST_F(RouterProbesTest, TellsWhetherPacketsOfThePeerComeAllTheSame) {
  const auto used = use(way_);
  used->on_packet(now_);
  run_for(3s);
  EXPECT_EQ(state_of(way_), ProbeState::kUnanswered);
  EXPECT_FALSE(used->report(now_).hears_peer) << "from before the first one that is missing";
  used->on_packet(now_);
  run_for(1s);
  EXPECT_TRUE(used->report(now_).hears_peer);
  run_for(1s);
  EXPECT_FALSE(used->report(now_).hears_peer);
}

}  // namespace
}  // namespace paravane::transport_roce
