#include "transport/hca/trunk_maker.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "testing/fake_trunk_device.h"

namespace paravane::transport_hca {
namespace {

using std::chrono::seconds;
using verbs::HostId;
using wire::TrunkState;

constexpr HostId kPeer{7};
const TrunkAdapter kAdapter{.device = "mlx5_0", .port = 1, .address = "192.0.2.1"};

// The maker of one host. The test plays the other, which leads.
class TrunkMakerTest : public testing::Test {
 protected:
  TrunkMakerTest() {
    auto made = TrunkMaker::start(
        [this](const TrunkAdapter& adapter) { return open(adapter); },
        {.offer = [this](
                      HostId,
                      const wire::TrunkOffer& frame) { note([&] { offers_.push_back(frame); }); },
         .ready = [](HostId, const wire::TrunkReady&) {},
         .made =
             [this](HostId, MadeTrunk trunk, const TrunkAdapter& adapter) {
               note([&] { made_.push_back(std::move(trunk)), device_ = adapter.device; });
             },
         .run_at_owner = [this](const std::function<void()>& act) { note(act); },
         .none = [this](HostId, const NoTrunk& none) { note([&] { nones_.push_back(none); }); }},
        true);
    EXPECT_TRUE(made);
    maker_ = std::move(*made);
  }

