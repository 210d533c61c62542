// What two adapters with the real local path between them say to each other, as packets.

#include "sniff/sniffer.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/wire_int.h"
#include "testing/engine_rig.h"

namespace paravane::sniff {
namespace {

using fake::default_attributes;
using fake::EngineBuffer;
using fake::EngineQp;
using fake::EngineVm;
using testing::ElementsAre;
using testing::IsEmpty;
using verbs::Direction;
using wire::roce::Opcode;

constexpr std::size_t kV2 = 14 + 40 + 8;  // to the base header
constexpr std::size_t kV1 = 14 + 40;

template <typename Field>
auto field_at(const std::vector<std::byte>& bytes, std::size_t at) {
  Field field;
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), sizeof field,
              std::as_writable_bytes(std::span(&field, 1)).begin());
  return field.get();
}

struct Seen {
  capture::PacketInfo info;
  std::vector<std::byte> bytes;
};

class SnifferTest : public testing::Test {
 protected:
  SnifferTest() {
    rig_.a().fill(a_buffer_, 1);
    rig_.b().fill(b_buffer_, 2);
  }
  ~SnifferTest() override {
    rig_.a().adapter().set_observer(nullptr);
    rig_.b().adapter().set_observer(nullptr);
  }
  void sniff_a(std::uint32_t keep = 0) { sniff(rig_.a(), a_sniffer_, keep); }
  void sniff_b(std::uint32_t keep = 0) { sniff(rig_.b(), b_sniffer_, keep); }
  void sniff(EngineVm& vm, std::unique_ptr<Sniffer>& sniffer, std::uint32_t keep) {
    sniffer = std::make_unique<Sniffer>(SnifferConfig{.interface = &vm == &rig_.b() ? 1u : 0u,
                                                      .mac = {2, 0, 0, 0, 0, 1},
                                                      .keep_bytes = keep,
                                                      .clock = [this] { return ++clock_; }},
                                        ring_);
    vm.adapter().set_observer(sniffer.get());
  }
  void connect(std::uint8_t gid_index = 0) {
    verbs::QpAttributes attributes = default_attributes();
    attributes.path_mtu = 3;  // 1024
    attributes.send_psn = 0xFFFFFE;
    attributes.receive_psn = 0xFFFFFE;
    rig_.connect(rig_.a(), *a_, rig_.b(), *b_, attributes, gid_index);
  }
  void post(const verbs::SendRequest& request) {
    a_->post(request);
    ASSERT_TRUE(rig_.run());
  }
  void post_receive(std::uint64_t bytes = 8192) {
    b_->post(fake::receive_request(1, {b_buffer_.sge(0, bytes)}));
  }
  std::vector<Seen> take(std::uint32_t interface = 0) {
    std::vector<Seen> all;
    std::vector<std::byte> bytes;
    while (const auto info = ring_.take(bytes)) {
      if (info->interface == interface) all.push_back({.info = *info, .bytes = bytes});
    }
    return all;
  }
  // "out 04 psn 5 ack": direction, opcode, PSN, and the AckReq bit.
  static std::string word_of(const Seen& seen, std::size_t base = kV2) {
    const bool is_out = seen.info.is_outbound;
    return fmt::format("{} {:02x} psn {}{}", is_out ? "out" : "in",
                       static_cast<unsigned>(seen.bytes.at(base)),
                       field_at<Be24>(seen.bytes, base + 9),
                       (seen.bytes.at(base + 8) & std::byte{0x80}) != std::byte{} ? " ack" : "");
  }
  static std::vector<std::string> words(const std::vector<Seen>& all, std::size_t base = kV2) {
    std::vector<std::string> text;
    for (const Seen& seen : all) text.push_back(word_of(seen, base));
    return text;
  }
  static void expect_whole(const Seen& seen) {
    ASSERT_EQ(seen.bytes.size(), seen.info.original_bytes);
    const auto frame = std::span(seen.bytes);
    const auto crc =
        wire::roce::icrc_of(wire::roce::Network::kV2Ipv6, frame.subspan(14, frame.size() - 14 - 4));
    EXPECT_TRUE(std::ranges::equal(crc, frame.last(4)));
  }

  fake::EngineRig rig_;
  capture::PacketRing ring_{4 << 20, 2};
  std::uint64_t clock_ = 0;
  std::unique_ptr<Sniffer> a_sniffer_;
  std::unique_ptr<Sniffer> b_sniffer_;
  EngineBuffer a_buffer_ = rig_.a().buffer(8192);
  EngineBuffer b_buffer_ = rig_.b().buffer(8192);
  std::unique_ptr<EngineQp> a_ = rig_.a().queue_pair();
  std::unique_ptr<EngineQp> b_ = rig_.b().queue_pair();
};

