#include "transport/roce/shared_window.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "testing/roce_rig.h"

namespace paravane::fake {
namespace {

using transport_roce::SharedWindow;

TEST(SharedWindow, CountsWhatAllHaveUnderWay) {
  SharedWindow window;
  SharedWindow::Share first(window);
  {
    SharedWindow::Share second(window);
    first.set(1000);
    second.set(SharedWindow::kMost - 1000);
    EXPECT_TRUE(window.is_full());
    EXPECT_EQ(first.room(), 0u);
    second.set(SharedWindow::kMost);  // of which some are sent again
    EXPECT_EQ(first.room(), 0u);
    first.set(10);
    second.set(90);
    EXPECT_EQ(first.room(), SharedWindow::kMost - 100);
  }
  EXPECT_EQ(window.used(), 10u);
}

// They have one queue before them, that of their peer's tap, and each alone would fill a part of
// it.
TEST(RoceSharedWindow, RequestersOfAPortHaveNoMoreUnderWayThanAQueueHolds) {
  constexpr std::size_t kPairs = 256;
  constexpr std::size_t kMtu = 256;
  RoceRig rig;
  verbs::QpAttributes attributes = default_attributes();
  attributes.path_mtu = 1;
  const EngineBuffer from = rig.a().buffer(32 * kMtu);
  const EngineBuffer to = rig.b().buffer(32 * kMtu);
  std::vector<std::pair<std::unique_ptr<EngineQp>, std::unique_ptr<EngineQp>>> pairs(kPairs);
  for (auto& [sender, receiver] : pairs) {
    sender = rig.a().queue_pair();
    receiver = rig.b().queue_pair();
    rig.connect(rig.a(), *sender, rig.b(), *receiver, attributes);
  }
  std::vector<std::pair<unsigned, FrameBytes>> held;
  rig.wire().set_weather([&held](unsigned side, FrameBytes frame) {
    held.emplace_back(side, std::move(frame));
    return std::vector<FrameBytes>();
  });
  for (auto& [sender, receiver] : pairs) {
    sender->post(write_request(1, {from.whole()}, to.start, to.key));
  }
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(held.size(), SharedWindow::kMost);
  // All goes on as answers come, and those that waited longest are the next.
  while (!held.empty()) {
    EXPECT_LE(held.size(), SharedWindow::kMost);
    for (auto& [side, frame] : std::exchange(held, {}))
      rig.wire().inject(1 - side, std::move(frame));
    ASSERT_TRUE(rig.run());
  }
  for (auto& [sender, receiver] : pairs) EXPECT_EQ(sender->sends.size(), 1u);
  EXPECT_EQ(rig.counters(0).retransmitted.value(), 0u);
  // Nothing is counted of those that have nothing to send.
  pairs[0].first->post(write_request(2, {from.whole()}, to.start, to.key));
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(held.size(), 32u);
}

}  // namespace
}  // namespace paravane::fake
