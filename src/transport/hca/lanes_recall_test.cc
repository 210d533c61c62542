// What an RDMA adapter was lent is recalled before it ends: when a command, a message of the VMM or
// a cancellation has been answered, the adapter accesses none of its memory any more.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "testing/engine_rig.h"
#include "testing/lanes_rig.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;
using testing::Each;
using verbs::WcStatus;

constexpr std::uint64_t kMessage = 1 << 20;

class LanesRecallTest : public testing::Test {
 protected:
  struct Pair {
    Pair(LanesRig& rig, std::uint64_t its_id)
        : a(rig.a().queue_pair()),
          b(rig.b().queue_pair()),
          from(rig.a().buffer(kMessage)),
          to(rig.b().buffer(kMessage)),
          id(its_id) {
      LanesRig::connect(rig.a(), *a, rig.b(), *b);
      rig.a().fill(from, static_cast<std::uint8_t>(id));
    }
    void send() {
      b->post(receive_request(id, {to.whole()}));
      a->post(send_request(id, {from.whole()}));
    }
    std::unique_ptr<EngineQp> a;
    std::unique_ptr<EngineQp> b;
    EngineBuffer from;
    EngineBuffer to;
    std::uint64_t id;
  };

  LanesRecallTest() {
    neighbour_.send();  // memory is registered when the first long message wants that
    rig_.run();
    neighbour_.a->sends.clear();
    neighbour_.b->receives.clear();
    rig_.trunk(0).hold_lanes(true);
    pair_.send();
    neighbour_.send();
    rig_.run();
  }
  // The adapters have memory of both ends, and nothing has moved.
  void expect_lent() {
    EXPECT_GT(rig_.trunk(1).lane_receives(), 0u);
    EXPECT_GT(rig_.trunk(0).lane_sends(), 0u);
    EXPECT_FALSE(rig_.a().memory().loans().empty());
    EXPECT_FALSE(rig_.b().memory().loans().empty());
  }
  void expect_all_of(Pair& pair) {
    EXPECT_EQ(pair.a->sends.statuses(), std::vector{WcStatus::kSuccess});
    EXPECT_EQ(pair.b->receives.statuses(), std::vector{WcStatus::kSuccess});
    EXPECT_EQ(rig_.b().read(pair.to, 0, kMessage),
              EngineVm::pattern(kMessage, static_cast<std::uint8_t>(pair.id)));
  }
  // After `act` the adapter of that end has none of its memory, and another may have it: what the
  // peer's adapter still sends changes nothing. The neighbour's message arrives.
  void recall(EngineVm& vm, const std::function<void()>& act) {
    expect_lent();
    const bool is_b = &vm == &rig_.b();
    act();
    EXPECT_TRUE(vm.memory().loans().empty());
    EXPECT_EQ(is_b ? rig_.trunk(1).lane_receives() : rig_.trunk(0).lane_sends(), 0u);
    const auto before = rig_.b().read(pair_.to, 0, kMessage);
    rig_.trunk(0).hold_lanes(false);
    EXPECT_EQ(rig_.b().read(pair_.to, 0, kMessage), before);
    ASSERT_TRUE(rig_.run());
  }
  static void reset(EngineQp& qp) { ASSERT_TRUE(move(*qp.qp, verbs::QpState::kReset, {})); }
  static void stop(EngineQp& qp) { ASSERT_TRUE(move(*qp.qp, verbs::QpState::kError, {})); }
  void expect_nothing_arrived() {
    EXPECT_EQ(pair_.b->receives.size(), 0u);
    EXPECT_THAT(rig_.b().read(pair_.to, 0, kMessage), Each(std::byte{0}));
  }

  LanesRig rig_;
  Pair neighbour_{rig_, 1};
  Pair pair_{rig_, 2};
};

TEST_F(LanesRecallTest, AResetOfTheReceiver) {
  recall(rig_.b(), [this] { reset(*pair_.b); });
  expect_all_of(neighbour_);
  expect_nothing_arrived();
}