TEST_F(SnifferTest, ShowsNothingThatNobodyAskedFor) {
  connect();
  post_receive();
  post(fake::send_request(1, {a_buffer_.sge(0, 10)}));
  EXPECT_THAT(take(), IsEmpty());
}

TEST_F(SnifferTest, ShowsASendOfSeveralPacketsAndItsAcknowledgement) {
  sniff_a();
  connect();
  post_receive();
  post(fake::with_imm(fake::send_request(1, {a_buffer_.sge(0, 2050)}), {std::byte{7}}));
  const auto seen = take();
  EXPECT_THAT(words(seen), ElementsAre("out 00 psn 16777214", "out 01 psn 16777215",
                                       "out 03 psn 0 ack", "in 11 psn 0"));
  for (const Seen& one : seen) expect_whole(one);
  EXPECT_EQ(field_at<Be24>(seen[0].bytes, kV2 + 5), b_->qp->number());
  EXPECT_EQ(field_at<Be24>(seen[3].bytes, kV2 + 5), a_->qp->number());
  const auto sent = EngineVm::pattern(2050, 1);
  EXPECT_TRUE(std::equal(sent.begin(), sent.begin() + 1024, seen[0].bytes.begin() + kV2 + 12));
  // Immediate, two bytes, two of padding.
  EXPECT_EQ(seen[2].bytes.at(kV2 + 12), std::byte{7});
  EXPECT_EQ(seen[2].bytes.at(kV2 + 16), sent[2048]);
  EXPECT_EQ(seen[2].info.original_bytes, kV2 + 12 + 4 + 4 + 4);
  EXPECT_EQ(static_cast<unsigned>(seen[2].bytes.at(kV2 + 1)) >> 4 & 3, 2u);
  EXPECT_EQ(seen[3].bytes.at(kV2 + 12), std::byte{0x1F});
  EXPECT_EQ(field_at<Be24>(seen[3].bytes, kV2 + 13), 1u);
}

TEST_F(SnifferTest, BothEndsShowTheSamePackets) {
  sniff_a();
  connect();
  const auto exchange = [&] {
    post_receive();
    post(fake::send_request(1, {a_buffer_.sge(0, 3000)}));
    post(fake::write_request(2, {a_buffer_.sge(0, 5)}, b_buffer_.start, b_buffer_.key));
    post(fake::read_request(3, {a_buffer_.sge(0, 1500)}, b_buffer_.start, b_buffer_.key));
    post(fake::add_request(4, a_buffer_.sge(0, 8), b_buffer_.start, b_buffer_.key, 5));
  };
  exchange();
  const auto of_a = take(0);
  rig_.a().adapter().set_observer(nullptr);
  sniff_b();
  exchange();
  const auto of_b = take(1);
  ASSERT_EQ(of_a.size(), of_b.size());
  EXPECT_THAT(words(of_b),
              ElementsAre("in 00 psn 16777214", "in 01 psn 16777215", "in 02 psn 0 ack",
                          "out 11 psn 0", "in 0a psn 1 ack", "out 11 psn 1", "in 0c psn 2 ack",
                          "out 0d psn 2", "out 0f psn 3", "in 14 psn 4 ack", "out 12 psn 4"));
  for (std::size_t i = 0; i < 6; ++i) {
    // But for the MAC addresses, each end knows its own.
    EXPECT_TRUE(std::equal(of_a[i].bytes.begin() + 14, of_a[i].bytes.end(),
                           of_b[i].bytes.begin() + 14, of_b[i].bytes.end()))
        << i;
    EXPECT_NE(of_a[i].info.is_outbound, of_b[i].info.is_outbound);
  }
}

TEST_F(SnifferTest, ShowsAReadWithWhatItBrought) {
  sniff_a();
  connect();
  post(fake::read_request(1, {a_buffer_.sge(0, 1500)}, b_buffer_.start + 16, b_buffer_.key));
  const auto seen = take();
  EXPECT_THAT(words(seen),
              ElementsAre("out 0c psn 16777214 ack", "in 0d psn 16777214", "in 0f psn 16777215"));
  EXPECT_EQ(field_at<Be64>(seen[0].bytes, kV2 + 12), b_buffer_.start + 16);
  EXPECT_EQ(field_at<Be32>(seen[0].bytes, kV2 + 24), 1500u);
  const auto source = EngineVm::pattern(2000, 2);
  EXPECT_TRUE(std::equal(source.begin() + 16, source.begin() + 16 + 1024,
                         seen[1].bytes.begin() + kV2 + 16));
  for (const Seen& one : seen) expect_whole(one);
}

