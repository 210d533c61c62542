// Datagrams on the fast path (src/verbs/fast_datagrams.h), one property at a time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "guestmem/memory_failure.h"
#include "testing/engine_rig.h"
#include "verbs/grh.h"
#include "verbs/observer.h"

namespace paravane::transport_local {
namespace {

using fake::EngineBuffer;
using fake::EngineVm;
using fake::receive_request;
using fake::send_request;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;
using verbs::QpState;
using verbs::QpType;
using verbs::WcStatus;

constexpr std::uint32_t kQkey = 0x1234;

class DatagramObserver final : public verbs::Observer {
 public:
  void on_request(verbs::QueuePair& /*qp*/, verbs::Direction /*direction*/,
                  const verbs::RemoteRequest& /*request*/,
                  const verbs::ReadBytes& /*bytes*/) override {}
  void on_answer(verbs::QueuePair& /*qp*/, verbs::Direction /*direction*/,
                 const verbs::RemoteRequest& /*request*/, const verbs::Outcome& /*outcome*/,
                 const verbs::ReadBytes& /*bytes*/) override {}
  void on_datagram(verbs::QueuePair& /*qp*/, verbs::Direction direction,
                   const verbs::DatagramSource& /*source*/, const verbs::SendRequest& /*request*/,
                   std::uint64_t /*length*/, const verbs::ReadBytes& /*bytes*/) override {
    ++(direction == verbs::Direction::kIn ? arrived : sent);
  }
  void on_frame(verbs::Direction /*direction*/, std::span<const std::byte> /*frame*/,
                std::size_t /*segment_bytes*/) override {}

  unsigned sent = 0;
  unsigned arrived = 0;
};

// Knows which completions came by the fast path, which lets others be shown with them.
class ReceiveCq final : public verbs::CompletionQueue {
 public:
  bool push(const verbs::Completion& completion, verbs::Reveal when) override {
    if (all.size() >= capacity) return false;
    all.push_back(completion);
    if (when == verbs::Reveal::kSoon) ++direct;
    if (when == verbs::Reveal::kNow) reveal();
    return true;
  }
  void reveal() override { visible = all.size(); }

  std::vector<verbs::Completion> all;
  std::size_t visible = 0;
  std::size_t direct = 0;
  std::size_t capacity = 1000;
};

// A queue pair for datagrams, whose receives complete in `receives`.
struct Receiver {
  Receiver(EngineVm& vm, QpType type = QpType::kUnreliableDatagram) {
    qp = vm.adapter()
             .create_qp({.type = type,
                         .pd = vm.pd(),
                         .tag = 7,
                         .send_cq = &sends,
                         .receive_cq = &receives,
                         .work = &work})
             .value();
  }
  void start(std::uint32_t qkey = kQkey) {
    verbs::QpAttributes attributes = fake::default_attributes();
    attributes.qkey = qkey;
    ASSERT_TRUE(fake::bring_up(*qp, QpState::kReadyToSend, attributes));
  }
  void post(const verbs::ReceiveRequest& request) { work.post_receive(request); }
  void post(const verbs::SendRequest& request) {
    work.post_send(request);
    qp->kick();
  }

  fake::ScriptedWork work;
  fake::RecordingCq sends;
  ReceiveCq receives;
  std::unique_ptr<verbs::QueuePair> qp;
};

class FastDatagramsTest : public testing::Test {
 protected:
  FastDatagramsTest() {
    EXPECT_TRUE(install_memory_failure_handler());
    rig_.a().fill(at_a_, 1);
    from_.start();
    to_.start();
    other_.start();
  }
  ~FastDatagramsTest() override {
    rig_.a().adapter().set_observer(nullptr);
    rig_.b().adapter().set_observer(nullptr);
  }
  verbs::SendRequest datagram(std::uint64_t wr_id, std::uint64_t bytes, const Receiver& to) const {
    verbs::SendRequest request = send_request(wr_id, {at_a_.sge(0, bytes)});
    request.remote_qpn = to.qp->number();
    request.remote_qkey = kQkey;
    request.av.dgid = rig_.b().gid();
    request.av.hop_limit = 64;
    return request;
  }
  verbs::ReceiveRequest receive(std::uint64_t wr_id, std::uint64_t bytes = 4200) const {
    return receive_request(wr_id, {at_b_.sge(0, bytes)});
  }