TEST_F(LanesRecallTest, HowLongTheAdapterTakesIsCounted) {
  constexpr milliseconds kTakes(7);
  const auto longest = [this] {
    return rig_.tcp(1).channel_to(verbs::HostId{1})->counters().longest_lane_close_us.value();
  };
  EXPECT_LT(longest(), 7'000u);
  rig_.trunk(1).close_lanes_in(kTakes);
  recall(rig_.b(), [this] { reset(*pair_.b); });
  EXPECT_GE(longest(), 7'000u);
}

TEST_F(LanesRecallTest, AResetOfTheSender) {
  recall(rig_.a(), [this] { reset(*pair_.a); });
  expect_all_of(neighbour_);
  expect_nothing_arrived();
}

TEST_F(LanesRecallTest, AnErrorOfEither) {
  recall(rig_.b(), [this] { stop(*pair_.b); });
  expect_all_of(neighbour_);
  EXPECT_THAT(rig_.b().read(pair_.to, 0, kMessage), Each(std::byte{0}));
}

TEST_F(LanesRecallTest, AQueuePairThatIsDestroyed) {
  recall(rig_.b(), [this] { pair_.b->qp.reset(); });
  expect_all_of(neighbour_);
  expect_nothing_arrived();
}

TEST_F(LanesRecallTest, ARegionOfTheReceiver) {
  recall(rig_.b(), [this] { ASSERT_TRUE(rig_.b().adapter().regions().remove(pair_.to.key)); });
  expect_all_of(neighbour_);
  EXPECT_EQ(pair_.b->receives.statuses(), std::vector{WcStatus::kLocalProtectionError});
  EXPECT_EQ(pair_.a->sends.statuses(), std::vector{WcStatus::kRemoteOperationError});
  EXPECT_THAT(rig_.b().read(pair_.to, 0, kMessage), Each(std::byte{0}));
}

TEST_F(LanesRecallTest, ARegionOfTheSender) {
  recall(rig_.a(), [this] { ASSERT_TRUE(rig_.a().adapter().regions().remove(pair_.from.key)); });
  expect_all_of(neighbour_);
  EXPECT_EQ(pair_.a->sends.statuses(), std::vector{WcStatus::kLocalProtectionError});
}

// Of a region that the adapter does not access.
TEST_F(LanesRecallTest, AnotherRegionRecallsNothing) {
  const EngineBuffer other = rig_.b().buffer(4096);
  const std::size_t lent = rig_.trunk(1).lane_receives();
  ASSERT_TRUE(rig_.b().adapter().regions().remove(other.key));
  EXPECT_EQ(rig_.trunk(1).lane_receives(), lent);
  rig_.trunk(0).hold_lanes(false);
  ASSERT_TRUE(rig_.run());
  expect_all_of(pair_);
  expect_all_of(neighbour_);
  EXPECT_EQ(rig_.lane_bytes(), 3 * kMessage - kMessage);  // all but the first message
}

TEST_F(LanesRecallTest, MemoryThatIsUnmapped) {
  recall(rig_.b(),
         [this] { rig_.b().memory().unmap(rig_.b().ram().base(), rig_.b().ram().size()); });
}

TEST_F(LanesRecallTest, MemoryThatIsMappedAnew) {
  recall(rig_.b(), [this] {
    rig_.b().memory().unmap(rig_.b().ram().base(), rig_.b().ram().size());
    rig_.b().ram().show(rig_.b().memory());
  });
  expect_all_of(neighbour_);
  expect_all_of(pair_);
  // What was registered before is not used any more.
  rig_.advance(milliseconds(250));
  for (const bool is_registered : {false, true}) {
    const std::uint64_t before = rig_.lane_bytes();
    pair_.a->sends.clear();
    pair_.b->receives.clear();
    pair_.send();
    ASSERT_TRUE(rig_.run());
    expect_all_of(pair_);
    EXPECT_EQ(rig_.lane_bytes() - before, is_registered ? kMessage : 0);
  }
}

TEST_F(LanesRecallTest, BusMasteringThatIsTurnedOff) {
  recall(rig_.b(), [this] { rig_.b().memory().set_dma_enabled(false); });
}

TEST_F(LanesRecallTest, AnAdapterThatIsClosed) {
  recall(rig_.b(), [this] { rig_.b().adapter().set_closed(true); });
  rig_.b().adapter().set_closed(false);
}

// What a READ brings.
TEST_F(LanesRecallTest, AResetOfTheReader) {
  rig_.trunk(0).hold_lanes(false);
  ASSERT_TRUE(rig_.run());
  rig_.trunk(1).hold_lanes(true);
  rig_.a().fill(pair_.from, 5);
  pair_.a->post(read_request(9, {pair_.from.whole()}, pair_.to.start, pair_.to.key));
  ASSERT_TRUE(rig_.run());
  EXPECT_GT(rig_.trunk(0).lane_receives(), 0u);
  reset(*pair_.a);
  EXPECT_EQ(rig_.trunk(0).lane_receives(), 0u);
  EXPECT_TRUE(rig_.a().memory().loans().empty());
  rig_.trunk(1).hold_lanes(false);
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(rig_.a().read(pair_.from, 0, kMessage), EngineVm::pattern(kMessage, 5));
}

// A VM of its own has a lane of its own.
TEST_F(LanesRecallTest, AnotherVmGoesOnByItsLane) {
  EngineVm& other = rig_.add(1);
  const auto a = rig_.a().queue_pair();
  const auto b = other.queue_pair();
  LanesRig::connect(rig_.a(), *a, other, *b);
  const EngineBuffer from = rig_.a().buffer(kMessage);
  const EngineBuffer to = other.buffer(kMessage);
  for (int i = 0; i < 2; ++i) {
    b->post(receive_request(1, {to.whole()}));
    a->post(send_request(1, {from.whole()}));
    rig_.trunk(0).hold_lanes(i > 0);
    ASSERT_TRUE(rig_.run());
  }
  pair_.send();
  ASSERT_TRUE(rig_.run());
  EXPECT_FALSE(rig_.b().memory().loans().empty());
  const std::size_t lent = other.memory().loans().count();
  EXPECT_GT(lent, 0u);
  reset(*pair_.b);
  EXPECT_TRUE(rig_.b().memory().loans().empty());
  EXPECT_EQ(other.memory().loans().count(), lent);
  const std::uint64_t before = rig_.lane_bytes();
  rig_.trunk(0).hold_lanes(false);
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(a->sends.statuses(), (std::vector{WcStatus::kSuccess, WcStatus::kSuccess}));
  EXPECT_GE(rig_.lane_bytes() - before, kMessage);
}

}  // namespace
}  // namespace paravane::fake
