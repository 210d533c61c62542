#include "umad/mad_line.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "testing/umad_program.h"
#include "wire/infiniband/mad.h"

namespace paravane::umad {
namespace {

using namespace std::chrono_literals;
using fake::hear_part;
using fake::HeardPart;
using fake::mad_message;
using subnet::AgentId;
using subnet::AgentRefusal;
using subnet::SendRefusal;

using MadText = std::vector<std::byte>;

// A port that notes what it is told and refuses what it is told to refuse.
class NotedPort : public subnet::MadPort {
 public:
  struct Sent {
    AgentId agent;
    subnet::MadAddress to;
    MadText mad;
    Duration timeout;
    unsigned retries;
    Instant now;
  };
  std::expected<AgentId, AgentRefusal> register_agent(const subnet::AgentWish& wish,
                                                      subnet::MadAgent& agent) override {
    if (refuses_agent) return std::unexpected(*refuses_agent);
    wishes.push_back(wish);
    receiver = &agent;
    return AgentId{++last_agent};
  }
  void unregister(AgentId agent) override { gone.push_back(agent); }
  std::expected<void, SendRefusal> send(AgentId agent, const subnet::MadAddress& to,
                                        std::span<const std::byte> mad, Duration timeout,
                                        unsigned retries, Instant now) override {
    if (refuses_send) return std::unexpected(*refuses_send);
    sent.push_back({agent, to, {mad.begin(), mad.end()}, timeout, retries, now});
    return {};
  }
  void set_manager(bool is_manager) override { managers += is_manager ? 1 : -1; }

  std::vector<subnet::AgentWish> wishes;
  std::vector<AgentId> gone;
  std::vector<Sent> sent;
  subnet::MadAgent* receiver = nullptr;
  std::uint32_t last_agent = 100;
  int managers = 0;
  std::optional<AgentRefusal> refuses_agent;
  std::optional<SendRefusal> refuses_send;
};

MadText mad_text(std::size_t size) {
  MadText mad(size);
  for (std::size_t i = 0; i < size; ++i) mad[i] = static_cast<std::byte>(i * 3 + i / 256);
  return mad;
}

class MadLineTest : public testing::Test {
 protected:
  MadLineTest() {
    auto [ours, theirs] = fake::umad_sockets();
    program_ = std::move(theirs);
    line_ = std::make_unique<MadLine>(std::move(ours), port_, *loop_, clock_,
                                      [this] { line_.reset(); });
    EXPECT_TRUE(line_->watch());
    EXPECT_EQ(line_->register_agent(3, fake::umad_wish(3)), Outcome::kDone);
    agent_ = AgentId{port_.last_agent};
  }
  ~MadLineTest() override { line_.reset(); }

  int poll() { return *loop_->poll(Duration::zero()); }
  void say(const MadText& message) {
    EXPECT_TRUE(fake::say(program_, message));
    poll();
  }
  void expect_end_by(const MadText& message) {
    say(message);
    EXPECT_EQ(line_, nullptr);
    EXPECT_TRUE(fake::is_closed(program_));
    EXPECT_TRUE(port_.sent.empty());
    EXPECT_FALSE(port_.gone.empty());
  }
  static MadPart part_of(std::size_t total, std::size_t offset = 0, std::uint32_t agent = 3) {
    MadPart part;
    part.agent.set(agent);
    part.total.set(static_cast<std::uint32_t>(total));
    part.offset.set(static_cast<std::uint32_t>(offset));
    return part;
  }
  // All messages of a long MAD.
  static std::vector<MadText> parts_of(const MadText& mad) {
    std::vector<MadText> parts;
    for (std::size_t at = 0; at < mad.size(); at += kMostPart) {
      const auto bytes = std::span(mad).subspan(at, std::min(kMostPart, mad.size() - at));
      parts.push_back(mad_message(part_of(mad.size(), at), bytes));
    }
    return parts;
  }

