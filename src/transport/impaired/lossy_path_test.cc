// What a connection makes of a path that loses, delays and reorders: everything is done
// once and in order, whatever carries in the end.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/wire_int.h"
#include "testing/impaired_rig.h"
#include "testing/impaired_tcp_rig.h"

namespace paravane::transport_impaired {
namespace {

using fake::EngineBuffer;
using fake::EngineQp;
using fake::EngineVm;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Each;
using verbs::WcStatus;

// A seed with which the first message comes, its answer does not, and the second message,
// its answer too.
std::uint64_t seed_of_one_lost_answer(std::uint32_t loss) {
  for (std::uint64_t seed = 1;; ++seed) {
    const Impairment impairment{.loss = loss, .seed = seed};
    const Fate first = fate_of(impairment, {.message = 1});
    const Fate second = fate_of(impairment, {.message = 2});
    if (!first.lost && first.answer_lost && !second.lost && !second.answer_lost) return seed;
  }
}

constexpr std::uint32_t kHalf = kPartsPerMillion / 2;

template <typename Rig>
class LossyPath : public testing::Test {
 protected:
  LossyPath() {
    attributes.timeout = 10;  // 4 ms
    attributes.retry_count = 7;
  }
  void connect() { rig.connect(rig.a(), *qp_a, rig.b(), *qp_b, attributes); }
  void lose_one_answer() {
    rig.impaired().set({.loss = kHalf, .seed = seed_of_one_lost_answer(kHalf)});
    connect();
  }
  static std::uint64_t word(EngineVm& vm, const EngineBuffer& buffer, std::uint64_t offset = 0) {
    Le64 value;
    const std::vector<std::byte> bytes = vm.read(buffer, offset, sizeof value);
    std::memcpy(&value, bytes.data(), sizeof value);
    return value.get();
  }