  mutable fake::EngineRig rig_;
  DatagramObserver observer_;
  EngineBuffer at_a_ = rig_.a().buffer(8192, fake::kEveryRight, 0, true);
  EngineBuffer at_b_ = rig_.b().buffer(8192, fake::kEveryRight, 0, true);
  Receiver from_{rig_.a()};
  Receiver to_{rig_.b()};
  Receiver other_{rig_.b()};
};

TEST_F(FastDatagramsTest, SimpleDatagramEndsInItsReceive) {
  to_.post(receive(2));
  verbs::SendRequest request = fake::with_imm(
      datagram(1, 100, to_), {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}});
  request.solicited = true;
  request.av.service_level = 3;
  from_.post(request);
  ASSERT_TRUE(rig_.run());
  EXPECT_THAT(from_.sends.statuses(), ElementsAre(WcStatus::kSuccess));
  ASSERT_EQ(to_.receives.direct, 1u);
  EXPECT_EQ(to_.receives.visible, 1u);
  const verbs::Completion& received = to_.receives.all.front();
  EXPECT_EQ(received.wr_id, 2u);
  EXPECT_EQ(received.byte_len, 140u);
  EXPECT_TRUE(received.with_grh);
  EXPECT_TRUE(received.with_imm);
  EXPECT_EQ(received.imm, request.imm);
  EXPECT_TRUE(received.solicited);
  EXPECT_EQ(received.service_level, 3);
  EXPECT_EQ(received.source_qpn, from_.qp->number());
  EXPECT_EQ(received.network_header, verbs::NetworkHeader::kIpv6);
  EXPECT_THAT(rig_.b().read(at_b_, 0, 40),
              ElementsAreArray(verbs::build_grh(verbs::GidType::kRoceV2, rig_.a().gid(), request.av,
                                                100, true)));
  EXPECT_EQ(rig_.b().read(at_b_, 40, 100), rig_.a().read(at_a_, 0, 100));
  EXPECT_EQ(rig_.local().counters().datagrams.value(), 1u);
}

TEST_F(FastDatagramsTest, EachFindsItsOwnRecipient) {
  for (std::uint64_t wr_id = 1; wr_id <= 4; ++wr_id) {
    Receiver& to = wr_id == 2 ? other_ : to_;
    to.post(receive(wr_id));
    from_.post(datagram(wr_id, 8, to));
  }
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(from_.sends.size(), 4u);
  EXPECT_EQ(to_.receives.direct, 3u);
  EXPECT_EQ(to_.receives.visible, 3u);
  EXPECT_EQ(other_.receives.direct, 1u);
  EXPECT_EQ(other_.receives.visible, 1u);
  EXPECT_EQ(other_.receives.all.front().wr_id, 2u);
  EXPECT_EQ(rig_.local().counters().datagrams.value(), 4u);
}

TEST_F(FastDatagramsTest, EachShowsTheGidThatItWasSentFrom) {
  for (std::uint64_t wr_id = 1; wr_id <= 3; ++wr_id) {
    to_.post(receive(wr_id));
    verbs::SendRequest request = datagram(wr_id, 8, to_);
    request.av.sgid_index = wr_id == 2 ? 1 : 0;  // RoCE v1
    from_.post(request);
  }
  ASSERT_TRUE(rig_.run());
  ASSERT_EQ(to_.receives.direct, 3u);
  EXPECT_EQ(to_.receives.all[0].network_header, verbs::NetworkHeader::kIpv6);
  EXPECT_EQ(to_.receives.all[1].network_header, verbs::NetworkHeader::kRoceV1);
  EXPECT_EQ(to_.receives.all[2].network_header, verbs::NetworkHeader::kIpv6);
}

// The number of the recipient is the same in both adapters.
TEST_F(FastDatagramsTest, EachGoesToTheAdapterOfItsGid) {
  Receiver at_home(rig_.a());
  at_home.start();
  ASSERT_EQ(at_home.qp->number(), to_.qp->number() + 1);
  Receiver& away = other_;
  ASSERT_EQ(at_home.qp->number(), away.qp->number());
  away.post(receive(1));
  away.post(receive(2));
  at_home.post(receive_request(3, {at_a_.sge(4096, 4096)}));
  from_.post(datagram(1, 8, away));
  verbs::SendRequest home = datagram(2, 8, at_home);
  home.av.dgid = rig_.a().gid();
  from_.post(home);
  from_.post(datagram(3, 8, away));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(away.receives.direct, 2u);
  EXPECT_EQ(at_home.receives.direct, 1u);
}

TEST_F(FastDatagramsTest, WrongQkeyInTheMiddleIsDroppedAlone) {
  for (std::uint64_t wr_id = 1; wr_id <= 3; ++wr_id) {
    to_.post(receive(wr_id));
    verbs::SendRequest request = datagram(wr_id, 8, to_);
    if (wr_id == 2) request.remote_qkey ^= 1;
    from_.post(request);
  }
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(from_.sends.size(), 3u);
  EXPECT_EQ(to_.receives.all.size(), 2u);
  EXPECT_EQ(rig_.b().counters().qkey_violations.value(), 1u);
  EXPECT_EQ(rig_.b().counters().datagrams_dropped.value(), 1u);
  EXPECT_EQ(to_.work.receives_left(), 1u);
}

TEST_F(FastDatagramsTest, HeaderHasToFitToo) {
  to_.post(receive(1, 139));
  from_.post(datagram(1, 100, to_));
  ASSERT_TRUE(rig_.run());
  EXPECT_THAT(to_.receives.all, IsEmpty());
  EXPECT_EQ(rig_.b().counters().datagrams_dropped.value(), 1u);
  from_.post(datagram(2, 99, to_));
  ASSERT_TRUE(rig_.run());
  ASSERT_EQ(to_.receives.direct, 1u);
  EXPECT_EQ(to_.receives.all.front().byte_len, 139u);
}

TEST_F(FastDatagramsTest, TooLongIsAnErrorOfTheSender) {
  to_.post(receive(1, 8192));
  from_.post(datagram(1, 4097, to_));
  ASSERT_TRUE(rig_.run());
  EXPECT_THAT(from_.sends.statuses(), ElementsAre(WcStatus::kLocalLengthError));
  EXPECT_THAT(to_.receives.all, IsEmpty());
}

TEST_F(FastDatagramsTest, QueuePairOfAConnectionTakesNone) {
  Receiver connected(rig_.b(), QpType::kReliableConnected);
  verbs::QpAttributes attributes = fake::default_attributes();
  attributes.qkey = kQkey;
  attributes.dest_qpn = from_.qp->number();
  attributes.av.dgid = rig_.a().gid();
  ASSERT_TRUE(fake::bring_up(*connected.qp, QpState::kReadyToSend, attributes));
  connected.post(receive(1));
  verbs::SendRequest request = datagram(1, 8, connected);
  request.remote_qkey = connected.qp->query().qkey;
  from_.post(request);
  ASSERT_TRUE(rig_.run());
  EXPECT_THAT(connected.receives.all, IsEmpty());
  EXPECT_EQ(connected.work.receives_left(), 1u);
}

TEST_F(FastDatagramsTest, RecipientThatFailsInTheTurnTakesNoMore) {
  to_.receives.capacity = 1;
  for (std::uint64_t wr_id = 1; wr_id <= 4; ++wr_id) {
    to_.post(receive(wr_id));
    from_.post(datagram(wr_id, 8, to_));
  }
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(to_.qp->state(), QpState::kError);
  EXPECT_EQ(to_.qp->stats().receives, 2u);  // the second was never reported
  EXPECT_EQ(rig_.b().counters().datagrams_dropped.value(), 2u);
  EXPECT_EQ(from_.sends.size(), 4u);
  EXPECT_EQ(from_.qp->state(), QpState::kReadyToSend);
}

TEST_F(FastDatagramsTest, OwnQueuePairIsNotServedDirectly) {
  from_.post(receive_request(1, {at_a_.sge(4096, 4096)}));
  verbs::SendRequest request = datagram(1, 8, from_);
  request.av.dgid = rig_.a().gid();
  from_.post(request);
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(from_.receives.visible, 1u);
  EXPECT_EQ(from_.receives.direct, 0u);
}

TEST_F(FastDatagramsTest, ObserverOfEitherSideSeesAll) {
  to_.post(receive(1));
  to_.post(receive(2));
  rig_.a().adapter().set_observer(&observer_);
  from_.post(datagram(1, 8, to_));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(observer_.sent, 1u);
  rig_.a().adapter().set_observer(nullptr);
  rig_.b().adapter().set_observer(&observer_);
  from_.post(datagram(2, 8, to_));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(observer_.arrived, 1u);
  EXPECT_EQ(to_.receives.visible, 2u);
  EXPECT_EQ(to_.receives.direct, 0u);
}

TEST_F(FastDatagramsTest, TurnCarriesNoMoreThanItsBytes) {
  for (std::uint64_t wr_id = 1; wr_id <= 4; ++wr_id) {
    to_.post(receive(wr_id));
    from_.post(datagram(wr_id, 4096, to_));
  }
  rig_.turn({.bytes = 8192, .operations = 256});
  EXPECT_EQ(from_.sends.size(), 2u);
  EXPECT_EQ(to_.receives.visible, 2u);
  EXPECT_TRUE(rig_.run());
  EXPECT_EQ(to_.receives.visible, 4u);
}

TEST_F(FastDatagramsTest, TurnCarriesNoMoreThanItsOperations) {
  for (std::uint64_t wr_id = 1; wr_id <= 5; ++wr_id) {
    to_.post(receive(wr_id));
    from_.post(datagram(wr_id, 8, to_));
  }
  rig_.turn({.bytes = 1 << 20, .operations = 3});
  EXPECT_EQ(from_.sends.size(), 3u);
  EXPECT_EQ(to_.receives.visible, 3u);
}

// ---- Memory that fails ----

struct DatagramEnding {
  std::vector<WcStatus> sends;
  std::size_t receives = 0;
  std::uint64_t dropped = 0;
  QpState ours = QpState::kReset;
  QpState theirs = QpState::kReset;
  std::vector<fake::RecordingEvents::Event> our_events;
  std::vector<fake::RecordingEvents::Event> their_events;

