// Datagrams between hosts: the long ones pass no buffer of ours, the short ones are copied;
// neither kind is lost for want of room, and what waits can be given up.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/engine_rig.h"
#include "testing/tcp_rig.h"

namespace paravane::fake {
namespace {

using std::chrono::seconds;
using testing::Each;
using testing::SizeIs;
using verbs::QpState;
using verbs::WcStatus;

constexpr std::uint64_t kGrhBytes = 40;
constexpr std::uint64_t kLong = 4096;

class TcpDatagram : public testing::Test {
 protected:
  TcpDatagram() {
    start(*from_);
    start(*to_);
    rig_.a().fill(payload_, 1);
  }
  static void start(EngineQp& qp) {
    ASSERT_TRUE(bring_up(*qp.qp, QpState::kReadyToSend, default_attributes()));
  }
  verbs::SendRequest datagram(std::uint64_t id, std::uint64_t bytes) {
    verbs::SendRequest request = send_request(id, {payload_.sge(0, bytes)});
    request.remote_qpn = to_->qp->number();
    request.remote_qkey = default_attributes().qkey;
    request.av.dgid = rig_.b().gid();
    return request;
  }
  void post_receive(std::uint64_t id) {
    to_->post(receive_request(id, {inbox_.sge(0, kGrhBytes + kLong)}));
  }
  std::uint64_t staged(unsigned side) {
    return rig_.tcp(side).channel_to(verbs::HostId{2 - side})->counters().staged_bytes.value();
  }
  // The other host reads nothing, so one of these stays half sent.
  void fill_channel(std::uint64_t datagrams = 400) {
    for (std::uint64_t i = 0; i < datagrams; ++i) from_->post(datagram(i, kLong));
    for (int i = 0; i < 1000; ++i) rig_.turn_one(0);
    ASSERT_LT(from_->sends.size(), datagrams);
    sent_ = from_->sends.size();
  }

  TcpRig rig_{true, 64 << 20, false};
  EngineBuffer payload_ = rig_.a().buffer(kLong);
  EngineBuffer inbox_ = rig_.b().buffer(kGrhBytes + kLong);
  std::unique_ptr<EngineQp> from_ = rig_.a().queue_pair(verbs::QpType::kUnreliableDatagram);
  std::unique_ptr<EngineQp> to_ = rig_.b().queue_pair(verbs::QpType::kUnreliableDatagram);
  std::size_t sent_ = 0;
};

TEST_F(TcpDatagram, LongOnesPassNoBufferOfOurs) {
  for (std::uint64_t i = 0; i < 8; ++i) {
    post_receive(i);
    from_->post(datagram(i, kLong));
  }
  ASSERT_TRUE(rig_.run());
  EXPECT_THAT(from_->sends.statuses(), SizeIs(8));
  ASSERT_EQ(to_->receives.size(), 8u);
  EXPECT_EQ(rig_.b().read(inbox_, kGrhBytes, kLong), rig_.a().read(payload_, 0, kLong));
  EXPECT_EQ(staged(0), 0u);
  EXPECT_EQ(staged(1), 0u);
  EXPECT_EQ(rig_.tcp(0).channel_to(verbs::HostId{2})->counters().sent_bytes.value(), 8 * kLong);
}

// A program that sends faster than the channel takes does not lose what a NIC would have
// kept in its queue.
TEST_F(TcpDatagram, TheyWaitForAFullChannel) {
  constexpr std::uint64_t kMany = 500;  // of up to 2 MiB, eight times what the channel keeps
  for (const std::uint64_t bytes : {kLong - 1, kLong}) {
    from_->sends.clear();
    to_->receives.clear();
    for (std::uint64_t i = 0; i < kMany; ++i) {
      post_receive(i);
      from_->post(datagram(i, bytes));
    }
    rig_.advance(seconds(1));
    EXPECT_THAT(from_->sends.statuses(), SizeIs(kMany));
    EXPECT_THAT(to_->receives.statuses(), SizeIs(kMany));
  }
}

TEST_F(TcpDatagram, AShortOneIsNotOvertaken) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    post_receive(i);
    from_->post(datagram(i, i % 2 == 0 ? 8 : kLong));
  }
  ASSERT_TRUE(rig_.run());
  ASSERT_EQ(to_->receives.size(), 20u);
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(to_->receives.at(i).byte_len, kGrhBytes + (i % 2 == 0 ? 8 : kLong));
  }
}

