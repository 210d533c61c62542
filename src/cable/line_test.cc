#include "cable/line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "testing/cable_pipe.h"

namespace paravane::cable {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kOwnGuid = 0x0202'0000'0000'0100;

class LineTest : public testing::Test, protected Line::Listener {
 protected:
  void on_packet(std::span<const std::byte> packet, std::uint8_t cables) override {
    packets_.emplace_back(packet.begin(), packet.end());
    cables_.push_back(cables);
  }
  void on_link_word(LinkWord word) override { words_.push_back(word); }

  // What the other end sends.
  void hear(std::span<const std::byte> bytes) {
    fake::put_bytes(pipe_.to_one(), bytes);
    line_.heard_event();
    line_.receive(1000, *this);
  }
  // What the line has sent.
  std::vector<FrameReader::Frame> sent() {
    line_.flush(queue_);
    FrameReader reader;
    std::vector<FrameReader::Frame> frames;
    const std::span<std::byte> room = reader.room();
    reader.arrived(other_->read(room).bytes);
    while (const auto frame = reader.next()) frames.push_back({frame->kind, frame->cables, {}});
    return frames;
  }
  void advance(Duration duration) {
    clock_.now += duration;
    line_.on_time(clock_.now);
    line_.flush(queue_);
  }

  TurnClock clock_{Instant(1h)};
  fake::CablePipe pipe_;
  std::unique_ptr<fake::CablePipe::End> other_ = pipe_.other();
  SendQueue queue_;
  Line line_{pipe_.one(), 33, kOwnGuid, clock_};
  std::vector<std::vector<std::byte>> packets_;
  std::vector<int> cables_;
  std::vector<LinkWord> words_;
};

TEST_F(LineTest, SaysHelloFirstAndThenWhatWaits) {
  ASSERT_TRUE(queue_.put(false, subnet::Packet(28, std::byte{})));
  line_.say(LinkWord::kTraining);
  const auto frames = sent();
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0].kind, FrameKind::kHello);
  EXPECT_EQ(frames[1].kind, FrameKind::kLink);
  EXPECT_EQ(frames[2].kind, FrameKind::kPacket);
  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(LineTest, TakesPacketsAndWordsAfterAHello) {
  hear(fake::hello_frame(0x77));
  EXPECT_EQ(line_.peer_guid(), 0x77U);
  hear(fake::cable_frame(FrameKind::kPacket, std::vector<std::byte>(30, std::byte{5}), 1));
  hear(fake::cable_frame(FrameKind::kPacket, std::vector<std::byte>(30, std::byte{5}), 0xFF));
  hear(fake::link_frame(LinkWord::kUp));
  EXPECT_EQ(packets_.size(), 2U);
  EXPECT_THAT(cables_, ElementsAre(2, 0xFF));
  EXPECT_THAT(words_, ElementsAre(LinkWord::kUp));
  EXPECT_EQ(line_.problem(), "");
}

TEST_F(LineTest, EndsWithAHostThatBreaksTheRules) {
  const struct {
    std::vector<std::byte> bytes;
    const char* problem;
  } cases[] = {
      {fake::beat_frame(), "does not begin with a hello"},
      {fake::hello_frame(0), "GUID 0x0000000000000000"},
      {fake::hello_frame(kOwnGuid), "GUID 0x0202000000000100"},
      {fake::hello_frame(0x77, 2), "version 2 of cables, and this host version 1"},
      {fake::link_frame(LinkWord{3}), "does not begin with a hello"},
  };
  for (const auto& [bytes, problem] : cases) {
    fake::CablePipe pipe;
    Line line(pipe.one(), 33, kOwnGuid, clock_);
    fake::put_bytes(pipe.to_one(), bytes);
    line.receive(1000, *this);
    EXPECT_THAT(line.problem(), HasSubstr(problem));
    EXPECT_FALSE(line.may_have_more());
  }
  hear(fake::hello_frame(0x77));
  hear(fake::link_frame(LinkWord{3}));
  EXPECT_THAT(line_.problem(), HasSubstr("says 3 of its port"));
  EXPECT_THAT(words_, IsEmpty());
}

