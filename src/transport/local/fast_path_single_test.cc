// The fast path (src/verbs/fast_path.h), one property at a time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "guestmem/memory_failure.h"
#include "testing/engine_rig.h"
#include "verbs/observer.h"

namespace paravane::transport_local {
namespace {

using fake::add_request;
using fake::EngineBuffer;
using fake::EngineQp;
using fake::EngineRig;
using fake::EngineVm;
using fake::read_request;
using fake::receive_request;
using fake::send_request;
using fake::write_request;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using verbs::QpEvent;
using verbs::QpState;
using verbs::WcStatus;

class CountingObserver final : public verbs::Observer {
 public:
  void on_request(verbs::QueuePair& /*qp*/, verbs::Direction direction,
                  const verbs::RemoteRequest& request, const verbs::ReadBytes& /*bytes*/) override {
    if (direction == verbs::Direction::kIn) arrived_.push_back(request.opcode);
  }
  void on_answer(verbs::QueuePair& /*qp*/, verbs::Direction /*direction*/,
                 const verbs::RemoteRequest& /*request*/, const verbs::Outcome& /*outcome*/,
                 const verbs::ReadBytes& /*bytes*/) override {}
  void on_datagram(verbs::QueuePair& /*qp*/, verbs::Direction /*direction*/,
                   const verbs::DatagramSource& /*source*/, const verbs::SendRequest& /*request*/,
                   std::uint64_t /*length*/, const verbs::ReadBytes& /*bytes*/) override {}
  void on_frame(verbs::Direction /*direction*/, std::span<const std::byte> /*frame*/,
                std::size_t /*segment_bytes*/) override {}
  const std::vector<verbs::WrOpcode>& arrived() const { return arrived_; }

 private:
  std::vector<verbs::WrOpcode> arrived_;
};

// Counts what a program can see.
class LateCq final : public verbs::CompletionQueue {
 public:
  bool push(const verbs::Completion& completion, verbs::Reveal when) override {
    ++(when == verbs::Reveal::kSoon ? hidden_ : visible_);
    last_ = completion;
    return true;
  }
  void reveal() override { visible_ += std::exchange(hidden_, 0); }

  unsigned visible() const { return visible_; }
  const verbs::Completion& last() const { return last_; }

 private:
  unsigned hidden_ = 0;
  unsigned visible_ = 0;
  verbs::Completion last_;
};

// Notes how many receives the peer's program could see when each send completed.
class NotingCq final : public verbs::CompletionQueue {
 public:
  explicit NotingCq(const LateCq& peers) : peers_(peers) {}
  bool push(const verbs::Completion& /*completion*/, verbs::Reveal /*when*/) override {
    seen_.push_back(peers_.visible());
    return true;
  }
  void reveal() override {}
  const std::vector<unsigned>& seen() const { return seen_; }

 private:
  const LateCq& peers_;
  std::vector<unsigned> seen_;
};

// What is left of a connection after a failure.
struct Ending {
  std::vector<WcStatus> sends;
  std::vector<WcStatus> receives;
  QpState ours = QpState::kReset;
  QpState theirs = QpState::kReset;
  std::vector<fake::RecordingEvents::Event> our_events;
  std::vector<fake::RecordingEvents::Event> their_events;
  bool ours_failed = false;
  bool theirs_failed = false;
};

// Two VMs and a connection from a to b. What is posted on either side is one piece of memory.
class DirectPair {
 public:
  DirectPair() {
    EXPECT_TRUE(install_memory_failure_handler());
    attributes.timeout = 10;  // 4 ms
    attributes.retry_count = 1;
    rig.a().fill(at_a, 1);
  }
  ~DirectPair() {
    rig.a().adapter().set_observer(nullptr);
    rig.b().adapter().set_observer(nullptr);
  }
  DirectPair(const DirectPair&) = delete;
  DirectPair& operator=(const DirectPair&) = delete;