  friend bool operator==(const DatagramEnding&, const DatagramEnding&) = default;
};

class FailingDatagrams : public FastDatagramsTest {
 protected:
  void TestBody() override {}

 public:
  // After one datagram, memory fails under the next.
  DatagramEnding ending(bool is_fast, bool ours, bool theirs) {
    if (!is_fast) rig_.a().adapter().set_observer(&observer_);
    to_.post(receive(1));
    from_.post(datagram(1, 64, to_));
    EXPECT_TRUE(rig_.run());
    EXPECT_EQ(to_.receives.direct, is_fast ? 1u : 0u);
    if (ours) rig_.a().ram().truncate(0);
    if (theirs) rig_.b().ram().truncate(0);
    to_.post(receive(2));
    from_.post(datagram(2, 64, to_));
    EXPECT_TRUE(rig_.run());
    return {.sends = from_.sends.statuses(),
            .receives = to_.receives.all.size(),
            .dropped = rig_.b().counters().datagrams_dropped.value(),
            .ours = from_.qp->state(),
            .theirs = to_.qp->state(),
            .our_events = rig_.a().events().all(),
            .their_events = rig_.b().events().all()};
  }
};

TEST(FastDatagramsFailureTest, MemoryThatFailsEndsAlikeOnBothPaths) {
  for (const auto& [ours, theirs] : {std::pair(true, false), {false, true}, {true, true}}) {
    const DatagramEnding fast = FailingDatagrams().ending(true, ours, theirs);
    const DatagramEnding plain = FailingDatagrams().ending(false, ours, theirs);
    EXPECT_EQ(fast, plain) << "ours " << ours << ", theirs " << theirs;
    EXPECT_EQ(fast.theirs == QpState::kError, theirs);
    EXPECT_EQ(fast.ours == QpState::kError, ours && !theirs);  // the header is placed first
  }
}

}  // namespace
}  // namespace paravane::transport_local