TEST_F(SnifferTest, ShowsAtomicsWithWhatTheyFound) {
  sniff_a();
  sniff_b();
  connect();
  const std::uint64_t before = [&] {
    const auto bytes = rig_.b().read(b_buffer_, 0, 8);
    return field_at<Le64>(bytes, 0);
  }();
  post(fake::swap_request(1, a_buffer_.sge(0, 8), b_buffer_.start, b_buffer_.key, before, 77));
  std::vector<std::byte> bytes;
  std::vector<Seen> seen;
  while (const auto info = ring_.take(bytes)) seen.push_back({.info = *info, .bytes = bytes});
  EXPECT_THAT(words(seen), ElementsAre("out 13 psn 16777214 ack", "in 13 psn 16777214 ack",
                                       "out 12 psn 16777214", "in 12 psn 16777214"));
  EXPECT_EQ(field_at<Be64>(seen[0].bytes, kV2 + 24), 77u);
  EXPECT_EQ(field_at<Be64>(seen[0].bytes, kV2 + 32), before);
  EXPECT_EQ(field_at<Be64>(seen[2].bytes, kV2 + 16), before);
  EXPECT_EQ(field_at<Be64>(seen[3].bytes, kV2 + 16), before);
}

TEST_F(SnifferTest, ShowsTriesAgainAsTheSamePackets) {
  sniff_a();
  sniff_b();
  connect();
  post(fake::send_request(1, {a_buffer_.sge(0, 1500)}));
  post_receive();
  rig_.advance(std::chrono::milliseconds(5));
  ASSERT_EQ(a_->sends.size(), 1u);
  std::vector<std::byte> bytes;
  std::vector<Seen> of_a;
  std::vector<Seen> of_b;
  while (const auto info = ring_.take(bytes)) {
    (info->interface == 0 ? of_a : of_b).push_back({.info = *info, .bytes = bytes});
  }
  EXPECT_THAT(words(of_a),
              ElementsAre("out 00 psn 16777214", "out 02 psn 16777215 ack", "in 11 psn 16777214",
                          "out 00 psn 16777214", "out 02 psn 16777215 ack", "in 11 psn 16777215"));
  EXPECT_EQ(of_a[2].bytes.at(kV2 + 12), std::byte{0x20 | 12});  // RNR NAK
  EXPECT_EQ(field_at<Be24>(of_a[2].bytes, kV2 + 13), 0u);
  // Of what was refused only the beginning, without its bytes.
  EXPECT_THAT(words(of_b),
              ElementsAre("in 00 psn 16777214", "out 11 psn 16777214", "in 00 psn 16777214",
                          "in 02 psn 16777215 ack", "out 11 psn 16777215"));
  EXPECT_EQ(of_b[0].bytes.size(), kV2 + 12);
  EXPECT_EQ(of_b[0].info.original_bytes, kV2 + 12 + 1024 + 4);
}

TEST_F(SnifferTest, ShowsRefusals) {
  sniff_a();
  sniff_b();
  connect();
  post(fake::write_request(1, {a_buffer_.sge(0, 8)}, b_buffer_.start, b_buffer_.key + 1));
  std::vector<std::byte> bytes;
  std::vector<Seen> seen;
  while (const auto info = ring_.take(bytes)) seen.push_back({.info = *info, .bytes = bytes});
  EXPECT_THAT(words(seen), ElementsAre("out 0a psn 16777214 ack", "in 0a psn 16777214 ack",
                                       "out 11 psn 16777214", "in 11 psn 16777214"));
  EXPECT_EQ(seen[2].bytes.at(kV2 + 12), std::byte{0x62});
  EXPECT_EQ(seen[3].bytes.at(kV2 + 12), std::byte{0x62});
}

TEST_F(SnifferTest, ShowsTriesThatNobodyAnswers) {
  sniff_a();
  connect();
  b_.reset();
  post(fake::send_request(1, {a_buffer_.sge(0, 4)}));
  rig_.advance(std::chrono::seconds(1));
  EXPECT_EQ(a_->sends.statuses(), std::vector{verbs::WcStatus::kRetryExceeded});
  const auto seen = take();
  EXPECT_EQ(seen.size(), 8u);
  for (const Seen& one : seen) EXPECT_EQ(word_of(one), "out 04 psn 16777214 ack");
}