// Blocks of short ones that come later wait behind a long one.
TEST_F(TcpDatagram, AFloodOfShortOnesDoesNotKeepALongOneBack) {
  std::vector<std::unique_ptr<EngineQp>> flood;
  for (int i = 0; i < 50; ++i) {
    flood.push_back(rig_.a().queue_pair(verbs::QpType::kUnreliableDatagram));
    start(*flood.back());
  }
  post_receive(1);
  const auto turn = [&] {
    for (const auto& qp : flood) {
      while (qp->work.sends_left() < 4) qp->post(datagram(9, kLong - 1));
    }
    rig_.skip_time(std::chrono::microseconds(100));
    rig_.timers().run_due(rig_.now());
    rig_.turn_one(0);
    rig_.turn_one(1, {.bytes = 4096, .operations = 16});
  };
  // Until the socket and all blocks are full.
  for (int i = 0; i < 300; ++i) turn();
  from_->post(datagram(1, kLong));
  int turns = 0;
  while (from_->sends.size() == 0 && turns < 5000) {
    turn();
    ++turns;
  }
  // 16 blocks of three datagrams each, and what is in the socket, went before it.
  EXPECT_LT(turns, 300);
}

// As short ones are: the queue pair may have others, for other hosts.
TEST_F(TcpDatagram, ADatagramThatNobodyTakesIsLostAfterASecond) {
  fill_channel();
  for (int i = 0; i < 3; ++i) {
    rig_.skip_time(std::chrono::milliseconds(500));
    rig_.turn_one(0);
  }
  EXPECT_GT(from_->sends.size(), sent_);
  EXPECT_THAT(from_->sends.statuses(), Each(WcStatus::kSuccess));
}

TEST_F(TcpDatagram, AQueuePairThatEndsWhileItSendsSendsNothingElse) {
  fill_channel();
  from_.reset();
  post_receive(1);
  const auto next = rig_.a().queue_pair(verbs::QpType::kUnreliableDatagram);
  start(*next);
  rig_.advance(seconds(1));
  for (std::uint64_t i = 0; i < 20; ++i) post_receive(2);
  next->post(datagram(7, kLong));
  rig_.advance(seconds(1));
  EXPECT_EQ(next->sends.statuses(), std::vector{WcStatus::kSuccess});
  ASSERT_GE(to_->receives.size(), 1u);
  EXPECT_EQ(to_->receives.all().back().source_qpn, next->qp->number());
  EXPECT_EQ(rig_.losses(0).size(), 0u);
}

TEST_F(TcpDatagram, AnErrorStateGivesUpWhatIsSent) {
  fill_channel();
  ASSERT_TRUE(move(*from_->qp, QpState::kError, default_attributes()));
  rig_.advance(seconds(1));
  ASSERT_EQ(from_->sends.size(), 400u);
  EXPECT_EQ(from_->sends.at(sent_).status, WcStatus::kFlushed);
}

TEST_F(TcpDatagram, MemoryThatIsGoneCostsTheDatagram) {
  fill_channel();
  ASSERT_TRUE(rig_.a().adapter().regions().remove(payload_.key));
  for (std::uint64_t i = 0; i < 400; ++i) post_receive(i);
  rig_.advance(seconds(1));
  EXPECT_EQ(from_->sends.at(sent_).status, WcStatus::kLocalProtectionError);
  EXPECT_EQ(to_->receives.size(), sent_) << "what was half sent is not taken for whole";
  EXPECT_EQ(rig_.losses(0).size(), 0u);
}

// As on a wire: it has left.
TEST_F(TcpDatagram, AChannelThatBreaksLosesThem) {
  fill_channel();
  rig_.cut();
  rig_.advance(seconds(1));
  EXPECT_EQ(from_->sends.size(), 400u);
  EXPECT_THAT(from_->sends.statuses(), Each(WcStatus::kSuccess));
}

}  // namespace
}  // namespace paravane::fake