  // Its receives complete in `late`.
  std::unique_ptr<EngineQp> watched_queue_pair(EngineVm& vm) {
    auto made = std::make_unique<EngineQp>();
    made->qp = vm.adapter()
                   .create_qp(verbs::QueuePairSpec{.pd = vm.pd(),
                                                   .tag = 1,
                                                   .send_cq = &made->sends,
                                                   .receive_cq = &late,
                                                   .work = &made->work})
                   .value();
    return made;
  }
  void connect(EngineQp& peer) { rig.connect(rig.a(), *qp_a, rig.b(), peer, attributes); }
  verbs::SendRequest write(std::uint64_t wr_id, std::uint64_t bytes = 64) const {
    return write_request(wr_id, {at_a.sge(0, bytes)}, at_b.start, at_b.key);
  }
  verbs::SendRequest send(std::uint64_t wr_id) const {
    return send_request(wr_id, {at_a.sge(0, 64)});
  }
  verbs::ReceiveRequest receive(std::uint64_t wr_id) const {
    return receive_request(wr_id, {at_b.whole()});
  }
  // Lets it come to its end, whatever is posted.
  Ending ending() {
    rig.advance(std::chrono::seconds(3));
    return {.sends = qp_a->sends.statuses(),
            .receives = qp_b->receives.statuses(),
            .ours = qp_a->state(),
            .theirs = qp_b->state(),
            .our_events = rig.a().events().all(),
            .their_events = rig.b().events().all(),
            .ours_failed = rig.a().memory().failed(),
            .theirs_failed = rig.b().memory().failed()};
  }

