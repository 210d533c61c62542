// Networks that lose, repeat, reorder and damage packets: nothing is lost or done twice, and all
// is in order.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "base/wire_int.h"
#include "testing/bad_weather.h"
#include "testing/roce_rig.h"

namespace paravane::fake {
namespace {

using std::chrono::seconds;
using testing::Each;
using verbs::WcStatus;
using wire::roce::Opcode;

constexpr std::uint64_t kBulk = 60'000;

std::uint64_t word_of(const std::vector<std::byte>& bytes) {
  Le64 word;
  std::memcpy(&word, bytes.data(), sizeof word);
  return word.get();
}

class RoceLoss : public testing::Test {
 protected:
  explicit RoceLoss(std::size_t most_packets = 64) : rig_(most_packets) {
    attributes_.path_mtu = 3;  // 1024
    attributes_.timeout = 18;  // 1.07 s
  }
  void connect() { rig_.connect(rig_.a(), *qp_a_, rig_.b(), *qp_b_, attributes_); }

  // Sends, atomics, long writes and reads, posted together. All of them happen once and in order.
  void expect_all_done(std::uint64_t rounds) {
    const EngineBuffer word = rig_.b().buffer(8);
    const EngineBuffer old = rig_.a().buffer(8 * rounds);
    const EngineBuffer from = rig_.a().buffer(kBulk, kEveryRight, 17);
    const EngineBuffer to = rig_.b().buffer(kBulk, kEveryRight, 99);
    const EngineBuffer read = rig_.a().buffer(kBulk, kEveryRight, 5);
    const EngineBuffer inbox = rig_.b().buffer(5000 * rounds);
    rig_.a().fill(from, 3);
    std::vector<std::uint64_t> ids;
    for (std::uint64_t i = 0; i < rounds; ++i) {
      qp_b_->post(receive_request(i, {inbox.sge(i * 5000, 5000)}));
      qp_a_->post(add_request(ids.emplace_back(4 * i), old.sge(8 * i, 8), word.start, word.key, 1));
      qp_a_->post(send_request(ids.emplace_back(4 * i + 1), {from.sge(i, 64 + i * 37 % 4900)}));
      if (i % 8 != 0) continue;
      qp_a_->post(write_request(ids.emplace_back(4 * i + 2), {from.whole()}, to.start, to.key));
      qp_a_->post(read_request(ids.emplace_back(4 * i + 3), {read.whole()}, to.start, to.key));
    }
    for (int i = 0; i < 600 && qp_a_->sends.size() < ids.size(); ++i) rig_.advance(seconds(1));

    ASSERT_EQ(qp_a_->sends.wr_ids(), ids);
    EXPECT_THAT(qp_a_->sends.statuses(), Each(WcStatus::kSuccess));
    EXPECT_EQ(word_of(rig_.b().read(word, 0, 8)), rounds);
    ASSERT_EQ(qp_b_->receives.size(), rounds);
    for (std::uint64_t i = 0; i < rounds; ++i) {
      ASSERT_EQ(word_of(rig_.a().read(old, 8 * i, 8)), i);
      ASSERT_EQ(qp_b_->receives.at(i).wr_id, i);
      const std::uint64_t bytes = 64 + i * 37 % 4900;
      ASSERT_EQ(qp_b_->receives.at(i).byte_len, bytes);
      ASSERT_EQ(rig_.b().read(inbox, i * 5000, bytes), rig_.a().read(from, i, bytes)) << i;
    }
    EXPECT_EQ(rig_.b().read(to, 0, kBulk), rig_.a().read(from, 0, kBulk));
    EXPECT_EQ(rig_.a().read(read, 0, kBulk), rig_.a().read(from, 0, kBulk));
  }

  RoceRig rig_;
  verbs::QpAttributes attributes_ = default_attributes();
  std::unique_ptr<EngineQp> qp_a_ = rig_.a().queue_pair();
  std::unique_ptr<EngineQp> qp_b_ = rig_.b().queue_pair();
};

TEST_F(RoceLoss, OnePercentOfEverything) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    qp_a_ = rig_.a().queue_pair();
    qp_b_ = rig_.b().queue_pair();
    connect();
    rig_.wire().set_weather(
        BadWeather({.lost = 0.01, .repeated = 0.01, .late = 0.01, .damaged = 0.01}, seed));
    expect_all_done(200);
  }
  EXPECT_GT(rig_.counters(0).retransmitted.value(), 0u);
  EXPECT_GT(rig_.counters(0).icrc_errors.value() + rig_.counters(1).icrc_errors.value(), 0u);
}