  TurnClock clock_{Instant(1h)};
  std::unique_ptr<EventLoop> loop_ = *EventLoop::create();
  NotedPort port_;
  UniqueFd program_;
  std::unique_ptr<MadLine> line_;
  AgentId agent_{};
};

// ---- Agents ----

TEST_F(MadLineTest, AWishIsPassedOn) {
  AgentWish wish = fake::umad_wish(0x32, {1, 2, 31, 32, 63, 64, 127});
  wish.class_version = 2;
  wish.oui.set(0x0002C9);
  wish.rmpp_version = 1;
  EXPECT_EQ(line_->register_agent(0, wish), Outcome::kDone);
  const subnet::AgentWish& made = port_.wishes.back();
  EXPECT_EQ(made.management_class, 0x32);
  EXPECT_EQ(made.class_version, 2);
  EXPECT_EQ(made.oui, 0x0002C9u);
  EXPECT_TRUE(made.joins_segments);
  for (unsigned method = 0; method < 128; ++method) {
    const bool wanted = method == 1 || method == 2 || method == 31 || method == 32 ||
                        method == 63 || method == 64 || method == 127;
    EXPECT_EQ(made.wants(static_cast<std::uint8_t>(method)), wanted) << method;
  }
  wish.user_rmpp = 1;
  EXPECT_EQ(line_->register_agent(1, wish), Outcome::kDone);
  EXPECT_FALSE(port_.wishes.back().joins_segments);
  wish.rmpp_version = 0;
  wish.user_rmpp = 0;
  EXPECT_EQ(line_->register_agent(2, wish), Outcome::kDone);
  EXPECT_FALSE(port_.wishes.back().joins_segments);
}

TEST_F(MadLineTest, AnAgentsNumberIsTakenOnce) {
  EXPECT_EQ(line_->register_agent(3, fake::umad_wish(4)), Outcome::kBadWish);
  EXPECT_EQ(line_->register_agent(kMostAgents, fake::umad_wish(4)), Outcome::kBadWish);
  EXPECT_EQ(line_->register_agent(0xFFFF'FFFF, fake::umad_wish(4)), Outcome::kBadWish);
  EXPECT_EQ(line_->unregister(4), Outcome::kBadWish);
  EXPECT_EQ(line_->unregister(kMostAgents), Outcome::kBadWish);
  EXPECT_EQ(line_->unregister(3), Outcome::kDone);
  EXPECT_EQ(line_->unregister(3), Outcome::kBadWish);
  EXPECT_EQ(port_.gone, (std::vector{agent_}));
  EXPECT_EQ(line_->register_agent(3, fake::umad_wish(4)), Outcome::kDone);
  for (std::uint32_t number = 0; number < kMostAgents; ++number) {
    if (number == 3) continue;
    EXPECT_EQ(line_->register_agent(number, fake::umad_wish(4)), Outcome::kDone);
  }
}

TEST_F(MadLineTest, WhatThePortRefusesIsSaid) {
  for (const auto& [refusal, outcome] : {std::pair(AgentRefusal::kBadWish, Outcome::kBadWish),
                                         std::pair(AgentRefusal::kTaken, Outcome::kTaken),
                                         std::pair(AgentRefusal::kNoRoom, Outcome::kNoRoom)}) {
    port_.refuses_agent = refusal;
    EXPECT_EQ(line_->register_agent(5, fake::umad_wish(4)), outcome);
  }
  port_.refuses_agent.reset();
  EXPECT_EQ(line_->register_agent(5, fake::umad_wish(4)), Outcome::kDone);
}

TEST_F(MadLineTest, ALineThatEndsLeavesNothingAtThePort) {
  EXPECT_EQ(line_->register_agent(9, fake::umad_wish(4)), Outcome::kDone);
  line_->become_manager();
  line_->become_manager();
  EXPECT_EQ(port_.managers, 1);
  line_.reset();
  EXPECT_EQ(port_.gone, (std::vector{agent_, AgentId{102}}));
  EXPECT_EQ(port_.managers, 0);
}

// ---- From the program ----

TEST_F(MadLineTest, AMadIsSentAsTheProgramSays) {
  MadPart part = part_of(256);
  part.timeout_ms.set(250);
  part.retries.set(3);
  part.address.lid.set(0x1234);
  part.address.qp.set(0x56);
  part.address.qkey.set(0x8001'0000);
  part.address.level = 0xF5;
  part.address.path_bits = 2;
  part.address.partition_index.set(6);
  const MadText mad = mad_text(256);
  say(mad_message(part, mad));
  ASSERT_EQ(port_.sent.size(), 1u);
  const NotedPort::Sent& sent = port_.sent[0];
  EXPECT_EQ(sent.agent, agent_);
  EXPECT_EQ(sent.mad, mad);
  EXPECT_EQ(sent.timeout, 250ms);
  EXPECT_EQ(sent.retries, 3u);
  EXPECT_EQ(sent.now, clock_.now);
  const subnet::MadAddress expected{.lid = 0x1234,
                                    .qp = 0x56,
                                    .qkey = 0x8001'0000,
                                    .level = 5,
                                    .path_bits = 2,
                                    .partition_index = 6};
  EXPECT_EQ(sent.to, expected);
}

TEST_F(MadLineTest, AGlobalRouteIsTakenWithinItsBits) {
  MadPart part = part_of(256);
  part.address.has_global = 1;
  part.address.gid = {1, 2, 3};
  part.address.flow_label.set(0xFFF1'2345);
  part.address.traffic_class = 9;
  part.address.hop_limit = 64;
  say(mad_message(part, mad_text(256)));
  ASSERT_EQ(port_.sent.size(), 1u);
  const wire::infiniband::GlobalRoute expected{
      .destination = {1, 2, 3}, .flow_label = 0x1'2345, .traffic_class = 9, .hop_limit = 64};
  EXPECT_EQ(port_.sent[0].to.global, expected);
}

TEST_F(MadLineTest, TimesAndTriesAreBounded) {
  MadPart part = part_of(256);
  part.timeout_ms.set(0xFFFF'FFFF);
  part.retries.set(0xFFFF'FFFF);
  say(mad_message(part, mad_text(256)));
  ASSERT_EQ(port_.sent.size(), 1u);
  EXPECT_EQ(port_.sent[0].timeout, 10min);
  EXPECT_EQ(port_.sent[0].retries, 64u);
}

TEST_F(MadLineTest, ALongMadComesInParts) {
  for (const std::size_t size :
       {kMostPart - 1, kMostPart, kMostPart + 1, 3 * kMostPart, kMostMad}) {
    port_.sent.clear();
    const MadText mad = mad_text(size);
    for (const MadText& message : parts_of(mad)) say(message);
    ASSERT_EQ(port_.sent.size(), 1u) << size;
    EXPECT_EQ(port_.sent[0].mad, mad);
  }
}

TEST_F(MadLineTest, AMessageWithoutAllOfItsHeaderEndsTheLine) {
  expect_end_by(MadText(sizeof(MadPart) - 1));
}
TEST_F(MadLineTest, AMessageWithoutAMadEndsTheLine) {
  expect_end_by(mad_message(part_of(256), {}));
}
TEST_F(MadLineTest, AMadOfNoLengthEndsTheLine) {
  expect_end_by(mad_message(part_of(0), mad_text(256)));
}
TEST_F(MadLineTest, AMadThatIsTooLongEndsTheLine) {
  expect_end_by(mad_message(part_of(kMostMad + 1), mad_text(256)));
}
TEST_F(MadLineTest, APartThatIsTooLongEndsTheLine) {
  expect_end_by(mad_message(part_of(kMostMad), mad_text(kMostPart + 1)));
}
TEST_F(MadLineTest, APartOfMoreThanTheMadEndsTheLine) {
  expect_end_by(mad_message(part_of(255), mad_text(256)));
}
TEST_F(MadLineTest, AFirstPartThatIsNotTheFirstEndsTheLine) {
  expect_end_by(mad_message(part_of(1000, 100), mad_text(256)));
}
TEST_F(MadLineTest, AMissingPartEndsTheLine) {
  const auto parts = parts_of(mad_text(3 * kMostPart));
  say(parts[0]);
  ASSERT_NE(line_, nullptr);
  expect_end_by(parts[2]);
}
TEST_F(MadLineTest, ARepeatedPartEndsTheLine) {
  const auto parts = parts_of(mad_text(3 * kMostPart));
  say(parts[0]);
  expect_end_by(parts[0]);
}
TEST_F(MadLineTest, AMadThatShrinksEndsTheLine) {
  say(parts_of(mad_text(3 * kMostPart))[0]);
  expect_end_by(mad_message(part_of(100, kMostPart), mad_text(50)));
}
TEST_F(MadLineTest, AMadThatBeginsBeforeTheLastOneHasEndedEndsTheLine) {
  say(parts_of(mad_text(3 * kMostPart))[0]);
  expect_end_by(mad_message(part_of(256), mad_text(256)));
}
TEST_F(MadLineTest, AnEmptyMessageEndsTheLine) {
  expect_end_by({});
}

TEST_F(MadLineTest, AProgramThatGoesEndsTheLine) {
  program_.reset();
  poll();
  EXPECT_EQ(line_, nullptr);
  EXPECT_EQ(port_.gone, (std::vector{agent_}));
}

TEST_F(MadLineTest, AMadOfNoAgentIsLostAndTheLineGoesOn) {
  for (const std::uint32_t agent : {0U, kMostAgents, 0xFFFF'FFFFU})
    say(mad_message(part_of(256, 0, agent), mad_text(256)));
  EXPECT_TRUE(port_.sent.empty());
  say(mad_message(part_of(256), mad_text(256)));
  EXPECT_EQ(port_.sent.size(), 1u);
}

// All parts of a MAD are said or none.
TEST_F(MadLineTest, ALineThatCannotBeWrittenToEnds) {
  auto [ours, theirs] = fake::umad_sockets();
  const int room = 8192;  // a whole part has none in it
  ASSERT_EQ(::setsockopt(ours.get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
  bool has_ended = false;
  MadLine line(std::move(ours), port_, *loop_, clock_, [&has_ended] { has_ended = true; });
  ASSERT_TRUE(line.watch());
  ASSERT_EQ(line.register_agent(0, fake::umad_wish(3)), Outcome::kDone);
  port_.receiver->on_mad(AgentId{port_.last_agent}, {}, mad_text(kMostPart + 1000));
  EXPECT_TRUE(fake::is_closed(theirs));
  poll();
  EXPECT_TRUE(has_ended);
}

TEST_F(MadLineTest, WhatThePortDoesNotSendIsNotAnsweredInTime) {
  port_.refuses_send = SendRefusal::kNoRoom;
  const MadText mad = mad_text(256);
  say(mad_message(3, 9, mad));
  EXPECT_FALSE(fake::hear(program_).has_value());  // it does not wait
  say(mad_message(3, 9, mad, 100));
  const auto heard = hear_part(program_);
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(heard->part.status.get(), static_cast<std::uint32_t>(ETIMEDOUT));
  EXPECT_EQ(heard->part.agent.get(), 3u);
  EXPECT_EQ(heard->part.total.get(), sizeof(wire::infiniband::MadHeader));
  EXPECT_EQ(heard->bytes, MadText(mad.begin(), mad.begin() + sizeof(wire::infiniband::MadHeader)));
}

TEST_F(MadLineTest, ABusyProgramLeavesOthersTheirTurn) {
  const MadText message = mad_message(3, 9, mad_text(256));
  unsigned said = 0;
  while (said < 200 && fake::say(program_, message)) ++said;
  ASSERT_GT(said, MadLine::kMessagesPerWake);
  poll();
  EXPECT_EQ(port_.sent.size(), MadLine::kMessagesPerWake);
  while (poll() > 0) {
  }
  EXPECT_EQ(port_.sent.size(), said);
}

// ---- To the program ----

TEST_F(MadLineTest, AMadThatArrivesIsSaid) {
  const subnet::MadAddress from{
      .lid = 0x1234,
      .qp = 0x56,
      .qkey = 7,
      .level = 5,
      .path_bits = 1,
      .partition_index = 6,
      .global = wire::infiniband::GlobalRoute{
          .destination = {1, 2}, .flow_label = 8, .traffic_class = 9, .hop_limit = 10}};
  port_.receiver->on_mad(agent_, from, mad_text(256));
  const auto heard = hear_part(program_);
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(heard->bytes, mad_text(256));
  EXPECT_EQ(heard->part.agent.get(), 3u);
  EXPECT_EQ(heard->part.status.get(), 0u);
  EXPECT_EQ(heard->part.total.get(), 256u);
  EXPECT_EQ(heard->part.offset.get(), 0u);
  const MadAddress& address = heard->part.address;
  EXPECT_EQ(address.lid.get(), 0x1234);
  EXPECT_EQ(address.qp.get(), 0x56u);
  EXPECT_EQ(address.qkey.get(), 7u);
  EXPECT_EQ(address.level, 5);
  EXPECT_EQ(address.path_bits, 1);
  EXPECT_EQ(address.partition_index.get(), 6);
  EXPECT_EQ(address.has_global, 1);
  EXPECT_EQ(address.gid[1], 2);
  EXPECT_EQ(address.flow_label.get(), 8u);
  EXPECT_EQ(address.traffic_class, 9);
  EXPECT_EQ(address.hop_limit, 10);
  // What the program answers goes back there.
  EXPECT_TRUE(fake::say(program_, mad_message(heard->part, heard->bytes)));
  poll();
  ASSERT_EQ(port_.sent.size(), 1u);
  EXPECT_EQ(port_.sent[0].to, from);
}

TEST_F(MadLineTest, ALongMadIsSaidInParts) {
  const MadText mad = mad_text(2 * kMostPart + 5);
  port_.receiver->on_mad(agent_, {.lid = 1}, mad);
  MadText joined;
  while (const auto heard = hear_part(program_)) {
    EXPECT_EQ(heard->part.total.get(), mad.size());
    EXPECT_EQ(heard->part.offset.get(), joined.size());
    EXPECT_LE(heard->bytes.size(), kMostPart);
    joined.insert(joined.end(), heard->bytes.begin(), heard->bytes.end());
  }
  EXPECT_EQ(joined, mad);
}

TEST_F(MadLineTest, WhatWasNotAnsweredIsSaidByItsHeader) {
  const MadText mad = mad_text(256);
  port_.receiver->on_no_answer(agent_, {.lid = 9}, mad);
  const auto heard = hear_part(program_);
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(heard->part.status.get(), static_cast<std::uint32_t>(ETIMEDOUT));
  EXPECT_EQ(heard->part.address.lid.get(), 9);
  EXPECT_EQ(heard->bytes.size(), 24u);
}

TEST_F(MadLineTest, WhatAProgramDoesNotReadWaitsInOrderWithinABound) {
  std::uint64_t told = 0;
  for (; line_->dropped() == 0 && told < 100'000; ++told) {
    MadText mad = mad_text(256);
    std::memcpy(mad.data(), &told, sizeof told);
    port_.receiver->on_mad(agent_, {.lid = 1}, mad);
  }
  ASSERT_EQ(line_->dropped(), 1u);
  // No more than the bound and what the socket holds.
  EXPECT_LT(told * 256, 2 * MadLine::kMostWaiting);
  EXPECT_GT(told * 256, MadLine::kMostWaiting / 2);
  // The loop does not run hot meanwhile.
  EXPECT_EQ(poll(), 0);
  std::uint64_t heard_mads = 0;
  const auto read_all = [&] {
    while (const auto heard = hear_part(program_)) {
      std::uint64_t number = 0;
      std::memcpy(&number, heard->bytes.data(), sizeof number);
      ASSERT_EQ(number, heard_mads);
      ++heard_mads;
    }
  };
  read_all();
  for (int i = 0; i < 100'000 && poll() > 0; ++i) read_all();
  EXPECT_EQ(heard_mads, told - 1);
  // And all is as before.
  port_.receiver->on_mad(agent_, {.lid = 1}, mad_text(256));
  EXPECT_TRUE(hear_part(program_).has_value());
  EXPECT_EQ(poll(), 0);
}

TEST_F(MadLineTest, LongMadsThatWaitAreBoundedToo) {
  const MadText mad = mad_text(kMostMad);
  for (int i = 0; i < 50; ++i) port_.receiver->on_mad(agent_, {.lid = 1}, mad);
  EXPECT_GE(line_->dropped(), 50u - MadLine::kMostWaiting / kMostMad - 1);
  // None comes in part.
  std::size_t bytes = 0;
  do {
    while (const auto heard = hear_part(program_)) bytes += heard->bytes.size();
  } while (poll() > 0);
  EXPECT_EQ(bytes % kMostMad, 0u);
  EXPECT_EQ(bytes / kMostMad + line_->dropped(), 50u);
}

TEST_F(MadLineTest, AProgramThatDoesNotReadMayStillSend) {
  while (line_->dropped() == 0) port_.receiver->on_mad(agent_, {.lid = 1}, mad_text(256));
  say(mad_message(3, 9, mad_text(256)));
  EXPECT_EQ(port_.sent.size(), 1u);
  program_.reset();
  while (line_ && poll() > 0) {
  }
  EXPECT_EQ(line_, nullptr);
}

}  // namespace
}  // namespace paravane::umad