  EngineRig rig;
  LateCq late;
  CountingObserver observer;
  verbs::QpAttributes attributes = fake::default_attributes();
  EngineBuffer at_a = rig.a().buffer(8192, fake::kEveryRight, 0, true);
  EngineBuffer at_b = rig.b().buffer(8192, fake::kEveryRight, 0, true);
  std::unique_ptr<EngineQp> qp_a = rig.a().queue_pair();
  std::unique_ptr<EngineQp> qp_b = rig.b().queue_pair();
};

// What `work` comes to with the fast path, or without it.
template <typename Work>
Ending ending_of(bool is_fast, Work work) {
  DirectPair pair;
  if (!is_fast) pair.rig.a().adapter().set_observer(&pair.observer);
  pair.connect(*pair.qp_b);
  work(pair);
  return pair.ending();
}

template <typename Work>
void expect_same_ending(Work work) {
  const Ending fast = ending_of(true, work);
  const Ending plain = ending_of(false, work);
  EXPECT_EQ(fast.sends, plain.sends);
  EXPECT_EQ(fast.receives, plain.receives);
  EXPECT_EQ(fast.ours, plain.ours);
  EXPECT_EQ(fast.theirs, plain.theirs);
  EXPECT_EQ(fast.our_events, plain.our_events);
  EXPECT_EQ(fast.their_events, plain.their_events);
  EXPECT_EQ(fast.ours_failed, plain.ours_failed);
  EXPECT_EQ(fast.theirs_failed, plain.theirs_failed);
}

class FastPathSingleTest : public testing::Test, protected DirectPair {};

TEST_F(FastPathSingleTest, SimpleSendEndsInItsReceive) {
  const auto peer = watched_queue_pair(rig.b());
  connect(*peer);
  peer->post(receive(2));
  qp_a->post(send(1));
  ASSERT_TRUE(rig.run());
  EXPECT_THAT(qp_a->sends.statuses(), ElementsAre(WcStatus::kSuccess));
  EXPECT_EQ(late.visible(), 1u);
  EXPECT_EQ(late.last().wr_id, 2u);
  EXPECT_EQ(rig.b().read(at_b, 0, 64), rig.a().read(at_a, 0, 64));
}

// Completions of short messages are shown together. What a program finds in its memory, or waits
// for longer, comes after them.
TEST_F(FastPathSingleTest, WriteDoesNotOvertakeTheReceiveBeforeIt) {
  NotingCq noting(late);
  const auto peer = watched_queue_pair(rig.b());
  EngineQp from;
  from.qp = rig.a()
                .adapter()
                .create_qp(verbs::QueuePairSpec{.pd = rig.a().pd(),
                                                .tag = 1,
                                                .send_cq = &noting,
                                                .receive_cq = &from.receives,
                                                .work = &from.work})
                .value();
  rig.connect(rig.a(), from, rig.b(), *peer, attributes);
  for (std::uint64_t wr_id = 1; wr_id <= 4; ++wr_id) peer->post(receive(wr_id));
  from.post(send(1));
  from.post(send(2));
  from.post(write(3));
  from.post(send(4));
  from.post(send_request(5, {at_a.sge(0, 5000)}));
  rig.turn();
  EXPECT_THAT(noting.seen(), ElementsAre(0u, 0u, 2u, 2u, 4u));
  EXPECT_EQ(late.visible(), 4u);
}

TEST_F(FastPathSingleTest, ObserverOfTheRequesterPreventsDirectWork) {
  const auto peer = watched_queue_pair(rig.b());
  rig.a().adapter().set_observer(&observer);
  connect(*peer);
  peer->post(receive(2));
  qp_a->post(send(1));
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(late.visible(), 1u);
}

TEST_F(FastPathSingleTest, PeerThatIsNotConnectedBackIsNotReached) {
  const auto other = rig.a().queue_pair();
  EngineRig::bring_up_to(*qp_a, QpState::kReadyToSend, rig.b().gid(), qp_b->qp->number(),
                         attributes);
  EngineRig::bring_up_to(*qp_b, QpState::kReadyToSend, rig.a().gid(), other->qp->number(),
                         attributes);
  qp_b->post(receive(3));
  qp_a->post(write(1));
  qp_a->post(send(2));
  rig.advance(std::chrono::seconds(3));
  EXPECT_THAT(qp_a->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded, WcStatus::kFlushed));
  EXPECT_EQ(qp_b->work.receives_left(), 1u);
  EXPECT_THAT(rig.b().read(at_b, 0, 64), Each(std::byte{0}));
}

TEST_F(FastPathSingleTest, QueuePairThatIsItsOwnPeerIsNotServedDirectly) {
  const auto own = watched_queue_pair(rig.a());
  rig.connect(rig.a(), *own, rig.a(), *own, attributes);
  own->post(receive_request(2, {at_a.sge(4096, 64)}));
  own->post(send(1));
  ASSERT_TRUE(rig.run());
  EXPECT_THAT(own->sends.statuses(), ElementsAre(WcStatus::kSuccess));
  EXPECT_EQ(late.visible(), 1u);
  EXPECT_EQ(rig.a().read(at_a, 4096, 64), rig.a().read(at_a, 0, 64));
}

TEST_F(FastPathSingleTest, FirstRequestToAPeerInRtrRaisesTheEvent) {
  EngineRig::bring_up_to(*qp_a, QpState::kReadyToSend, rig.b().gid(), qp_b->qp->number(),
                         attributes);
  EngineRig::bring_up_to(*qp_b, QpState::kReadyToReceive, rig.a().gid(), qp_a->qp->number(),
                         attributes);
  for (std::uint64_t wr_id = 1; wr_id <= 3; ++wr_id) {
    qp_a->post(write(wr_id));
    ASSERT_TRUE(rig.run());
  }
  EXPECT_THAT(qp_a->sends.statuses(),
              ElementsAre(WcStatus::kSuccess, WcStatus::kSuccess, WcStatus::kSuccess));
  EXPECT_THAT(rig.b().events().all(),
              ElementsAre(Pair(qp_b->qp->spec().tag, QpEvent::kCommunicationEstablished)));
}

TEST_F(FastPathSingleTest, ObserverOfThePeerSeesAllRequests) {
  rig.b().adapter().set_observer(&observer);
  connect(*qp_b);
  qp_b->post(receive(9));
  qp_a->post(send(1));
  qp_a->post(write(2));
  qp_a->post(read_request(3, {at_a.sge(0, 64)}, at_b.start, at_b.key));
  qp_a->post(add_request(4, at_a.sge(0, 8), at_b.start, at_b.key, 1));
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(qp_a->sends.size(), 4u);
  EXPECT_THAT(observer.arrived(),
              ElementsAre(verbs::WrOpcode::kSend, verbs::WrOpcode::kRdmaWrite,
                          verbs::WrOpcode::kRdmaRead, verbs::WrOpcode::kFetchAndAdd));
}

TEST_F(FastPathSingleTest, TurnCarriesNoMoreThanItsBytes) {
  connect(*qp_b);
  for (std::uint64_t wr_id = 1; wr_id <= 10; ++wr_id) qp_a->post(write(wr_id, 4096));
  rig.turn({.bytes = 8192, .operations = 256});
  EXPECT_EQ(qp_a->sends.size(), 2u);
  rig.turn({.bytes = 4096 + 1, .operations = 256});
  EXPECT_EQ(qp_a->sends.size(), 4u);
  EXPECT_EQ(qp_a->work.sends_left(), 6u);
  EXPECT_TRUE(rig.run());
  EXPECT_EQ(qp_a->sends.size(), 10u);
}

TEST_F(FastPathSingleTest, TurnCarriesNoMoreThanItsOperations) {
  connect(*qp_b);
  for (std::uint64_t wr_id = 1; wr_id <= 10; ++wr_id) qp_a->post(write(wr_id));
  rig.turn({.bytes = 1 << 20, .operations = 3});
  EXPECT_EQ(qp_a->sends.size(), 3u);
  EXPECT_TRUE(rig.run());
  EXPECT_EQ(qp_a->sends.size(), 10u);
}

TEST_F(FastPathSingleTest, UnsignaledRequestsCompleteInvisibly) {
  connect(*qp_b);
  qp_b->post(receive(9));
  for (verbs::SendRequest request : {write(1), send(2), write(3)}) {
    request.signaled = false;
    qp_a->post(request);
  }
  ASSERT_TRUE(rig.run());
  EXPECT_THAT(qp_a->sends.all(), IsEmpty());
  EXPECT_EQ(qp_a->work.sends_left(), 0u);
  EXPECT_EQ(qp_a->qp->stats().sends, 3u);
  EXPECT_EQ(qp_b->qp->stats().receives, 3u);
  EXPECT_THAT(qp_b->receives.wr_ids(), ElementsAre(9));
}

TEST_F(FastPathSingleTest, PeersFullCompletionQueueEndsTheSend) {
  const auto work = [](DirectPair& pair) {
    pair.qp_b->receives.set_capacity(1);
    for (std::uint64_t wr_id = 1; wr_id <= 3; ++wr_id) {
      pair.qp_b->post(pair.receive(wr_id));
      pair.qp_a->post(pair.send(wr_id));
    }
  };
  const Ending ending = ending_of(true, work);
  EXPECT_THAT(ending.sends,
              ElementsAre(WcStatus::kSuccess, WcStatus::kRemoteOperationError, WcStatus::kFlushed));
  EXPECT_EQ(ending.theirs, QpState::kError);
  expect_same_ending(work);
}

TEST_F(FastPathSingleTest, OwnFullCompletionQueueEndsTheConnection) {
  expect_same_ending([](DirectPair& pair) {
    pair.qp_a->sends.set_capacity(1);
    for (std::uint64_t wr_id = 1; wr_id <= 3; ++wr_id) pair.qp_a->post(pair.write(wr_id));
  });
}

// The ring is there in between, so the second absence begins anew.
TEST_F(FastPathSingleTest, SendRingThatIsAbsentAgainIsWaitedForAgain) {
  const auto work = [](DirectPair& pair) {
    constexpr auto kAbsent = verbs::WorkSource::Fetch::kAbsent;
    for (std::uint64_t wr_id = 1; wr_id <= 2; ++wr_id) {
      pair.qp_a->work.set_send_answer(kAbsent);
      pair.qp_a->post(pair.write(wr_id));
      pair.rig.advance(std::chrono::milliseconds(10));
      pair.qp_a->work.set_send_answer(std::nullopt);
      pair.rig.advance(std::chrono::seconds(2));
    }
  };
  const Ending ending = ending_of(true, work);
  EXPECT_THAT(ending.sends, ElementsAre(WcStatus::kSuccess, WcStatus::kSuccess));
  expect_same_ending(work);
}

// ---- Memory that fails ----

enum class Failing : std::uint8_t { kOurs, kTheirs, kBoth };

// Requests of these kinds, each on its own connection and after one that succeeded.
void expect_same_failure(Failing failing, const std::vector<verbs::WrOpcode>& opcodes) {
  for (const verbs::WrOpcode opcode : opcodes) {
    SCOPED_TRACE(std::to_underlying(opcode));
    expect_same_ending([&](DirectPair& pair) {
      pair.qp_b->post(pair.receive(9));
      verbs::SendRequest request = pair.write(1, 8);
      request.opcode = opcode;
      pair.qp_a->post(request);
      EXPECT_TRUE(pair.rig.run());
      EXPECT_EQ(pair.qp_a->sends.size(), 1u);
      if (failing != Failing::kTheirs) pair.rig.a().ram().truncate(0);
      if (failing != Failing::kOurs) pair.rig.b().ram().truncate(0);
      request.wr_id = 2;
      pair.qp_b->post(pair.receive(10));
      pair.qp_a->post(request);
    });
  }
}

constexpr auto kWrite = verbs::WrOpcode::kRdmaWrite;
constexpr auto kRead = verbs::WrOpcode::kRdmaRead;
constexpr auto kSend = verbs::WrOpcode::kSend;
constexpr auto kAdd = verbs::WrOpcode::kFetchAndAdd;

TEST_F(FastPathSingleTest, OwnMemoryThatFailsEndsAlike) {
  expect_same_failure(Failing::kOurs, {kWrite, kRead, kSend});
}

TEST_F(FastPathSingleTest, OwnMemoryThatFailsUnderAnAtomicEndsAlike) {
  expect_same_failure(Failing::kOurs, {kAdd});
}

TEST_F(FastPathSingleTest, PeersMemoryThatFailsEndsAlike) {
  expect_same_failure(Failing::kTheirs, {kWrite, kRead, kSend, kAdd});
}

TEST_F(FastPathSingleTest, MemoryOfBothSidesThatFailsEndsAlike) {
  expect_same_failure(Failing::kBoth, {kWrite, kRead, kSend, kAdd});
}

}  // namespace
}  // namespace paravane::transport_local
