// Two connections over one slow line, whose router marks packets, or loses them when its queue is
// full.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "testing/roce_rig.h"

namespace paravane::fake {
namespace {

using std::chrono::microseconds;
using wire::roce::Ecn;
using wire::roce::Opcode;
using wire::roce::Packet;

constexpr std::size_t kPacket = 1024;

// From a to b a packet each 8 us, about 1 Gbit/s; back without delay.
class SlowLine {
 public:
  static constexpr Duration kPerPacket = microseconds(8);
  SlowLine(RoceRig& rig, std::size_t marks_above, std::size_t room)
      : rig_(rig), marks_above_(marks_above), room_(room) {
    rig_.wire().set_weather(
        [this](unsigned side, FrameBytes frame) { return pass(side, std::move(frame)); });
  }
  ~SlowLine() { rig_.wire().set_weather({}); }
  SlowLine(const SlowLine&) = delete;
  SlowLine& operator=(const SlowLine&) = delete;

  void deliver() {
    if (queue_.empty()) return;
    ++delivered_;
    rig_.wire().inject(1, std::move(queue_.front()));
    queue_.pop_front();
  }
  std::uint64_t delivered() const { return delivered_; }
  std::uint64_t marked() const { return marked_; }
  std::uint64_t lost() const { return lost_; }
  std::uint64_t notices() const { return notices_; }
  std::vector<Ecn> ecn_of_requests;  // of the first ones

 private:
  std::vector<FrameBytes> pass(unsigned side, FrameBytes frame) {
    const auto parsed = wire::roce::parse_frame(frame);
    if (side != 0) {
      if (parsed && parsed->packet.opcode == Opcode::kCongestionNotification) ++notices_;
      return std::vector<FrameBytes>{std::move(frame)};
    }
    if (queue_.size() >= room_) {
      ++lost_;
      return {};
    }
    Packet packet = parsed->packet;
    const Ecn ecn = wire::roce::ecn_of(packet.route.traffic_class);
    if (ecn_of_requests.size() < 1000) ecn_of_requests.push_back(ecn);
    if (queue_.size() >= marks_above_ && ecn != Ecn::kNotCapable) {
      ++marked_;
      packet.route.traffic_class =
          wire::roce::with_ecn(packet.route.traffic_class, Ecn::kCongestionExperienced);
      frame = frame_of(packet, parsed->payload);
    }
    queue_.push_back(std::move(frame));
    return {};
  }

  RoceRig& rig_;
  const std::size_t marks_above_;
  const std::size_t room_;
  std::deque<FrameBytes> queue_;
  std::uint64_t delivered_ = 0;
  std::uint64_t marked_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t notices_ = 0;
};

class RoceCongestion : public testing::Test {
 protected:
  RoceCongestion() {
    attributes_.path_mtu = 3;  // 1024
    for (auto& [sender, receiver] : pairs_) {
      sender = rig_.a().queue_pair();
      receiver = rig_.b().queue_pair();
      rig_.connect(rig_.a(), *sender, rig_.b(), *receiver, attributes_);
    }
  }
  // The second sender begins later. How much each has sent while both did.
  std::array<std::uint64_t, 2> share_of_both(SlowLine& line) {
    constexpr int kTogether = 60'000;
    constexpr int kAlone = 5'000;
    std::array<std::size_t, 2> before{};
    for (int i = 0; i < kAlone + kTogether; ++i) {
      keep_busy(0);
      if (i >= kAlone) keep_busy(1);
      if (i == kAlone + kTogether / 4) before = done();
      line.deliver();
      rig_.advance(SlowLine::kPerPacket);
    }
    const std::array<std::size_t, 2> after = done();
    return {after[0] - before[0], after[1] - before[1]};
  }
  void keep_busy(std::size_t pair) {
    EngineQp& sender = *pairs_.at(pair).first;
    while (posted_.at(pair) < sender.sends.size() + 32) {
      sender.post(write_request(posted_.at(pair)++, {from_.whole()}, to_.start, to_.key));
    }
  }
  std::array<std::size_t, 2> done() const {
    return {pairs_[0].first->sends.size(), pairs_[1].first->sends.size()};
  }

  RoceRig rig_;
  verbs::QpAttributes attributes_ = default_attributes();
  std::array<std::pair<std::unique_ptr<EngineQp>, std::unique_ptr<EngineQp>>, 2> pairs_;
  std::array<std::uint64_t, 2> posted_{};
  const EngineBuffer from_ = rig_.a().buffer(16 * kPacket);
  const EngineBuffer to_ = rig_.b().buffer(16 * kPacket);
};

TEST_F(RoceCongestion, TwoSendersShareALineThatMarks) {
  SlowLine line(rig_, 40, 400);
  const auto [first, second] = share_of_both(line);
  EXPECT_GT(line.marked(), 0u);
  EXPECT_GT(line.notices(), 0u);
  EXPECT_EQ(line.lost(), 0u);
  EXPECT_LE(std::max(first, second) * 10, std::min(first, second) * 12) << first << " " << second;
  EXPECT_GE(line.delivered(), 65'000u * 85 / 100);
  EXPECT_EQ(rig_.counters(0).retransmitted.value(), 0u);
  EXPECT_EQ(rig_.counters(0).notices_received.value(), line.notices());
}

TEST_F(RoceCongestion, TwoSendersShareALineThatLoses) {
  SlowLine line(rig_, 1'000'000, 100);
  const auto [first, second] = share_of_both(line);
  EXPECT_GT(line.lost(), 0u);
  EXPECT_LE(std::max(first, second) * 10, std::min(first, second) * 12) << first << " " << second;
  const std::uint64_t useful = (posted_[0] + posted_[1] - 64) * 16;
  EXPECT_GE(useful, 65'000u * 70 / 100);
}

// rdma_rxe neither answers marks nor knows notifications.
TEST_F(RoceCongestion, PeersThatAreNoAdaptersHearNothingOfMarks) {
  rig_.wire().set_weather([](unsigned, FrameBytes frame) {
    const auto parsed = wire::roce::parse_frame(frame);
    Packet packet = parsed->packet;
    EXPECT_NE(packet.opcode, Opcode::kCongestionNotification);
    packet.migrated = false;
    packet.route.traffic_class =
        wire::roce::with_ecn(packet.route.traffic_class, Ecn::kCongestionExperienced);
    return std::vector<FrameBytes>{frame_of(packet, parsed->payload)};
  });
  keep_busy(0);
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(pairs_[0].first->sends.size(), 32u);
  EXPECT_EQ(rig_.counters(1).notices_sent.value(), 0u);
}

}  // namespace
}  // namespace paravane::fake