TEST_F(SnifferTest, DoesNotShowWhatNeverLeaves) {
  sniff_a();
  connect();
  verbs::Sge bad = a_buffer_.sge(0, 4);
  bad.lkey += 1;
  post(fake::send_request(1, {bad}));
  EXPECT_EQ(a_->sends.statuses(), std::vector{verbs::WcStatus::kLocalProtectionError});
  EXPECT_THAT(take(), IsEmpty());
}

TEST_F(SnifferTest, KeepsAsMuchOfEachPacketAsAskedFor) {
  sniff_a(100);
  connect();
  post_receive();
  post(fake::send_request(1, {a_buffer_.sge(0, 500)}));
  post_receive();
  post(fake::send_request(2, {a_buffer_.sge(0, 4)}));
  const auto seen = take();
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0].bytes.size(), 100u);
  EXPECT_EQ(seen[0].info.original_bytes, kV2 + 12 + 500 + 4);
  const auto sent = EngineVm::pattern(26, 1);
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), seen[0].bytes.begin() + kV2 + 12));
  expect_whole(seen[2]);
}

TEST_F(SnifferTest, ShowsNoMoreThanHeadersWhenAsked) {
  sniff_a(1);
  connect();
  post_receive();
  post(fake::send_request(1, {a_buffer_.sge(0, 500)}));
  EXPECT_EQ(take().at(0).bytes.size(), 1u);
}

TEST_F(SnifferTest, OfALongMessageShowsTheBeginningAndTheEnd) {
  sniff_a(64);
  connect();
  const EngineBuffer from = rig_.a().repeated_buffer(2 << 20, 1 << 16);
  const EngineBuffer to = rig_.b().repeated_buffer(2 << 20, 1 << 16);
  post(fake::write_request(1, {from.whole()}, to.start, to.key));
  const auto seen = take();
  ASSERT_EQ(seen.size(), kMaxPackets + 1);  // and its answer
  EXPECT_EQ(ring_.counts(0).dropped, 2048 - kMaxPackets);
  EXPECT_EQ(ring_.counts(0).seen, 2049u);
}

TEST_F(SnifferTest, V1HasNoUdp) {
  sniff_a();
  connect(1);
  post_receive();
  post(fake::send_request(1, {a_buffer_.sge(0, 4)}));
  const auto seen = take();
  EXPECT_THAT(words(seen, kV1), ElementsAre("out 04 psn 16777214 ack", "in 11 psn 16777214"));
  EXPECT_EQ(field_at<Be16>(seen[0].bytes, 12), 0x8915);
  EXPECT_EQ(seen[0].bytes.size(), kV1 + 12 + 4 + 4);
}

TEST_F(SnifferTest, ShowsDatagramsAlsoThoseThatAreDropped) {
  sniff_a();
  sniff_b();
  const auto from = rig_.a().queue_pair(verbs::QpType::kUnreliableDatagram);
  const auto to = rig_.b().queue_pair(verbs::QpType::kUnreliableDatagram);
  for (EngineQp* qp : {from.get(), to.get()}) {
    ASSERT_TRUE(fake::bring_up(*qp->qp, verbs::QpState::kReadyToSend, default_attributes()));
  }
  verbs::SendRequest request = fake::send_request(1, {a_buffer_.sge(0, 10)});
  request.remote_qpn = to->qp->number();
  request.remote_qkey = default_attributes().qkey;
  request.av.dgid = rig_.b().gid();
  from->post(request);  // there is no receive for it
  ASSERT_TRUE(rig_.run());
  to->post(fake::receive_request(1, {b_buffer_.whole()}));
  from->post(request);
  ASSERT_TRUE(rig_.run());
  request.remote_qpn = 0x777;  // nobody
  from->post(request);
  ASSERT_TRUE(rig_.run());
  std::vector<std::byte> bytes;
  std::vector<Seen> seen;
  while (const auto info = ring_.take(bytes)) seen.push_back({.info = *info, .bytes = bytes});
  EXPECT_THAT(words(seen), ElementsAre("out 64 psn 0", "in 64 psn 0", "out 64 psn 1", "in 64 psn 1",
                                       "out 64 psn 2"));
  expect_whole(seen[0]);
  EXPECT_EQ(seen[1].bytes.size(), kV2 + 12 + 8);  // its bytes never came
  expect_whole(seen[3]);
  EXPECT_EQ(field_at<Be32>(seen[3].bytes, kV2 + 12), default_attributes().qkey);
  EXPECT_EQ(field_at<Be24>(seen[3].bytes, kV2 + 17), from->qp->number());
  const auto sent = EngineVm::pattern(10, 1);
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), seen[3].bytes.begin() + kV2 + 20));
}

}  // namespace
}  // namespace paravane::sniff