  Rig rig;
  verbs::QpAttributes attributes = fake::default_attributes();
  std::unique_ptr<EngineQp> qp_a = rig.a().queue_pair();
  std::unique_ptr<EngineQp> qp_b = rig.b().queue_pair();
  EngineBuffer ours = rig.a().buffer(600'000);
  EngineBuffer theirs = rig.b().buffer(600'000);
};

using Rigs = testing::Types<fake::ImpairedRig, fake::ImpairedTcpRig>;
TYPED_TEST_SUITE(LossyPath, Rigs);

TYPED_TEST(LossyPath, ASendWhoseAnswerIsLostIsAnsweredAgainAndNotRepeated) {
  this->lose_one_answer();
  this->qp_b->post(fake::receive_request(1, {this->theirs.whole()}));
  this->qp_b->post(fake::receive_request(2, {this->theirs.whole()}));
  this->qp_a->post(fake::send_request(9, {this->ours.sge(0, 64)}));
  this->rig.advance(milliseconds(3));
  EXPECT_EQ(this->qp_b->receives.size(), 1u);
  EXPECT_EQ(this->qp_a->sends.size(), 0u);

  this->rig.advance(milliseconds(10));
  EXPECT_EQ(this->qp_a->sends.statuses(), std::vector{WcStatus::kSuccess});
  EXPECT_EQ(this->qp_b->receives.wr_ids(), std::vector<std::uint64_t>{1});
  EXPECT_EQ(this->rig.impaired().counts().answers_lost, 1u);
  EXPECT_EQ(this->rig.impaired().counts().lost, 0u);
  EXPECT_EQ(this->qp_a->qp->stats().retries, 1u);
}

TYPED_TEST(LossyPath, AnAtomicWhoseAnswerIsLostIsNotDoneTwice) {
  this->lose_one_answer();
  this->qp_a->post(
      fake::add_request(1, this->ours.sge(0, 8), this->theirs.start, this->theirs.key, 5));
  this->rig.advance(milliseconds(3));
  EXPECT_EQ(this->word(this->rig.b(), this->theirs), 5u);
  EXPECT_EQ(this->qp_a->sends.size(), 0u);

  this->rig.advance(milliseconds(10));
  EXPECT_EQ(this->qp_a->sends.statuses(), std::vector{WcStatus::kSuccess});
  EXPECT_EQ(this->word(this->rig.b(), this->theirs), 5u);
  EXPECT_EQ(this->word(this->rig.a(), this->ours), 0u);
}

// IBTA 9.7.5.1.3: a duplicate READ is executed again, and brings what is there by then.
TYPED_TEST(LossyPath, AReadWhoseAnswerIsLostIsDoneAgain) {
  this->rig.b().fill(this->theirs, 1);
  this->lose_one_answer();
  this->qp_a->post(
      fake::read_request(1, {this->ours.sge(0, 400'000)}, this->theirs.start, this->theirs.key));
  this->rig.advance(milliseconds(3));
  EXPECT_EQ(this->qp_a->sends.size(), 0u);
  this->rig.b().fill(this->theirs, 2);
  this->rig.advance(milliseconds(10));

  EXPECT_EQ(this->qp_a->sends.statuses(), std::vector{WcStatus::kSuccess});
  EXPECT_EQ(this->rig.a().read(this->ours, 0, 400'000), EngineVm::pattern(400'000, 2));
}

// What the last message of many a protocol meets: it came, and the program there has ended.
TYPED_TEST(LossyPath, NobodyAnswersAgainForAPeerThatHasGone) {
  this->lose_one_answer();
  this->qp_b->post(fake::receive_request(1, {this->theirs.whole()}));
  this->qp_a->post(fake::send_request(9, {this->ours.sge(0, 64)}));
  this->rig.advance(milliseconds(3));
  ASSERT_EQ(this->qp_b->receives.size(), 1u);
  this->qp_b.reset();
  this->rig.advance(seconds(1));
  EXPECT_EQ(this->qp_a->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
}

TYPED_TEST(LossyPath, ARefusalThatIsLostIsNotToldAgain) {
  this->lose_one_answer();
  this->qp_a->post(
      fake::write_request(1, {this->ours.sge(0, 64)}, this->theirs.start, this->theirs.key ^ 1));
  this->rig.advance(seconds(1));
  // The peer has ended the connection, and says nothing any more.
  EXPECT_EQ(this->qp_a->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
  EXPECT_EQ(this->qp_b->state(), verbs::QpState::kError);
}

TYPED_TEST(LossyPath, AnAnswerMayBeLostTillRetriesEnd) {
  this->lose_one_answer();
  this->qp_b->post(fake::receive_request(1, {this->theirs.whole()}));
  this->qp_b->post(fake::receive_request(2, {this->theirs.whole()}));
  this->qp_a->post(fake::send_request(9, {this->ours.sge(0, 64)}));
  this->rig.advance(milliseconds(3));
  this->rig.impaired().set({.loss = kPartsPerMillion});
  this->rig.advance(seconds(1));
  EXPECT_EQ(this->qp_a->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
  EXPECT_EQ(this->qp_b->receives.size(), 1u);
}

// The queue pair goes on over a path that is not impaired any more, and knows what it knows.
TYPED_TEST(LossyPath, IsNotRepeatedWhenTheImpairmentIsTakenAwayMeanwhile) {
  this->lose_one_answer();
  this->qp_b->post(fake::receive_request(1, {this->theirs.whole()}));
  this->qp_b->post(fake::receive_request(2, {this->theirs.whole()}));
  this->qp_a->post(fake::send_request(9, {this->ours.sge(0, 64)}));
  this->rig.advance(milliseconds(3));
  ASSERT_EQ(this->qp_b->receives.size(), 1u);
  this->rig.take_away();
  this->rig.advance(milliseconds(10));
  EXPECT_EQ(this->qp_a->sends.statuses(), std::vector{WcStatus::kSuccess});
  EXPECT_EQ(this->qp_b->receives.size(), 1u);
}

TYPED_TEST(LossyPath, EverythingIsDoneOnceWhateverIsLost) {
  this->rig.impaired().set({.loss = 150'000,
                            .reorder = 200'000,
                            .rnr = 50'000,
                            .delay = std::chrono::microseconds(20),
                            .seed = 11});
  this->attributes.rnr_retry = 7;
  this->connect();
  const EngineBuffer old = this->rig.a().buffer(8);
  const EngineBuffer counted = this->rig.b().buffer(8);
  const EngineBuffer read = this->rig.a().buffer(300'000);
  this->rig.a().fill(this->ours, 3);
  constexpr std::uint64_t kRounds = 200;
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    this->qp_b->post(fake::receive_request(i, {this->theirs.sge(400'000 + i * 64, 64)}));
    this->qp_a->post(
        fake::add_request(ids.emplace_back(4 * i), old.whole(), counted.start, counted.key, 1));
    this->qp_a->post(fake::send_request(ids.emplace_back(4 * i + 1), {this->ours.sge(i, 64)}));
    if (i % 16 != 0) continue;
    this->qp_a->post(fake::write_request(ids.emplace_back(4 * i + 2), {this->ours.sge(0, 300'000)},
                                         this->theirs.start, this->theirs.key));
    this->qp_a->post(fake::read_request(ids.emplace_back(4 * i + 3), {read.whole()},
                                        this->theirs.start, this->theirs.key));
  }
  this->rig.advance(seconds(20));

  ASSERT_EQ(this->qp_a->sends.wr_ids(), ids);
  EXPECT_THAT(this->qp_a->sends.statuses(), Each(WcStatus::kSuccess));
  EXPECT_EQ(this->word(this->rig.b(), counted), kRounds);
  EXPECT_EQ(this->word(this->rig.a(), old), kRounds - 1);
  ASSERT_EQ(this->qp_b->receives.size(), kRounds);
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    ASSERT_EQ(this->qp_b->receives.at(i).wr_id, i);
    ASSERT_EQ(this->rig.b().read(this->theirs, 400'000 + i * 64, 64),
              this->rig.a().read(this->ours, i, 64));
  }
  EXPECT_EQ(this->rig.a().read(read, 0, 300'000), EngineVm::pattern(300'000, 3));
  const Counts& counts = this->rig.impaired().counts();
  EXPECT_GT(counts.lost, 20u);
  EXPECT_GT(counts.answers_lost, 20u);
  EXPECT_GT(counts.receiver_not_ready, 3u);
  EXPECT_GT(counts.reordered, 20u);
  EXPECT_EQ(this->rig.impaired().next_due(), kNever);
}

// A slow path is not a narrow one.
TYPED_TEST(LossyPath, CarriesManyAtOnceWhenItIsSlow) {
  this->rig.impaired().set({.delay = milliseconds(10)});
  this->connect();
  for (unsigned i = 0; i < kDepth; ++i) {
    this->qp_a->post(
        fake::write_request(i, {this->ours.sge(0, 64)}, this->theirs.start, this->theirs.key));
  }
  this->rig.advance(milliseconds(9));
  EXPECT_EQ(this->qp_a->sends.size(), 0u);
  this->rig.advance(milliseconds(2));
  EXPECT_EQ(this->qp_a->sends.size(), kDepth);
}

// How a queue pair fares that sends 200 messages, so many at a time.
struct Hits {
  std::uint64_t retries;
  std::uint64_t rnr_waits;
  bool operator==(const Hits&) const = default;
};

template <typename Rig>
Hits hits_with(std::uint64_t seed, unsigned at_once, bool with_others) {
  Rig rig;
  const auto qp_a = rig.a().queue_pair();
  const auto qp_b = rig.b().queue_pair();
  const auto other_a = rig.a().queue_pair();
  const auto other_b = rig.b().queue_pair();
  const EngineBuffer from = rig.a().buffer(64);
  const EngineBuffer to = rig.b().buffer(64);
  verbs::QpAttributes attributes = fake::default_attributes();
  attributes.timeout = 10;
  attributes.retry_count = 7;
  attributes.rnr_retry = 7;
  rig.connect(rig.a(), *qp_a, rig.b(), *qp_b, attributes);
  rig.connect(rig.a(), *other_a, rig.b(), *other_b, attributes);
  rig.impaired().set({.loss = 100'000, .rnr = 50'000, .seed = seed});
  for (unsigned i = 1; i <= 200; ++i) {
    qp_b->post(fake::receive_request(i, {to.whole()}));
    qp_a->post(fake::send_request(i, {from.whole()}));
    if (i % at_once == 0) rig.advance(milliseconds(100));
    // It begins after the other, which is the first to send.
    if (with_others && i > at_once) {
      other_a->post(fake::write_request(i, {from.whole()}, to.start, to.key));
    }
  }
  rig.advance(seconds(10));
  EXPECT_EQ(qp_a->sends.size(), 200u);
  return {.retries = qp_a->qp->stats().retries, .rnr_waits = qp_a->qp->stats().rnr_waits};
}

// What is hit hangs on the seed and the work, not on how fast either comes.
TYPED_TEST(LossyPath, IsTheSameWithTheSameSeedAtAnyPace) {
  const Hits one_by_one = hits_with<TypeParam>(3, 1, false);
  EXPECT_GT(one_by_one.retries, 10u);
  EXPECT_GT(one_by_one.rnr_waits, 2u);
  EXPECT_EQ(one_by_one, hits_with<TypeParam>(3, 1, false));
  EXPECT_EQ(one_by_one, hits_with<TypeParam>(3, 7, false));
  EXPECT_EQ(one_by_one, hits_with<TypeParam>(3, 1000, false));
  EXPECT_EQ(one_by_one, hits_with<TypeParam>(3, 50, true));
  EXPECT_NE(one_by_one, hits_with<TypeParam>(4, 1, false));
}

// With nothing set the path behind it is used as it is: nothing is held or staged.
TYPED_TEST(LossyPath, OnlyPassesOnWhileNothingIsSet) {
  this->connect();
  this->qp_a->post(
      fake::write_request(1, {this->ours.whole()}, this->theirs.start, this->theirs.key));
  this->rig.turn();
  EXPECT_EQ(this->rig.impaired().next_due(), kNever);
  ASSERT_TRUE(this->rig.run());
  EXPECT_EQ(this->qp_a->sends.statuses(), std::vector{WcStatus::kSuccess});
  EXPECT_EQ(this->rig.impaired().counts().delayed, 0u);
}

}  // namespace
}  // namespace paravane::transport_impaired
