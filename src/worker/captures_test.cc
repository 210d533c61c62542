#include "worker/captures.h"

#include <gtest/gtest.h>

#include <chrono>

#include "testing/engine_rig.h"
#include "testing/roce_rig.h"
#include "text/pcapng.h"

namespace paravane::worker {
namespace {

using std::chrono::seconds;

class CapturesTest : public testing::Test {
 protected:
  CapturesTest() { rig_.connect(rig_.a(), *a_, rig_.b(), *b_); }
  ~CapturesTest() override {
    captures_.forget(rig_.a().adapter());
    captures_.forget(rig_.b().adapter());
  }
  std::shared_ptr<capture::Capture> start(std::uint64_t id, std::uint32_t snaplen = 0) {
    const auto capture =
        std::make_shared<capture::Capture>(id, model::CaptureSpec{.vm = "a", .snaplen = snaplen},
                                           std::vector<std::string>{"a", "a/2"}, rig_.now());
    captures_.start(capture, {{.adapter = &rig_.a().adapter(), .mac = {}, .interface = 0},
                              {.adapter = &rig_.b().adapter(), .mac = {}, .interface = 1}});
    return capture;
  }
  void send() {
    b_->post(fake::receive_request(1, {b_buffer_.whole()}));
    a_->post(fake::send_request(1, {a_buffer_.sge(0, 4)}));
    ASSERT_TRUE(rig_.run());
  }
  std::size_t count(const model::CapturePackets& packets) {
    const auto all = text::pcapng::first_packets(packets.blocks, 2, 1'000'000);
    EXPECT_TRUE(all);
    return all ? all->count : 0;
  }

  fake::EngineRig rig_;
  fake::EngineBuffer a_buffer_ = rig_.a().buffer(4096);
  fake::EngineBuffer b_buffer_ = rig_.b().buffer(4096);
  std::unique_ptr<fake::EngineQp> a_ = rig_.a().queue_pair();
  std::unique_ptr<fake::EngineQp> b_ = rig_.b().queue_pair();
  Captures captures_{rig_.turn_clock()};
};

TEST_F(CapturesTest, GiveWhatCameSinceTheLastLook) {
  const auto capture = start(1);
  send();
  EXPECT_EQ(count(capture->take(rig_.now())), 4u);
  EXPECT_EQ(count(capture->take(rig_.now())), 0u);
  send();
  const auto packets = capture->take(rig_.now());
  EXPECT_EQ(count(packets), 4u);
  EXPECT_EQ(packets.status.interfaces.at(0).packets, 4u);
  EXPECT_EQ(packets.status.interfaces.at(1).packets, 4u);
  EXPECT_FALSE(packets.status.ended);
}

TEST_F(CapturesTest, AnAnswerIsOfABoundedSize) {
  const auto capture = start(1);
  for (int i = 0; i < 3000; ++i) send();
  const auto first = capture->take(rig_.now());
  EXPECT_LT(first.blocks.size(), 600'000u);
  captures_.end(1);
  std::size_t all = count(first);
  while (true) {
    const auto next = capture->take(rig_.now());
    all += count(next);
    if (next.status.ended) break;
  }
  EXPECT_EQ(all, 12'000u);
}

// Of a native endpoint, what was on the network: also what was lost and sent again. A superframe
// is shown as the packets that the kernel makes of it, with CRCs that are right.
TEST(RoceCaptures, ShowThePacketsThatWereSentAndReceived) {
  using wire::roce::Opcode;
  for (const std::size_t most_packets : {1u, 64u}) {
    fake::RoceRig rig(most_packets);
    Captures captures(rig.turn_clock());
    unsigned count = 0;
    rig.wire().set_weather([&count](unsigned side, fake::FrameBytes frame) {
      std::vector<fake::FrameBytes> arrives;
      if (side != 0 || ++count != 2) arrives.push_back(std::move(frame));
      return arrives;
    });
    const auto a = rig.a().queue_pair();
    const auto b = rig.b().queue_pair();
    verbs::QpAttributes attributes = fake::default_attributes();
    attributes.path_mtu = 1;
    attributes.send_psn = 500;
    attributes.receive_psn = 500;
    rig.connect(rig.a(), *a, rig.b(), *b, attributes);
    const fake::EngineBuffer from = rig.a().buffer(700);
    const fake::EngineBuffer to = rig.b().buffer(700);
    rig.a().fill(from, 1);
    capture::Capture capture(1, model::CaptureSpec{.vm = "a"}, {"a"}, rig.now());
    captures.start(std::shared_ptr<capture::Capture>(std::shared_ptr<void>(), &capture),
                   {{.adapter = &rig.a().adapter(), .mac = {}, .interface = 0}});
    a->post(fake::write_request(1, {from.whole()}, to.start, to.key));
    ASSERT_TRUE(rig.run());
    captures.forget(rig.a().adapter());

    std::vector<std::pair<Opcode, std::uint32_t>> seen;
    std::vector<std::byte> bytes;
    while (const auto info = capture.ring().take(bytes)) {
      const auto frame = wire::roce::parse_frame(bytes);
      ASSERT_TRUE(frame);
      seen.emplace_back(frame->packet.opcode, frame->packet.psn);
      EXPECT_EQ(info->is_outbound, frame->packet.opcode != Opcode::kAcknowledge);
    }
    using Packets = std::vector<std::pair<Opcode, std::uint32_t>>;
    EXPECT_EQ(seen, Packets({{Opcode::kWriteFirst, 500},
                             {Opcode::kWriteMiddle, 501},
                             {Opcode::kWriteLast, 502},
                             {Opcode::kAcknowledge, 501},
                             {Opcode::kWriteMiddle, 501},
                             {Opcode::kWriteLast, 502},
                             {Opcode::kAcknowledge, 502}}));
  }
}

TEST_F(CapturesTest, EndWhenNobodyReads) {
  const auto capture = start(1);
  EXPECT_EQ(captures_.next_look(), rig_.now() + seconds(model::kCaptureReaderSeconds));
  verbs::Budget budget;
  captures_.turn(rig_.now() + seconds(9), budget);
  capture->take(rig_.now() + seconds(9));
  captures_.turn(rig_.now() + seconds(18), budget);
  EXPECT_FALSE(capture->has_ended());
  captures_.turn(rig_.now() + seconds(19), budget);
  EXPECT_TRUE(capture->has_ended());
  EXPECT_EQ(rig_.a().adapter().observer(), nullptr);
  EXPECT_EQ(captures_.next_look(), kNever);
}

TEST_F(CapturesTest, EndWithTheLastAdapter) {
  const auto capture = start(1);
  send();
  captures_.forget(rig_.a().adapter());
  EXPECT_FALSE(capture->has_ended());
  captures_.forget(rig_.b().adapter());
  const auto packets = capture->take(rig_.now());
  EXPECT_EQ(count(packets), 4u);
  EXPECT_TRUE(packets.status.ended);
}

TEST_F(CapturesTest, ANewOneTakesTheAdaptersOfAnOldOne) {
  const auto old = start(1);
  const auto young = start(2);
  EXPECT_TRUE(old->has_ended());
  captures_.end(1);
  send();
  EXPECT_EQ(count(young->take(rig_.now())), 4u);
}

}  // namespace
}  // namespace paravane::worker
