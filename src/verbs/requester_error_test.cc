// What a request that is wrong in itself completes with, before anybody else
// hears of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/solo_engine.h"
#include "verbs/request_check.h"

namespace paravane::verbs {
namespace {

using fake::add_request;
using fake::EngineBuffer;
using fake::EngineQp;
using fake::invalidate_request;
using fake::read_request;
using fake::register_request;
using fake::send_request;
using fake::SoloEngine;
using fake::swap_request;
using fake::write_request;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kDatagramQp = QpType::kUnreliableDatagram;

class RequesterErrorTest : public testing::Test {
 protected:
  // The request fails alone, without reaching the transport, and its queue pair
  // with it.
  void expect_fault(const SendRequest& request, WcStatus status,
                    QpAttributes attributes = fake::default_attributes()) {
    const auto qp = engine_.ready(QpType::kReliableConnected, attributes);
    qp->post(request);
    qp->post(send_request(99, {}));
    engine_.run();
    EXPECT_THAT(qp->sends.statuses(), ElementsAre(status, WcStatus::kFlushed));
    EXPECT_THAT(engine_.transport().submitted(), IsEmpty());
    EXPECT_EQ(qp->state(), QpState::kError);
  }

  SoloEngine engine_;
  EngineBuffer writable_ = engine_.vm().buffer(4096, kAccessLocalWrite);
  EngineBuffer readable_ = engine_.vm().buffer(4096, 0);
};

TEST_F(RequesterErrorTest, FaultOfTheDecoderIsReported) {
  SendRequest request = send_request(1, {});
  request.fault = WcStatus::kLocalQpOperationError;
  expect_fault(request, WcStatus::kLocalQpOperationError);
  EXPECT_EQ(engine_.vm().counters().malformed_requests.value(), 1u);
}

TEST_F(RequesterErrorTest, C75AtomicsHaveAResultOfEightBytes) {
  expect_fault(add_request(1, writable_.sge(0, 4), 0, 0, 1), WcStatus::kLocalLengthError);
  expect_fault(swap_request(1, writable_.sge(0, 16), 0, 0, 1, 2), WcStatus::kLocalLengthError);
  expect_fault(add_request(1, readable_.sge(0, 8), 0, 0, 1), WcStatus::kLocalProtectionError);
}

TEST_F(RequesterErrorTest, C73RegistrationsThatCannotBeAreRefused) {
  const TestPages pages = engine_.vm().ram().scattered_pages(2);
  const std::uint32_t key = *engine_.adapter().regions().add_fast(engine_.vm().pd(), 2);
  const FastRegistration good{.key = key,
                              .access = kAccessKnown,
                              .start = 0x1000,
                              .length = 8192,
                              .pages = 2,
                              .directory = pages.directory.value};
  const auto expect_refused = [&](FastRegistration registration) {
    expect_fault(register_request(1, registration), WcStatus::kMemoryWindowBindError);
  };
  FastRegistration bad = good;
  bad.key = writable_.key;
  expect_refused(bad);
  bad = good;
  bad.pages = 3;
  expect_refused(bad);
  bad = good;
  bad.length = 8193;
  expect_refused(bad);
  bad = good;
  bad.directory = 0xFFFF'FFFF'F000;
  expect_refused(bad);
  bad.directory = 1;
  expect_refused(bad);
  expect_fault(invalidate_request(1, key), WcStatus::kMemoryWindowBindError);
  expect_fault(invalidate_request(1, writable_.key), WcStatus::kMemoryWindowBindError);
}

TEST_F(RequesterErrorTest, C63BadLocalKey) {
  Sge sge = writable_.whole();
  sge.lkey ^= 1;
  expect_fault(send_request(1, {sge}), WcStatus::kLocalProtectionError);
  EXPECT_EQ(engine_.vm().counters().local_protection_errors.value(), 1u);
}

TEST_F(RequesterErrorTest, C63BadLocalKeyInTheLastElement) {
  Sge bad = writable_.sge(0, 1);
  bad.lkey = 0;
  expect_fault(write_request(1, {writable_.sge(0, 64), readable_.sge(0, 64), bad}, 0, 0),
               WcStatus::kLocalProtectionError);
}

TEST_F(RequesterErrorTest, C63LongMessagesAreJudgedWhole) {
  const EngineBuffer large = engine_.vm().buffer(2 * kSliceBytes);
  Sge bad = large.sge(0, 1);
  bad.lkey = 0;
  expect_fault(send_request(1, {large.whole(), bad}), WcStatus::kLocalProtectionError);
}

TEST_F(RequesterErrorTest, C63LocalRangeIsChecked) {
  expect_fault(send_request(1, {writable_.sge(1, 4096)}), WcStatus::kLocalProtectionError);
  expect_fault(send_request(1, {Sge{.addr = ~0ull, .length = 16, .lkey = writable_.key}}),
               WcStatus::kLocalProtectionError);
}

TEST_F(RequesterErrorTest, C63KeyOfAnotherProtectionDomain) {
  const PdNumber other = *engine_.adapter().create_pd();
  const TestPages pages = engine_.vm().ram().contiguous_pages(1);
  PageList list =
      *PageList::from_directory(engine_.vm().memory(), pages.directory, 1, Rights::kReadWrite);
  const std::uint32_t key = *engine_.adapter().regions().add_user(
      other, 0x1000, 4096, kAccessLocalWrite, std::move(list));
  expect_fault(send_request(1, {Sge{.addr = 0x1000, .length = 1, .lkey = key}}),
               WcStatus::kLocalProtectionError);
}

TEST_F(RequesterErrorTest, C63ReadNeedsTheRightToWriteLocally) {
  expect_fault(read_request(1, {readable_.whole()}, 0, 0), WcStatus::kLocalProtectionError);
}

TEST_F(RequesterErrorTest, ReadNeedsPermittedReads) {
  QpAttributes attributes = fake::default_attributes();
  attributes.max_reads = 0;
  expect_fault(read_request(1, {writable_.whole()}, 0, 0), WcStatus::kLocalQpOperationError,
               attributes);
}

TEST_F(RequesterErrorTest, MessageAboveTheLimit) {
  const Sge half{.addr = 0, .length = kMaxMessageBytes / 2, .lkey = 0};
  const Sge byte{.addr = 0, .length = 1, .lkey = 0};
  expect_fault(send_request(1, {half, half, byte}), WcStatus::kLocalLengthError);
  const Sge all{.addr = 0, .length = 0xFFFF'FFFF, .lkey = 0};
  expect_fault(send_request(1, {all, all, all}), WcStatus::kLocalLengthError);
}

TEST_F(RequesterErrorTest, C63DmaRegionServesLocalAccess) {
  const std::uint32_t key =
      *engine_.adapter().regions().add_dma(engine_.vm().pd(), kAccessLocalWrite);
  const auto qp = engine_.ready();
  const std::uint64_t addr = engine_.vm().ram().base().value;
  qp->post(send_request(1, {Sge{.addr = addr, .length = 512, .lkey = key}}));
  engine_.run();
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

class DatagramErrorTest : public RequesterErrorTest {
 protected:
  // The send queue fails, but the queue pair goes on receiving.
  void expect_send_queue_error(const SendRequest& request, WcStatus status) {
    const auto qp = engine_.ready(kDatagramQp);
    qp->post(request);
    qp->post(send_request(99, {}));
    engine_.run();
    EXPECT_THAT(qp->sends.statuses(), ElementsAre(status, WcStatus::kFlushed));
    EXPECT_EQ(qp->state(), QpState::kSendQueueError);
    EXPECT_THAT(engine_.transport().submitted(), IsEmpty());
  }
};

TEST_F(DatagramErrorTest, BadKeyStopsTheSendQueueOnly) {
  Sge sge = writable_.whole();
  sge.lkey ^= 1;
  expect_send_queue_error(send_request(1, {sge}), WcStatus::kLocalProtectionError);
}

TEST_F(DatagramErrorTest, PayloadAboveTheMtu) {
  const EngineBuffer large = engine_.vm().buffer(4097);
  expect_send_queue_error(send_request(1, {large.whole()}), WcStatus::kLocalLengthError);
}

TEST_F(DatagramErrorTest, OnlySendsExist) {
  expect_send_queue_error(write_request(1, {}, 0, 0), WcStatus::kLocalQpOperationError);
  expect_send_queue_error(read_request(1, {}, 0, 0), WcStatus::kLocalQpOperationError);
}

TEST_F(DatagramErrorTest, SourceIndexBeyondTheTable) {
  SendRequest request = send_request(1, {});
  request.av.sgid_index = 200;
  expect_send_queue_error(request, WcStatus::kLocalQpOperationError);
}

TEST_F(DatagramErrorTest, LaterPostsAreFlushedUntilRts) {
  const auto qp = engine_.ready(kDatagramQp);
  qp->post(write_request(1, {}, 0, 0));
  engine_.run();
  qp->post(send_request(2, {}));
  engine_.run();
  EXPECT_EQ(qp->sends.statuses().back(), WcStatus::kFlushed);

  QpAttributes attributes = fake::default_attributes();
  attributes.current_state = QpState::kSendQueueError;
  ASSERT_TRUE(fake::move(*qp->qp, QpState::kReadyToSend, attributes, kAttrCurrentState));
  qp->sends.clear();
  SendRequest good = send_request(3, {});
  good.av.dgid = SoloEngine::kPeer;
  qp->post(good);
  engine_.run();
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

}  // namespace
}  // namespace paravane::verbs