TEST_F(RoceLoss, TenPercentOfEverything) {
  for (std::uint64_t seed = 11; seed <= 13; ++seed) {
    SCOPED_TRACE(seed);
    qp_a_ = rig_.a().queue_pair();
    qp_b_ = rig_.b().queue_pair();
    connect();
    rig_.wire().set_weather(
        BadWeather({.lost = 0.1, .repeated = 0.1, .late = 0.1, .damaged = 0.1}, seed));
    expect_all_done(100);
  }
}

TEST_F(RoceLoss, NumbersWrap) {
  attributes_.send_psn = 0xFF'FFF0;
  attributes_.receive_psn = 0xFF'FFF0;
  connect();
  rig_.wire().set_weather(BadWeather({.lost = 0.02, .repeated = 0.02, .late = 0.02}, 7));
  expect_all_done(100);
}

// A lost packet is asked for at once, and does not cost a timeout.
TEST_F(RoceLoss, ALostPacketIsAskedFor) {
  connect();
  unsigned count = 0;
  rig_.wire().set_weather([&](unsigned, FrameBytes frame) {
    std::vector<FrameBytes> arrives;
    if (++count != 5) arrives.push_back(std::move(frame));
    return arrives;
  });
  const EngineBuffer from = rig_.a().buffer(kBulk);
  const EngineBuffer to = rig_.b().buffer(kBulk);
  rig_.a().fill(from, 4);
  qp_a_->post(write_request(1, {from.whole()}, to.start, to.key));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
  EXPECT_EQ(rig_.counters(1).naks_sent.value(), 1u);
  EXPECT_EQ(rig_.counters(0).timeouts.value(), 0u);
}

// Of a READ, only what is missing is asked for again.
TEST_F(RoceLoss, AReadIsGoneOnWithWhereItStopped) {
  connect();
  unsigned answers = 0;
  rig_.wire().set_weather([&](unsigned side, FrameBytes frame) {
    std::vector<FrameBytes> arrives;
    if (side == 0 || ++answers != 20) arrives.push_back(std::move(frame));
    return arrives;
  });
  const EngineBuffer to = rig_.a().buffer(kBulk);
  const EngineBuffer from = rig_.b().buffer(kBulk);
  rig_.b().fill(from, 4);
  qp_a_->post(read_request(1, {to.whole()}, from.start, from.key));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
  EXPECT_EQ(rig_.a().read(to, 0, kBulk), rig_.b().read(from, 0, kBulk));
  const unsigned packets = kBulk / 1024 + 1;
  EXPECT_EQ(answers, packets + (packets - 19));
}

// Long READs, while packets of both directions are lost. What the peer sends is counted: it is a
// bounded multiple of the data, whatever the share of losses.
class RoceLongReads : public RoceLoss {
 protected:
  static constexpr std::uint64_t kLong = 1 << 20;
  static constexpr std::uint64_t kPackets = kLong / 1024;
  static constexpr unsigned kReads = 4;

  // Of the peer, for kReads.
  std::uint64_t packets_sent(double lost, std::uint64_t seed) {
    qp_a_ = rig_.a().queue_pair();
    qp_b_ = rig_.b().queue_pair();
    connect();
    std::uint64_t answers = 0;
    rig_.wire().set_weather([&answers, weather = BadWeather({.lost = lost}, seed)](
                                unsigned side, FrameBytes frame) mutable {
      if (side == 1) ++answers;
      return weather(side, std::move(frame));
    });
    for (unsigned i = 0; i < kReads; ++i) {
      rig_.b().fill(from_, static_cast<std::uint8_t>(seed * kReads + i));
      qp_a_->post(read_request(i, {to_.whole()}, from_.start, from_.key));
      for (int s = 0; s < 60 && qp_a_->sends.size() <= i; ++s) rig_.advance(seconds(1));
      EXPECT_TRUE(rig_.a().read(to_, 0, kLong) == rig_.b().read(from_, 0, kLong));
    }
    EXPECT_EQ(qp_a_->sends.statuses(), std::vector(kReads, WcStatus::kSuccess));
    return answers;
  }

