// What every transport must do between two adapters, whatever it is made of.
//
// A rig is a type with a() and b() (EngineVm), connect(), run() and advance() as
// EngineRig has them. A transport passes by one line in its test:
//
//   INSTANTIATE_TYPED_TEST_SUITE_P(Local, TransportConformance, EngineRig);
//
// Names carry the item of the device specification that they show.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "testing/engine_rig.h"

namespace paravane::fake {

// Around the edges of a cache line, a page, a slice of 256 KiB.
inline const std::vector<std::uint64_t> kTellingSizes = {
    1,     2,      7,      8,      63,     64,     65,      255,    256,
    257,   4095,   4096,   4097,   8191,   8192,   8193,    65535,  65536,
    65537, 262143, 262144, 262145, 524288, 524289, 1048575, 1048579};

// Whether a queue pair's peer is told that a receive was posted (Transport::tell_peer_ready()). A
// rig without that says so, and its requesters wait for the RNR timer.
template <typename Rig>
constexpr bool kTellsPeers = !requires { Rig::kHasNoCredits; };

// In bytes: 2 GiB, but in rigs that say less, whose transport another rig shows with all of them.
template <typename Rig>
constexpr std::uint64_t longest_message() {
  if constexpr (requires { Rig::kLongestMessage; }) return Rig::kLongestMessage;
  return verbs::kMaxMessageBytes;
}

template <typename Rig>
class TransportConformance : public testing::Test {
 protected:
  void connect(const verbs::QpAttributes& attributes = default_attributes()) {
    rig.connect(rig.a(), *qp_a, rig.b(), *qp_b, attributes);
  }
  // The bytes of `buffer`, from `offset`, are those of the pattern.
  static bool holds(EngineVm& vm, const EngineBuffer& buffer, std::uint64_t offset,
                    std::uint64_t length, std::uint8_t seed) {
    return vm.read(buffer, offset, length) == EngineVm::pattern(length, seed);
  }
  static bool untouched(EngineVm& vm, const EngineBuffer& buffer, std::uint64_t offset,
                        std::uint64_t length) {
    return std::ranges::all_of(vm.read(buffer, offset, length),
                               [](std::byte byte) { return byte == std::byte{0}; });
  }

