#include "transport/roce/shared_window.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "testing/roce_rig.h"

namespace paravane::fake {
namespace {

using transport_roce::Retransmission;
using transport_roce::SharedWindow;

TEST(SharedWindow, IsDividedAmongThoseWithRequests) {
  SharedWindow window;
  std::deque<SharedWindow::Part> parts;
  for (int i = 0; i < 8; ++i) parts.emplace_back(window).take();
  EXPECT_EQ(parts.front().packets(), SharedWindow::kMost / 8);
  parts.front().take();  // it has its part
  EXPECT_EQ(parts.front().packets(), SharedWindow::kMost / 8);
  parts.front().leave();
  parts.front().leave();
  EXPECT_EQ(parts.front().packets(), SharedWindow::kMost / 7);
  parts.clear();
  SharedWindow::Part last(window);
  last.take();
  EXPECT_EQ(last.packets(), SharedWindow::kMost);
}

TEST(SharedWindow, EachHasTheLeastWindow) {
  SharedWindow window;
  std::deque<SharedWindow::Part> parts;
  for (std::uint32_t i = 0; i < 2 * SharedWindow::kMost; ++i) parts.emplace_back(window).take();
  EXPECT_EQ(parts.front().packets(), Retransmission::kLeastWindow);
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
  EXPECT_LE(held.size(), SharedWindow::kMost);
  EXPECT_GE(held.size(), kPairs * Retransmission::kLeastWindow);
  // All goes on as answers come.
  while (!held.empty()) {
    for (auto& [side, frame] : std::exchange(held, {}))
      rig.wire().inject(1 - side, std::move(frame));
    ASSERT_TRUE(rig.run());
  }
  for (auto& [sender, receiver] : pairs) EXPECT_EQ(sender->sends.size(), 1u);
  EXPECT_EQ(rig.counters(0).retransmitted.value(), 0u);
  // Those that have nothing to send leave their parts to the others.
  pairs[0].first->post(write_request(2, {from.whole()}, to.start, to.key));
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(held.size(), 32u);
}

}  // namespace
}  // namespace paravane::fake