  Result<std::shared_ptr<TrunkDevice>> open(const TrunkAdapter& adapter) {
    const std::lock_guard lock(mutex_);
    ++opened_;
    if (refuses_) return std::unexpected(*refuses_);
    if (adapter != kAdapter || !is_there_) return fail(Errc::kNotFound, "there is no mlx5_0");
    auto device = std::make_shared<fake::FakeTrunkDevice>(net_);
    last_device_ = device;
    return device;
  }
  template <typename Act>
  void note(Act act) {
    const std::lock_guard lock(mutex_);
    act();
    changed_.notify_all();
  }
  template <typename Condition>
  bool waits_for(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(20), condition);
  }
  bool says(const std::string& why) {
    return waits_for([&] { return !nones_.empty() && nones_.back().why == why; });
  }
  bool offers(TrunkState state) {
    return waits_for([&] {
      return !offers_.empty() && offers_.back().state.get() == std::to_underlying(state);
    });
  }
  void offer(std::uint64_t number) {
    wire::TrunkOffer frame{};
    frame.number.set(number);
    frame.path_mtu_bytes.set(1024);
    maker_->on_offer(kPeer, frame);
  }
  bool makes_trunk(std::uint64_t number) {
    const std::size_t before = made_.size();
    offer(number);
    const bool answered = waits_for([&] {
      return !offers_.empty() && offers_.back().number.get() == number &&
             offers_.back().state.get() == 0;
    });
    maker_->on_ready(kPeer, {.number = Le64(number)});
    return answered && waits_for([&] { return made_.size() > before; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_there_ = true;
  std::optional<Error> refuses_;
  unsigned opened_ = 0;
  std::shared_ptr<fake::FakeTrunkNet> net_ = std::make_shared<fake::FakeTrunkNet>();
  std::weak_ptr<fake::FakeTrunkDevice> last_device_;
  std::vector<wire::TrunkOffer> offers_;
  std::vector<MadeTrunk> made_;
  std::vector<NoTrunk> nones_;
  std::string device_;
  std::unique_ptr<TrunkMaker> maker_;  // ends first
};

TEST_F(TrunkMakerTest, MakesATrunkWithTheAdapterThatItIsGiven) {
  maker_->set_adapter(kAdapter, {});
  maker_->on_channel(kPeer, false);
  ASSERT_TRUE(offers(TrunkState::kWilling));
  ASSERT_TRUE(makes_trunk(1));
  EXPECT_EQ(device_, "mlx5_0");
}

TEST_F(TrunkMakerTest, WithoutAnAdapterItSaysWhy) {
  maker_->on_channel(kPeer, false);
  maker_->set_adapter(std::nullopt, {.state = TrunkState::kOff, .why = "off by policy"});
  EXPECT_TRUE(says("off by policy"));
  EXPECT_TRUE(offers(TrunkState::kOff));
  EXPECT_EQ(opened_, 0U);
}

TEST_F(TrunkMakerTest, WhatTheHostsKnowAlreadyIsNotSaidAgain) {
  maker_->on_channel(kPeer, false);
  maker_->set_adapter(std::nullopt, {.state = TrunkState::kNoAdapter, .why = "none yet"});
  ASSERT_TRUE(offers(TrunkState::kNoAdapter));
  note([&] { offers_.clear(); });
  for (int i = 0; i < 5; ++i) {
    maker_->set_adapter(std::nullopt, {.state = TrunkState::kNoAdapter, .why = "none yet"});
  }
  maker_->set_adapter(std::nullopt, {.state = TrunkState::kOff, .why = "off by policy"});
  ASSERT_TRUE(offers(TrunkState::kOff));
  EXPECT_EQ(offers_.size(), 1U);
}

TEST_F(TrunkMakerTest, EachReasonIsToldAsItsKind) {
  maker_->on_channel(kPeer, false);
  maker_->set_adapter(kAdapter, {});
  for (const auto& [code, state] : {std::pair(Errc::kUnsupported, TrunkState::kIwarp),
                                    std::pair(Errc::kBadState, TrunkState::kPortDown),
                                    std::pair(Errc::kNotFound, TrunkState::kNoAdapter),
                                    std::pair(Errc::kIo, TrunkState::kFailed)}) {
    note([&] { refuses_ = Error{.code = code, .message = "no"}; });
    EXPECT_TRUE(offers(state));
  }
}

TEST_F(TrunkMakerTest, AnAdapterThatComesLaterIsFound) {
  is_there_ = false;
  maker_->on_channel(kPeer, false);
  maker_->set_adapter(kAdapter, {});
  ASSERT_TRUE(says("there is no mlx5_0"));
  note([&] { is_there_ = true; });
  ASSERT_TRUE(offers(TrunkState::kWilling));
  EXPECT_TRUE(makes_trunk(1));
}

TEST_F(TrunkMakerTest, AnAdapterThatFailsEndsTheTrunkAndIsOpenedAgain) {
  maker_->on_channel(kPeer, false);
  maker_->set_adapter(kAdapter, {});
  ASSERT_TRUE(offers(TrunkState::kWilling));
  ASSERT_TRUE(makes_trunk(1));
  last_device_.lock()->fail("mlx5_0 was removed or has failed");
  ASSERT_TRUE(says("mlx5_0 was removed or has failed"));
  ASSERT_TRUE(offers(TrunkState::kPortDown));
  ASSERT_TRUE(offers(TrunkState::kWilling));
  EXPECT_TRUE(makes_trunk(2));
  EXPECT_EQ(opened_, 2U);
}

TEST_F(TrunkMakerTest, AnAdapterThatIsRemovedIsLetGoThoughItSaysNothing) {
  maker_->on_channel(kPeer, false);
  maker_->set_adapter(kAdapter, {});
  ASSERT_TRUE(offers(TrunkState::kWilling));
  ASSERT_TRUE(makes_trunk(1));
  note([&] { is_there_ = false, made_.clear(); });
  last_device_.lock()->remove();
  ASSERT_TRUE(says("mlx5_0 was removed"));
  EXPECT_TRUE(says("there is no mlx5_0"));
  EXPECT_TRUE(waits_for([&] { return last_device_.expired(); }));
}

TEST_F(TrunkMakerTest, AChannelThatIsReplacedBeginsAnew) {
  maker_->set_adapter(kAdapter, {});
  maker_->on_channel(kPeer, false);
  ASSERT_TRUE(offers(TrunkState::kWilling));
  ASSERT_TRUE(makes_trunk(5));
  note([&] { offers_.clear(); });
  maker_->on_channel_lost(kPeer);
  maker_->on_channel(kPeer, false);
  ASSERT_TRUE(offers(TrunkState::kWilling));
  ASSERT_TRUE(makes_trunk(5));
}

// Or the end of one that is gone would end the one that came after it.
TEST_F(TrunkMakerTest, NoTwoTrunksToAHostHaveTheSameNumber) {
  maker_->set_adapter(kAdapter, {});
  maker_->on_channel(kPeer, false);
  ASSERT_TRUE(offers(TrunkState::kWilling));
  ASSERT_TRUE(makes_trunk(1));
  const std::uint64_t first = made_.back().number;
  note([&] { offers_.clear(); });
  maker_->on_channel_lost(kPeer);
  maker_->on_channel(kPeer, false);
  ASSERT_TRUE(offers(TrunkState::kWilling));
  ASSERT_TRUE(makes_trunk(1));
  EXPECT_NE(made_.back().number, first);
  note([&] { nones_.clear(); });
  maker_->on_lost(kPeer, first, "the one before");
  maker_->on_lost(kPeer, made_.back().number, "this one");
  ASSERT_TRUE(waits_for([&] { return !nones_.empty(); }));
  EXPECT_EQ(nones_.front().why, "this one");
}

TEST_F(TrunkMakerTest, AHostThatIsNotThereIsNotAnswered) {
  maker_->set_adapter(kAdapter, {});
  maker_->on_channel(kPeer, false);
  ASSERT_TRUE(offers(TrunkState::kWilling));
  note([&] { offers_.clear(); });
  maker_->on_channel_lost(kPeer);
  offer(1);
  maker_->on_ready(kPeer, {.number = Le64(1)});
  maker_->on_lost(kPeer, 1, "lost");
  maker_->on_channel(kPeer, false);
  ASSERT_TRUE(offers(TrunkState::kWilling));
  ASSERT_TRUE(makes_trunk(2));
  EXPECT_EQ(made_.size(), 1U);
}

}  // namespace
}  // namespace paravane::transport_hca