TEST_F(LineTest, ASecondHelloEndsIt) {
  hear(fake::hello_frame(0x77));
  hear(fake::hello_frame(0x78));
  EXPECT_THAT(line_.problem(), HasSubstr("hello twice"));
}

TEST_F(LineTest, TakesAsManyFramesAsItMay) {
  hear(fake::hello_frame(0x77));
  for (int i = 0; i < 10; ++i) fake::put_bytes(pipe_.to_one(), fake::beat_frame());
  line_.heard_event();
  EXPECT_EQ(line_.receive(4, *this), 4U);
  EXPECT_TRUE(line_.may_have_more());
  EXPECT_EQ(line_.receive(1000, *this), 6U);
  EXPECT_FALSE(line_.may_have_more());
}

TEST_F(LineTest, BeatsEveryTwoSeconds) {
  hear(fake::hello_frame(0x77));
  sent();
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(sent(), IsEmpty());
    hear(fake::beat_frame());
    clock_.now = line_.next_deadline();
    line_.on_time(clock_.now);
    const auto frames = sent();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].kind, FrameKind::kBeat);
  }
  EXPECT_EQ(clock_.now, Instant(1h) + 10s);
}

// So an idle cable wakes each end once in two seconds, and one of them twice.
TEST_F(LineTest, AnswersABeatWithItsOwnIfThatIsDueSoon) {
  hear(fake::hello_frame(0x77));
  sent();
  advance(900ms);
  hear(fake::beat_frame());
  EXPECT_THAT(sent(), IsEmpty());
  advance(100ms);
  hear(fake::beat_frame());
  const auto frames = sent();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].kind, FrameKind::kBeat);
  hear(fake::beat_frame());  // one that floods is not answered each time
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(line_.next_deadline(), Instant(1h) + 3s);
}

TEST_F(LineTest, EndsWithoutAFrameForFiveSeconds) {
  advance(kSilenceLimit - 1ns);
  EXPECT_EQ(line_.problem(), "");
  advance(1ns);
  EXPECT_THAT(line_.problem(), HasSubstr("says no hello"));
  EXPECT_EQ(line_.next_deadline(), kNever);
}

TEST_F(LineTest, EndsWithoutAFrameAfterTheHelloToo) {
  hear(fake::hello_frame(0x77));
  advance(kSilenceLimit - 1ns);
  hear(fake::beat_frame());
  advance(kSilenceLimit - 1ns);
  EXPECT_EQ(line_.problem(), "");
  advance(1ns);
  EXPECT_THAT(line_.problem(), HasSubstr("is silent"));
}

TEST_F(LineTest, EndsWithAHostThatDoesNotTakeWhatIsSent) {
  hear(fake::hello_frame(0x77));
  pipe_.to_other().room = 8;
  ASSERT_TRUE(queue_.put(false, subnet::Packet(4000, std::byte{})));
  line_.flush(queue_);
  EXPECT_TRUE(line_.is_held_up());
  for (int i = 0; i < 9; ++i) {
    hear(fake::beat_frame());
    advance(500ms);
  }
  EXPECT_EQ(line_.problem(), "");
  hear(fake::beat_frame());
  advance(500ms);
  EXPECT_THAT(line_.problem(), HasSubstr("does not take what is sent"));
}

TEST_F(LineTest, SendsTheRestOfWhatWasTakenInPart) {
  pipe_.to_other().room = 30;
  ASSERT_TRUE(queue_.put(false, subnet::Packet(100, std::byte{9})));
  std::vector<std::byte> all;
  for (int i = 0; i < 20; ++i) {
    line_.flush(queue_);
    std::vector<std::byte> some(30);
    some.resize(other_->read(some).bytes);
    all.insert(all.end(), some.begin(), some.end());
  }
  FrameReader reader;
  std::ranges::copy(all, reader.room().begin());
  reader.arrived(all.size());
  EXPECT_EQ(reader.next()->kind, FrameKind::kHello);
  EXPECT_EQ(reader.next()->body.size(), 100U);
  EXPECT_FALSE(line_.is_held_up());
}

TEST_F(LineTest, EndsWithTheStream) {
  other_.reset();
  line_.receive(1, *this);
  EXPECT_EQ(line_.problem(), "the pipe is closed");
}

}  // namespace
}  // namespace paravane::cable