  Rig rig;
  std::unique_ptr<EngineQp> qp_a = rig.a().queue_pair();
  std::unique_ptr<EngineQp> qp_b = rig.b().queue_pair();
};
TYPED_TEST_SUITE_P(TransportConformance);

TYPED_TEST_P(TransportConformance, C76WritePlacesExactlyTheRightBytes) {
  this->connect();
  std::uint8_t seed = 1;
  for (const std::uint64_t size : kTellingSizes) {
    const EngineBuffer from = this->rig.a().buffer(size, 0, (seed * 37) % 4096);
    const EngineBuffer to = this->rig.b().buffer(size + 2, kEveryRight, (seed * 101) % 4096);
    this->rig.a().fill(from, ++seed);

    this->qp_a->post(write_request(seed, {from.whole()}, to.start + 1, to.key));
    ASSERT_TRUE(this->rig.run());

    ASSERT_EQ(this->qp_a->sends.size(), 1u) << size;
    EXPECT_EQ(this->qp_a->sends.at(0).status, verbs::WcStatus::kSuccess);
    EXPECT_EQ(this->qp_a->sends.at(0).opcode, verbs::WcOpcode::kRdmaWrite);
    EXPECT_EQ(this->qp_a->sends.at(0).wr_id, seed);
    EXPECT_TRUE(this->holds(this->rig.b(), to, 1, size, seed)) << size;
    EXPECT_TRUE(this->untouched(this->rig.b(), to, 0, 1)) << size;
    EXPECT_TRUE(this->untouched(this->rig.b(), to, size + 1, 1)) << size;
    this->qp_a->sends.clear();
  }
  EXPECT_EQ(this->qp_b->receives.size(), 0u);
}

TYPED_TEST_P(TransportConformance, ReadFetchesExactlyTheRightBytes) {
  this->connect();
  std::uint8_t seed = 1;
  for (const std::uint64_t size : kTellingSizes) {
    const EngineBuffer to = this->rig.a().buffer(size + 2, kEveryRight, (seed * 37) % 4096);
    const EngineBuffer from = this->rig.b().buffer(size, kEveryRight, (seed * 101) % 4096);
    this->rig.b().fill(from, ++seed);

    this->qp_a->post(read_request(seed, {to.sge(1, size)}, from.start, from.key));
    ASSERT_TRUE(this->rig.run());

    ASSERT_EQ(this->qp_a->sends.size(), 1u) << size;
    EXPECT_EQ(this->qp_a->sends.at(0).status, verbs::WcStatus::kSuccess);
    EXPECT_EQ(this->qp_a->sends.at(0).opcode, verbs::WcOpcode::kRdmaRead);
    EXPECT_EQ(this->qp_a->sends.at(0).byte_len, size);
    EXPECT_TRUE(this->holds(this->rig.a(), to, 1, size, seed)) << size;
    EXPECT_TRUE(this->untouched(this->rig.a(), to, 0, 1)) << size;
    EXPECT_TRUE(this->untouched(this->rig.a(), to, size + 1, 1)) << size;
    this->qp_a->sends.clear();
  }
}

TYPED_TEST_P(TransportConformance, SendFillsThePostedReceive) {
  this->connect();
  std::uint8_t seed = 1;
  for (const std::uint64_t size : kTellingSizes) {
    const EngineBuffer from = this->rig.a().buffer(size, 0, (seed * 37) % 4096);
    const EngineBuffer to = this->rig.b().buffer(size + 5, kEveryRight, (seed * 101) % 4096);
    this->rig.a().fill(from, ++seed);

    this->qp_b->post(receive_request(1000 + seed, {to.whole()}));
    this->qp_a->post(send_request(seed, {from.whole()}));
    ASSERT_TRUE(this->rig.run());

    ASSERT_EQ(this->qp_b->receives.size(), 1u) << size;
    const verbs::Completion& received = this->qp_b->receives.at(0);
    EXPECT_EQ(received.status, verbs::WcStatus::kSuccess);
    EXPECT_EQ(received.opcode, verbs::WcOpcode::kReceive);
    EXPECT_EQ(received.wr_id, 1000u + seed);
    EXPECT_EQ(received.byte_len, size);
    EXPECT_EQ(received.qp_tag, this->qp_b->qp->spec().tag);
    EXPECT_EQ(received.source_qpn, this->qp_a->qp->number());
    EXPECT_FALSE(received.with_imm);
    EXPECT_FALSE(received.with_grh);
    EXPECT_EQ(this->qp_a->sends.statuses(), std::vector{verbs::WcStatus::kSuccess});
    EXPECT_TRUE(this->holds(this->rig.b(), to, 0, size, seed)) << size;
    EXPECT_TRUE(this->untouched(this->rig.b(), to, size, 5)) << size;
    this->qp_a->sends.clear();
    this->qp_b->receives.clear();
  }
}

TYPED_TEST_P(TransportConformance, C61ImmediateArrivesByteIdentical) {
  this->connect();
  const EngineBuffer from = this->rig.a().buffer(100);
  const EngineBuffer to = this->rig.b().buffer(100);
  this->rig.a().fill(from, 9);
  const verbs::Immediate first{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{0xF4}};
  const verbs::Immediate second{std::byte{0xAA}, std::byte{0}, std::byte{0}, std::byte{0x55}};
  this->qp_b->post(receive_request(1, {to.whole()}));
  this->qp_b->post(receive_request(2, {}));

  this->qp_a->post(with_imm(send_request(11, {from.whole()}), first));
  this->qp_a->post(with_imm(write_request(12, {from.sge(0, 40)}, to.start + 60, to.key), second));
  ASSERT_TRUE(this->rig.run());

  ASSERT_EQ(this->qp_b->receives.size(), 2u);
  const verbs::Completion& send = this->qp_b->receives.at(0);
  EXPECT_TRUE(send.with_imm);
  EXPECT_EQ(send.imm, first);
  EXPECT_EQ(send.opcode, verbs::WcOpcode::kReceive);
  const verbs::Completion& write = this->qp_b->receives.at(1);
  EXPECT_TRUE(write.with_imm);
  EXPECT_EQ(write.imm, second);
  EXPECT_EQ(write.opcode, verbs::WcOpcode::kReceiveRdmaWithImm);
  EXPECT_EQ(write.byte_len, 40u);
  EXPECT_EQ(write.wr_id, 2u);
  EXPECT_TRUE(this->holds(this->rig.b(), to, 60, 40, 9));
  EXPECT_EQ(this->qp_a->sends.at(0).opcode, verbs::WcOpcode::kSend);
  EXPECT_EQ(this->qp_a->sends.at(1).opcode, verbs::WcOpcode::kRdmaWrite);
}

TYPED_TEST_P(TransportConformance, C62ScattersAndGathersOverManyElements) {
  this->connect();
  const EngineBuffer from = this->rig.a().buffer(600'000, 0, 1234);
  const EngineBuffer to = this->rig.b().buffer(600'000, kEveryRight, 77);
  this->rig.a().fill(from, 3);
  verbs::Sge nothing = from.sge(10, 0);
  nothing.lkey = 0xDEAD'BEEF;  // the key of an empty element is not looked at
  this->qp_b->post(receive_request(1, {to.sge(0, 1), to.sge(1, 4095), nothing,
                                       to.sge(4096, 300'001), to.sge(304'097, 250'000)}));

  this->qp_a->post(send_request(
      2, {from.sge(0, 299'999), nothing, from.sge(299'999, 2), from.sge(300'001, 249'999)}));
  ASSERT_TRUE(this->rig.run());

  ASSERT_EQ(this->qp_b->receives.statuses(), std::vector{verbs::WcStatus::kSuccess});
  EXPECT_EQ(this->qp_b->receives.at(0).byte_len, 550'000u);
  EXPECT_EQ(this->rig.b().read(to, 0, 550'000), this->rig.a().read(from, 0, 550'000));
  EXPECT_TRUE(this->untouched(this->rig.b(), to, 550'000, 50'000));
}

TYPED_TEST_P(TransportConformance, MessagesOfTheGreatestLength) {
  this->connect();
  constexpr std::uint64_t kQuarter = longest_message<TypeParam>() / 4;
  constexpr std::uint64_t kWindow = 1 << 20;
  const EngineBuffer from = this->rig.a().repeated_buffer(kQuarter, kWindow);
  const EngineBuffer to = this->rig.b().repeated_buffer(kQuarter, kWindow);
  this->rig.a().write(from, 0, EngineVm::pattern(kWindow, 7));

  this->qp_b->post(receive_request(1, {to.whole(), to.whole(), to.whole(), to.whole()}));
  this->qp_a->post(send_request(2, {from.whole(), from.whole(), from.whole(), from.whole()}));
  ASSERT_TRUE(this->rig.run());

  ASSERT_EQ(this->qp_a->sends.statuses(), std::vector{verbs::WcStatus::kSuccess});
  ASSERT_EQ(this->qp_b->receives.size(), 1u);
  EXPECT_EQ(this->qp_b->receives.at(0).byte_len, 4 * kQuarter);
  EXPECT_TRUE(this->holds(this->rig.b(), to, 0, kWindow, 7));
}

TYPED_TEST_P(TransportConformance, C62RequestsWithoutBytesSucceed) {
  this->connect();
  const EngineBuffer any = this->rig.a().buffer(8);
  verbs::Sge nothing = any.sge(0, 0);
  nothing.lkey = 0x1234;
  this->qp_b->post(receive_request(1, {}));
  this->qp_b->post(receive_request(2, {}));

  this->qp_a->post(send_request(11, {}));
  this->qp_a->post(send_request(12, {nothing}));
  this->qp_a->post(write_request(13, {}, 0, 0xBAD));  // no bytes: the rkey is not looked at
  this->qp_a->post(read_request(14, {nothing}, 0, 0xBAD));
  ASSERT_TRUE(this->rig.run());

  EXPECT_THAT(this->qp_a->sends.wr_ids(), testing::ElementsAre(11, 12, 13, 14));
  EXPECT_THAT(this->qp_a->sends.statuses(), testing::Each(verbs::WcStatus::kSuccess));
  EXPECT_THAT(this->qp_b->receives.wr_ids(), testing::ElementsAre(1, 2));
  EXPECT_EQ(this->qp_b->receives.at(0).byte_len, 0u);
}

TYPED_TEST_P(TransportConformance, C53SolicitedIsToldToTheReceiverOnly) {
  this->connect();
  this->qp_b->post(receive_request(1, {}));
  this->qp_b->post(receive_request(2, {}));
  this->qp_b->post(receive_request(3, {}));
  verbs::SendRequest loud = send_request(11, {});
  loud.solicited = true;
  verbs::SendRequest loud_write = with_imm(write_request(13, {}, 0, 0), {});
  loud_write.solicited = true;

  this->qp_a->post(loud);
  this->qp_a->post(send_request(12, {}));
  this->qp_a->post(loud_write);
  ASSERT_TRUE(this->rig.run());

  ASSERT_EQ(this->qp_b->receives.size(), 3u);
  EXPECT_TRUE(this->qp_b->receives.at(0).solicited);
  EXPECT_FALSE(this->qp_b->receives.at(1).solicited);
  EXPECT_TRUE(this->qp_b->receives.at(2).solicited);
  EXPECT_FALSE(this->qp_a->sends.at(0).solicited);
}

TYPED_TEST_P(TransportConformance, MixedRequestsCompleteInOrder) {
  this->connect();
  const EngineBuffer ours = this->rig.a().buffer(1 << 20);
  const EngineBuffer theirs = this->rig.b().buffer(1 << 20);
  this->rig.a().fill(ours, 5);
  for (std::uint64_t i = 0; i < 20; ++i) this->qp_b->post(receive_request(i, {theirs.sge(0, 64)}));
  std::vector<std::uint64_t> expected;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const std::uint64_t size = i % 7 == 0 ? 400'000 : 64;
    if (i % 3 == 0) this->qp_a->post(send_request(i, {ours.sge(0, 64)}));
    if (i % 3 == 1) {
      this->qp_a->post(write_request(i, {ours.sge(0, size)}, theirs.start, theirs.key));
    }
    if (i % 3 == 2) {
      this->qp_a->post(read_request(i, {ours.sge(0, size)}, theirs.start, theirs.key));
    }
    expected.push_back(i);
  }
  ASSERT_TRUE(this->rig.run());

  EXPECT_EQ(this->qp_a->sends.wr_ids(), expected);
  EXPECT_THAT(this->qp_a->sends.statuses(), testing::Each(verbs::WcStatus::kSuccess));
  EXPECT_EQ(this->qp_b->receives.size(), 20u);
}

TYPED_TEST_P(TransportConformance, C65WaitsForAReceiveAndGoesOn) {
  this->connect();
  const EngineBuffer from = this->rig.a().buffer(32);
  const EngineBuffer to = this->rig.b().buffer(32);
  this->rig.a().fill(from, 4);
  this->qp_a->post(send_request(1, {from.whole()}));
  this->rig.advance(std::chrono::milliseconds(5));
  ASSERT_EQ(this->qp_a->sends.size(), 0u);

  this->qp_b->post(receive_request(2, {to.whole()}));
  this->rig.advance(std::chrono::milliseconds(5));

  EXPECT_EQ(this->qp_a->sends.statuses(), std::vector{verbs::WcStatus::kSuccess});
  EXPECT_TRUE(this->holds(this->rig.b(), to, 0, 32, 4));
  EXPECT_GT(this->qp_a->qp->stats().rnr_waits, 0u);
}

TYPED_TEST_P(TransportConformance, C65RnrRetriesEnd) {
  verbs::QpAttributes attributes = default_attributes();
  attributes.rnr_retry = 2;
  this->connect(attributes);
  this->qp_a->post(send_request(1, {}));
  this->rig.advance(std::chrono::seconds(1));

  EXPECT_EQ(this->qp_a->sends.statuses(), std::vector{verbs::WcStatus::kRnrRetryExceeded});
  EXPECT_EQ(this->qp_a->state(), verbs::QpState::kError);
  EXPECT_EQ(this->qp_b->state(), verbs::QpState::kReadyToSend);
}

TYPED_TEST_P(TransportConformance, C63BadRemoteKeyIsARemoteAccessError) {
  this->connect();
  const EngineBuffer from = this->rig.a().buffer(64);
  const EngineBuffer to = this->rig.b().buffer(64);
  this->rig.a().fill(from, 1);
  this->qp_a->post(write_request(1, {from.whole()}, to.start, to.key ^ 1));
  this->qp_a->post(write_request(2, {from.whole()}, to.start, to.key));
  ASSERT_TRUE(this->rig.run());

  EXPECT_THAT(this->qp_a->sends.statuses(),
              testing::ElementsAre(verbs::WcStatus::kRemoteAccessError, verbs::WcStatus::kFlushed));
  EXPECT_EQ(this->qp_a->state(), verbs::QpState::kError);
  EXPECT_EQ(this->qp_b->state(), verbs::QpState::kError);
  EXPECT_THAT(this->rig.b().events().all(),
              testing::ElementsAre(
                  testing::Pair(this->qp_b->qp->spec().tag, verbs::QpEvent::kAccessError)));
  EXPECT_TRUE(this->untouched(this->rig.b(), to, 0, 64));
}

TYPED_TEST_P(TransportConformance, C64ReceiveTooSmallFailsOnBothSides) {
  this->connect();
  const EngineBuffer from = this->rig.a().buffer(65);
  const EngineBuffer to = this->rig.b().buffer(64);
  this->rig.a().fill(from, 1);
  this->qp_b->post(receive_request(7, {to.whole()}));
  this->qp_b->post(receive_request(8, {}));
  this->qp_a->post(send_request(1, {from.whole()}));
  ASSERT_TRUE(this->rig.run());

  EXPECT_THAT(this->qp_a->sends.statuses(),
              testing::ElementsAre(verbs::WcStatus::kRemoteInvalidRequest));
  EXPECT_THAT(this->qp_b->receives.statuses(),
              testing::ElementsAre(verbs::WcStatus::kLocalLengthError, verbs::WcStatus::kFlushed));
  EXPECT_THAT(this->qp_b->receives.wr_ids(), testing::ElementsAre(7, 8));
  EXPECT_EQ(this->qp_b->state(), verbs::QpState::kError);
  EXPECT_TRUE(this->untouched(this->rig.b(), to, 0, 64));
}

TYPED_TEST_P(TransportConformance, ReceiveWithABadKeyIsTheReceiversFault) {
  this->connect();
  const EngineBuffer from = this->rig.a().buffer(64);
  const EngineBuffer to = this->rig.b().buffer(64, 0);  // no right to write
  this->qp_b->post(receive_request(7, {to.whole()}));
  this->qp_a->post(send_request(1, {from.whole()}));
  ASSERT_TRUE(this->rig.run());

  EXPECT_THAT(this->qp_a->sends.statuses(),
              testing::ElementsAre(verbs::WcStatus::kRemoteOperationError));
  EXPECT_THAT(this->qp_b->receives.statuses(),
              testing::ElementsAre(verbs::WcStatus::kLocalProtectionError));
  EXPECT_EQ(this->qp_b->state(), verbs::QpState::kError);
}

TYPED_TEST_P(TransportConformance, PeerThatIsGoneIsRetriedAndGivenUp) {
  this->connect();
  this->qp_b.reset();
  this->qp_a->post(send_request(1, {}));
  this->rig.advance(std::chrono::seconds(10));

  EXPECT_EQ(this->qp_a->sends.statuses(), std::vector{verbs::WcStatus::kRetryExceeded});
  EXPECT_EQ(this->qp_a->state(), verbs::QpState::kError);
  EXPECT_EQ(this->qp_a->qp->stats().retries, 7u);
}

TYPED_TEST_P(TransportConformance, PeerInErrorDoesNotAnswer) {
  this->connect();
  ASSERT_TRUE(move(*this->qp_b->qp, verbs::QpState::kError, {}));
  this->qp_a->post(write_request(1, {}, 0, 0));
  this->rig.advance(std::chrono::seconds(10));

  EXPECT_EQ(this->qp_a->sends.statuses(), std::vector{verbs::WcStatus::kRetryExceeded});
}

TYPED_TEST_P(TransportConformance, C66DatagramCarriesItsHeader) {
  const std::unique_ptr<EngineQp> from =
      this->rig.a().queue_pair(verbs::QpType::kUnreliableDatagram);
  const std::unique_ptr<EngineQp> to = this->rig.b().queue_pair(verbs::QpType::kUnreliableDatagram);
  ASSERT_TRUE(bring_up(*from->qp, verbs::QpState::kReadyToSend, default_attributes()));
  ASSERT_TRUE(bring_up(*to->qp, verbs::QpState::kReadyToSend, default_attributes()));
  const EngineBuffer payload = this->rig.a().buffer(4096);
  const EngineBuffer place = this->rig.b().buffer(4136);
  this->rig.a().fill(payload, 8);
  to->post(receive_request(5, {place.whole()}));

  verbs::SendRequest request = send_request(6, {payload.whole()});
  request.remote_qpn = to->qp->number();
  request.remote_qkey = default_attributes().qkey;
  request.av.dgid = this->rig.b().gid();
  from->post(request);
  ASSERT_TRUE(this->rig.run());

  EXPECT_EQ(from->sends.statuses(), std::vector{verbs::WcStatus::kSuccess});
  ASSERT_EQ(to->receives.size(), 1u);
  const verbs::Completion& received = to->receives.at(0);
  EXPECT_EQ(received.status, verbs::WcStatus::kSuccess);
  EXPECT_EQ(received.byte_len, 4136u);
  EXPECT_TRUE(received.with_grh);
  EXPECT_EQ(received.source_qpn, from->qp->number());
  EXPECT_EQ(received.network_header, verbs::NetworkHeader::kIpv6);
  EXPECT_TRUE(this->holds(this->rig.b(), place, 40, 4096, 8));
}

TYPED_TEST_P(TransportConformance, BothSidesWriteAndReadAtOnce) {
  this->connect();
  const EngineBuffer at_a = this->rig.a().buffer(2 << 20);
  const EngineBuffer at_b = this->rig.b().buffer(2 << 20);
  this->rig.a().fill(at_a, 1);
  const std::uint64_t half = 1 << 20;
  for (std::uint64_t i = 0; i < 4; ++i) {
    this->qp_a->post(write_request(i, {at_a.sge(0, half)}, at_b.start, at_b.key));
    this->qp_b->post(read_request(i, {at_b.sge(half, half)}, at_a.start + half, at_a.key));
  }
  ASSERT_TRUE(this->rig.run());

  EXPECT_EQ(this->qp_a->sends.size(), 4u);
  EXPECT_EQ(this->qp_b->sends.size(), 4u);
  EXPECT_EQ(this->rig.b().read(at_b, 0, at_b.length), this->rig.a().read(at_a, 0, at_a.length));
}

TYPED_TEST_P(TransportConformance, C75AtomicsTellTheOldValue) {
  this->connect();
  const EngineBuffer result = this->rig.a().buffer(24);
  const EngineBuffer word = this->rig.b().buffer(24);
  const Le64 initial(100);
  this->rig.b().write(word, 8, std::as_bytes(std::span(&initial, 1)));
  this->qp_a->post(add_request(1, result.sge(0, 8), word.start + 8, word.key, 11));
  this->qp_a->post(swap_request(2, result.sge(8, 8), word.start + 8, word.key, 111, 7));
  this->qp_a->post(swap_request(3, result.sge(16, 8), word.start + 8, word.key, 111, 9));
  ASSERT_TRUE(this->rig.run());

  ASSERT_EQ(this->qp_a->sends.size(), 3u);
  EXPECT_EQ(this->qp_a->sends.at(0).opcode, verbs::WcOpcode::kFetchAndAdd);
  EXPECT_EQ(this->qp_a->sends.at(1).opcode, verbs::WcOpcode::kCompareAndSwap);
  EXPECT_EQ(this->qp_a->sends.at(0).byte_len, 8u);
  const auto value_at = [](EngineVm& vm, const EngineBuffer& buffer, std::uint64_t offset) {
    Le64 value;
    std::ranges::copy(vm.read(buffer, offset, 8),
                      std::as_writable_bytes(std::span(&value, 1)).begin());
    return value.get();
  };
  EXPECT_EQ(value_at(this->rig.a(), result, 0), 100u);
  EXPECT_EQ(value_at(this->rig.a(), result, 8), 111u);
  EXPECT_EQ(value_at(this->rig.a(), result, 16), 7u);
  EXPECT_EQ(value_at(this->rig.b(), word, 8), 7u);
  EXPECT_EQ(value_at(this->rig.b(), word, 0), 0u);
  EXPECT_EQ(value_at(this->rig.b(), word, 16), 0u);
}

TYPED_TEST_P(TransportConformance, C75AtomicsFromTwoQueuePairsAddUp) {
  this->connect();
  const auto second_a = this->rig.a().queue_pair();
  const auto second_b = this->rig.b().queue_pair();
  this->rig.connect(this->rig.a(), *second_a, this->rig.b(), *second_b, default_attributes());
  const EngineBuffer result = this->rig.a().buffer(8);
  const EngineBuffer word = this->rig.b().buffer(8);
  for (std::uint64_t i = 0; i < 100; ++i) {
    this->qp_a->post(add_request(i, result.whole(), word.start, word.key, 1));
    second_a->post(add_request(i, result.whole(), word.start, word.key, 1));
  }
  ASSERT_TRUE(this->rig.run());
  const Le64 sum(200);
  EXPECT_TRUE(
      std::ranges::equal(this->rig.b().read(word, 0, 8), std::as_bytes(std::span(&sum, 1))));
}

TYPED_TEST_P(TransportConformance, C73RegistersUsesAndInvalidatesInOrder) {
  this->connect();
  const TestPages pages = this->rig.b().ram().scattered_pages(2);
  verbs::MemoryRegionTable& regions = this->rig.b().adapter().regions();
  const std::uint32_t key = *regions.add_fast(this->rig.b().pd(), 2);
  verbs::FastRegistration registration{.key = key ^ 1,
                                       .access = verbs::kAccessKnown,
                                       .start = 0x1000'0010,
                                       .length = 8000,
                                       .pages = 2,
                                       .directory = pages.directory.value};
  this->qp_b->post(register_request(1, registration));
  ASSERT_TRUE(this->rig.run());
  ASSERT_EQ(this->qp_b->sends.statuses(), std::vector{verbs::WcStatus::kSuccess});
  EXPECT_EQ(this->qp_b->sends.at(0).opcode, verbs::WcOpcode::kFastRegister);

  // The guest writes the next list into the same table: this region does not care.
  const EngineBuffer from = this->rig.a().buffer(100);
  this->rig.a().fill(from, 3);
  this->qp_a->post(write_request(2, {from.whole()}, registration.start, registration.key));
  this->qp_a->post(write_request(3, {from.whole()}, registration.start + 7900, registration.key));
  ASSERT_TRUE(this->rig.run());
  EXPECT_EQ(this->qp_a->sends.statuses(),
            (std::vector{verbs::WcStatus::kSuccess, verbs::WcStatus::kSuccess}));
  std::vector<std::byte> seen(100);
  this->rig.b().ram().read_bytes(pages.at(0x10), seen);
  EXPECT_EQ(seen, EngineVm::pattern(100, 3));

  this->qp_b->post(invalidate_request(4, registration.key));
  ASSERT_TRUE(this->rig.run());
  EXPECT_EQ(this->qp_b->sends.at(1).opcode, verbs::WcOpcode::kLocalInvalidate);
  this->qp_a->post(write_request(5, {from.whole()}, registration.start, registration.key));
  ASSERT_TRUE(this->rig.run());
  EXPECT_EQ(this->qp_a->sends.at(2).status, verbs::WcStatus::kRemoteAccessError);
}

TYPED_TEST_P(TransportConformance, C74SendInvalidatesAKeyOfTheReceiver) {
  this->connect();
  const TestPages pages = this->rig.b().ram().scattered_pages(1);
  verbs::MemoryRegionTable& regions = this->rig.b().adapter().regions();
  const std::uint32_t key = *regions.add_fast(this->rig.b().pd(), 1);
  this->qp_b->post(register_request(1, {.key = key,
                                        .access = verbs::kAccessKnown,
                                        .start = 4096,
                                        .length = 4096,
                                        .pages = 1,
                                        .directory = pages.directory.value}));
  ASSERT_TRUE(this->rig.run());
  const EngineBuffer from = this->rig.a().buffer(32);
  const EngineBuffer to = this->rig.b().buffer(32);
  this->qp_b->post(receive_request(7, {to.whole()}));
  this->qp_a->post(with_invalidate(send_request(8, {from.whole()}), key));
  ASSERT_TRUE(this->rig.run());

  ASSERT_EQ(this->qp_b->receives.size(), 1u);
  EXPECT_EQ(this->qp_b->receives.at(0).status, verbs::WcStatus::kSuccess);
  EXPECT_EQ(this->qp_b->receives.at(0).invalidated_key, key);
  EXPECT_FALSE(this->qp_b->receives.at(0).with_imm);
  EXPECT_FALSE(regions.may_invalidate(this->rig.b().pd(), key));
  EXPECT_EQ(this->qp_a->sends.at(0).opcode, verbs::WcOpcode::kSend);
}

TYPED_TEST_P(TransportConformance, C72SharedReceivesGoToWhoeverHasAMessage) {
  ScriptedWork shared;
  const auto first = this->rig.b().sharing_queue_pair(shared);
  const auto second = this->rig.b().sharing_queue_pair(shared);
  const auto to_second = this->rig.a().queue_pair();
  this->rig.connect(this->rig.a(), *this->qp_a, this->rig.b(), *first, default_attributes());
  this->rig.connect(this->rig.a(), *to_second, this->rig.b(), *second, default_attributes());
  const EngineBuffer from = this->rig.a().buffer(64);
  const EngineBuffer to = this->rig.b().buffer(192);
  this->rig.a().fill(from, 6);
  this->qp_a->post(send_request(1, {from.whole()}));
  to_second->post(send_request(2, {from.whole()}));
  this->rig.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(first->receives.size() + second->receives.size(), 0u);

  for (std::uint64_t i = 0; i < 3; ++i) {
    shared.post_receive(receive_request(i, {to.sge(i * 64, 64)}));
  }
  second->qp->kick();  // whose peer was told that there is one
  if constexpr (kTellsPeers<TypeParam>) {
    ASSERT_TRUE(this->rig.run());
    EXPECT_THAT(second->receives.wr_ids(), testing::ElementsAre(0));
    EXPECT_EQ(shared.receives_left(), 2u) << "nothing is taken ahead";
    first->qp->kick();
    ASSERT_TRUE(this->rig.run());
  } else {
    EXPECT_EQ(shared.receives_left(), 3u) << "nothing is taken ahead";
    this->rig.advance(std::chrono::milliseconds(1));  // the RNR timers of both
  }
  const std::vector<std::uint64_t> of_first = first->receives.wr_ids();
  ASSERT_THAT(of_first, testing::SizeIs(1));
  ASSERT_THAT(second->receives.wr_ids(), testing::ElementsAre(1 - of_first.at(0)));
  EXPECT_TRUE(this->holds(this->rig.b(), to, 64, 64, 6));

  ASSERT_TRUE(move(*first->qp, verbs::QpState::kError, {}));
  ASSERT_TRUE(this->rig.run());
  EXPECT_THAT(this->rig.b().events().all(),
              testing::ElementsAre(
                  testing::Pair(first->qp->spec().tag, verbs::QpEvent::kLastReceiveReached)));
  EXPECT_EQ(first->receives.size(), 1u) << "nor flushed";
  to_second->post(send_request(3, {from.whole()}));
  ASSERT_TRUE(this->rig.run());
  EXPECT_THAT(second->receives.wr_ids(), testing::ElementsAre(1 - of_first.at(0), 2));
}

REGISTER_TYPED_TEST_SUITE_P(
    TransportConformance, MessagesOfTheGreatestLength, C76WritePlacesExactlyTheRightBytes,
    ReadFetchesExactlyTheRightBytes, SendFillsThePostedReceive, C61ImmediateArrivesByteIdentical,
    C62ScattersAndGathersOverManyElements, C62RequestsWithoutBytesSucceed,
    C53SolicitedIsToldToTheReceiverOnly, MixedRequestsCompleteInOrder, C65WaitsForAReceiveAndGoesOn,
    C65RnrRetriesEnd, C63BadRemoteKeyIsARemoteAccessError, C64ReceiveTooSmallFailsOnBothSides,
    ReceiveWithABadKeyIsTheReceiversFault, PeerThatIsGoneIsRetriedAndGivenUp,
    PeerInErrorDoesNotAnswer, C66DatagramCarriesItsHeader, BothSidesWriteAndReadAtOnce,
    C75AtomicsTellTheOldValue, C75AtomicsFromTwoQueuePairsAddUp,
    C73RegistersUsesAndInvalidatesInOrder, C74SendInvalidatesAKeyOfTheReceiver,
    C72SharedReceivesGoToWhoeverHasAMessage);

}  // namespace paravane::fake