  const EngineBuffer from_ = rig_.b().buffer(kLong);
  const EngineBuffer to_ = rig_.a().buffer(kLong);
};

TEST_F(RoceLongReads, AreAskedForWholeWhereNothingIsLost) {
  EXPECT_EQ(packets_sent(0, 1), kReads * kPackets);
  EXPECT_EQ(rig_.counters(0).retransmitted.value(), 0u);
  EXPECT_EQ(rig_.counters(1).packets_received.value(), std::uint64_t{kReads});
}

TEST_F(RoceLongReads, ALossCostsAPart) {
  for (const double lost : {0.01, 0.05, 0.1}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(testing::Message() << lost << ", seed " << seed);
      EXPECT_LT(packets_sent(lost, seed), 2 * kReads * kPackets);
    }
  }
}

// A peer that is gone: the timeout of the queue pair, as often as it allows, and no more.
TEST_F(RoceLoss, APeerThatIsGoneIsGivenUpInTheQueuePairsOwnTime) {
  attributes_.timeout = 14;  // 67 ms
  attributes_.retry_count = 3;
  connect();
  rig_.wire().set_weather([](unsigned, FrameBytes) { return std::vector<FrameBytes>(); });
  const Duration timeout = std::chrono::nanoseconds(4096) * (1 << 14);
  qp_a_->post(send_request(1, {}));
  rig_.advance(4 * timeout - std::chrono::milliseconds(2));
  EXPECT_EQ(qp_a_->sends.size(), 0u);
  rig_.advance(timeout / 2);
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
  EXPECT_EQ(qp_a_->qp->stats().retries, 3u);
}

TEST_F(RoceLoss, WithoutATimeoutAPeerIsWaitedForForEver) {
  attributes_.timeout = 0;
  attributes_.retry_count = 0;
  connect();
  rig_.wire().set_weather([](unsigned, FrameBytes) { return std::vector<FrameBytes>(); });
  qp_a_->post(send_request(1, {}));
  qp_b_->post(receive_request(2, {}));
  rig_.advance(std::chrono::minutes(2));
  EXPECT_EQ(qp_a_->sends.size(), 0u);
  rig_.wire().set_weather({});
  rig_.advance(seconds(3));
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
}

// A READ, and what was posted after it, while the responder may send one packet in each turn: no
// answer passes the data of the READ.
TEST_F(RoceLoss, AnswersLeaveInTheOrderOfTheirNumbers) {
  connect();
  std::vector<verbs::Psn> answers;
  rig_.wire().set_weather([&](unsigned side, FrameBytes frame) {
    if (side == 1) {
      const auto parsed = wire::roce::parse_frame(frame);
      answers.emplace_back(parsed->packet.psn);
    }
    return std::vector<FrameBytes>(1, std::move(frame));
  });
  const EngineBuffer ours = rig_.a().buffer(1 << 20);
  const EngineBuffer theirs = rig_.b().buffer(1 << 20);
  qp_b_->post(receive_request(9, {theirs.whole()}));
  qp_a_->post(read_request(1, {ours.whole()}, theirs.start, theirs.key));
  qp_a_->post(write_request(2, {ours.sge(0, 5000)}, theirs.start, theirs.key));
  qp_a_->post(add_request(3, ours.sge(0, 8), theirs.start, theirs.key, 1));
  qp_a_->post(send_request(4, {ours.sge(0, 64)}));
  for (int i = 0; i < 20'000 && qp_a_->sends.size() < 4; ++i) {
    rig_.turn({.bytes = 1, .operations = 1});
  }
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector(4, WcStatus::kSuccess));
  ASSERT_GT(answers.size(), 1024u);
  for (std::size_t i = 1; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i - 1].is_before(answers[i])) << i;
  }
  EXPECT_EQ(rig_.counters(0).out_of_order.value(), 0u);
}

}  // namespace
}  // namespace paravane::fake
