#include "umad/control_line.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "testing/log_capture.h"
#include "testing/management_datagrams.h"
#include "testing/subnet_rig.h"
#include "testing/umad_program.h"

namespace paravane::umad {
namespace {

using namespace std::chrono_literals;
using fake::agent_question;
using fake::question_of;
using fake::SubnetRig;
using fake::umad_wish;

constexpr std::uint8_t kCommunicationClass = 7;

class ControlLineTest : public testing::Test {
 protected:
  // A line, and the program at its other end.
  struct Line {
    std::unique_ptr<ControlLine> line;
    std::unique_ptr<fake::UmadProgram> program;
  };
  Line& connect() {
    Line& one = lines_.emplace_back();
    auto [ours, theirs] = fake::umad_sockets();
    one.line = std::make_unique<ControlLine>(std::move(ours), rig_.subnet, room_, *loop_,
                                             rig_.clock, [&one] { one.line.reset(); });
    EXPECT_TRUE(one.line->watch());
    one.program = std::make_unique<fake::UmadProgram>(std::move(theirs), [this] { step(); });
    return one;
  }
  void step() {
    for (int i = 0; i < 1000; ++i) {
      const int ran = *loop_->poll(Duration::zero());
      rig_.settle();
      if (ran == 0) return;
    }
    ADD_FAILURE() << "does not come to rest";
  }
  void expect_end_by(std::span<const std::byte> message) {
    Line& one = connect();
    const UniqueFd mads = one.program->open("second", 1);
    EXPECT_TRUE(mads);
    EXPECT_TRUE(one.program->tell(message));
    EXPECT_EQ(one.line, nullptr);
    EXPECT_TRUE(fake::is_closed(one.program->control()));
    EXPECT_TRUE(fake::is_closed(mads));
    EXPECT_EQ(room_.lines, 0u);
  }
  fake::UmadProgram& program() { return *connect().program; }
  bool has_manager() {
    return (rig_.second.port(1)->capabilities() & wire::infiniband::capability::kIsManager) != 0;
  }

  SubnetRig rig_{{.name = "MT26428"}};
  std::unique_ptr<EventLoop> loop_ = *EventLoop::create();
  ControlLine::Room room_;
  std::list<Line> lines_;
};

// ---- Facts ----

TEST_F(ControlLineTest, NamesTheAdapters) {
  fake::UmadProgram& one = program();
  auto names = one.facts<AdapterNames>(question_of(Ask::kAdapters));
  ASSERT_TRUE(names.has_value());
  ASSERT_EQ(names->count.get(), 2u);
  EXPECT_STREQ(names->names[0].data(), "first");
  EXPECT_STREQ(names->names[1].data(), "second");
  EXPECT_STREQ(names->names[2].data(), "");
  rig_.subnet.remove("second");
  names = one.facts<AdapterNames>(question_of(Ask::kAdapters));
  EXPECT_EQ(names->count.get(), 1u);
}

TEST_F(ControlLineTest, TellsOfIpoibUplinks) {
  room_.ipoib_uplinks = 3;
  const auto facts = program().facts<IpoibFacts>(question_of(Ask::kIpoib));
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->uplinks.get(), 3u);
}

TEST_F(ControlLineTest, TellsOfAnAdapter) {
  const auto facts = program().facts<AdapterFacts>(question_of(Ask::kAdapter, "second"));
  ASSERT_TRUE(facts.has_value());
  EXPECT_STREQ(facts->name.data(), "second");
  EXPECT_EQ(facts->node_type.get(), 1u);
  EXPECT_EQ(facts->ports.get(), 1u);
  EXPECT_STREQ(facts->type.data(), "MT26428");
  EXPECT_EQ(facts->node_guid.get(), SubnetRig::kSecondGuid);
  EXPECT_NE(facts->firmware[0], 0);
  EXPECT_EQ(facts->firmware.back(), 0);
}

TEST_F(ControlLineTest, TellsOfAPort) {
  const auto facts = program().facts<PortFacts>(question_of(Ask::kPort, "second"));
  ASSERT_TRUE(facts.has_value());
  EXPECT_STREQ(facts->adapter.data(), "second");
  EXPECT_EQ(facts->port.get(), 1u);
  EXPECT_EQ(facts->base_lid.get(), rig_.second_lid());
  EXPECT_EQ(facts->lmc.get(), 0u);
  EXPECT_EQ(facts->master_lid.get(), rig_.first_lid());
  EXPECT_EQ(facts->state.get(), 4u);
  EXPECT_EQ(facts->physical_state.get(), 5u);
  EXPECT_EQ(facts->rate.get(), 40u);
  EXPECT_EQ(facts->capabilities.get(), rig_.second.port(1)->capabilities());
  EXPECT_EQ(facts->gid_prefix.get(), 0xFE80'0000'0000'0000u);
  EXPECT_EQ(facts->port_guid.get(), SubnetRig::kSecondGuid + 1);
  EXPECT_STREQ(facts->link_layer.data(), "InfiniBand");
  EXPECT_EQ(facts->partitions.get(), 128u);
  EXPECT_EQ(facts->keys[0].get(), 0xFFFF);
  EXPECT_EQ(facts->keys[1].get(), 0);
}

TEST_F(ControlLineTest, TheRateIsThatOfFourLanes) {
  fake::UmadProgram& one = program();
  for (const auto& [name, speed, rate] : {std::tuple("sdr", subnet::Speed::kSingle, 10U),
                                          std::tuple("ddr", subnet::Speed::kDouble, 20U)}) {
    ASSERT_NE(rig_.subnet.add(name, {.name = "Test", .speed = speed}, 0x5000 + rate), nullptr);
    rig_.settle();
    EXPECT_EQ(one.facts<PortFacts>(question_of(Ask::kPort, name))->rate.get(), rate);
  }
}

TEST_F(ControlLineTest, WhatIsNotThereIsSaid) {
  fake::UmadProgram& one = program();
  const std::string long_name(kNameBytes, 'x');  // has no zero at its end
  for (const std::string& name :
       {std::string(), std::string("third"), std::string("firs"), long_name}) {
    EXPECT_EQ(one.outcome(question_of(Ask::kAdapter, name)), Outcome::kNoAdapter);
    EXPECT_EQ(one.outcome(question_of(Ask::kPort, name)), Outcome::kNoAdapter);
    EXPECT_EQ(one.outcome(question_of(Ask::kOpen, name)), Outcome::kNoAdapter);
  }
  for (const std::uint32_t port : {0U, 2U, 257U, 0xFFFF'FFFFU}) {
    EXPECT_EQ(one.outcome(question_of(Ask::kPort, "first", port)), Outcome::kNoAdapter);
    EXPECT_EQ(one.outcome(question_of(Ask::kOpen, "first", port)), Outcome::kNoAdapter);
  }
}

TEST_F(ControlLineTest, AnotherVersionIsSaidWhateverIsAsked) {
  fake::UmadProgram& one = program();
  for (std::uint32_t ask = 0; ask < 12; ++ask) {
    Question question = question_of(static_cast<Ask>(ask), "first");
    question.version.set(kDoorVersion + 1);
    EXPECT_EQ(one.outcome(question), Outcome::kVersion);
  }
  EXPECT_TRUE(one.open("first", 0));  // the line goes on
}

// ---- What ends a line ----

TEST_F(ControlLineTest, AnUnknownQuestionEndsTheLine) {
  for (const std::uint32_t ask : {0U, 10U, 0xFFFF'FFFFU}) {
    const Question question = question_of(static_cast<Ask>(ask));
    expect_end_by(std::as_bytes(std::span(&question, 1)));
  }
}

TEST_F(ControlLineTest, AMessageOfAnotherLengthEndsTheLine) {
  std::vector<std::byte> bytes(4096);
  const Question question = question_of(Ask::kAdapters);
  std::memcpy(bytes.data(), &question, sizeof question);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, sizeof question - 1, sizeof question + 1, bytes.size()})
    expect_end_by(std::span(bytes).first(size));
}

TEST_F(ControlLineTest, AProgramThatGoesEndsTheLine) {
  Line& one = connect();
  const UniqueFd mads = one.program->open("second", 1);
  one.program->close();
  step();
  EXPECT_EQ(one.line, nullptr);
  EXPECT_TRUE(fake::is_closed(mads));
  EXPECT_EQ(room_.lines, 0u);
}

TEST_F(ControlLineTest, AProgramThatDoesNotReadItsAnswersEndsItsLine) {
  Line& one = connect();
  Line& other = connect();
  const Question question = question_of(Ask::kAdapters);
  for (int i = 0; i < 10'000 && one.line; ++i) {
    if (!fake::say(one.program->control(), std::as_bytes(std::span(&question, 1)))) break;
    step();
  }
  EXPECT_EQ(one.line, nullptr);
  EXPECT_TRUE(other.program->facts<AdapterNames>(question).has_value());
}

// ---- MAD lines ----

TEST_F(ControlLineTest, AMadLineIsOpenedUnderItsNumber) {
  fake::UmadProgram& one = program();
  const UniqueFd mads = one.open("second", 5);
  EXPECT_TRUE(mads);
  EXPECT_EQ(one.outcome(question_of(Ask::kOpen, "second", 1, 5)), Outcome::kBadLine);
  EXPECT_EQ(one.outcome(question_of(Ask::kOpen, "second", 1, kMostLines)), Outcome::kBadLine);
  EXPECT_EQ(one.outcome(question_of(Ask::kOpen, "second", 1, 0xFFFF'FFFF)), Outcome::kBadLine);
  EXPECT_TRUE(program().open("second", 5));  // another program's numbers are its own
}

TEST_F(ControlLineTest, LinesOfAllProgramsAreBounded) {
  std::vector<UniqueFd> open;
  Line& first = connect();
  for (std::uint32_t line = 0; line < kMostLines; ++line)
    open.push_back(first.program->open("first", line));
  while (open.size() < 96) {
    fake::UmadProgram& next = program();
    for (std::uint32_t line = 0; line < kMostLines && open.size() < 96; ++line)
      open.push_back(next.open("second", line));
  }
  for (const UniqueFd& one : open) ASSERT_TRUE(one);
  fake::UmadProgram& late = program();
  EXPECT_EQ(late.outcome(question_of(Ask::kOpen, "first")), Outcome::kNoRoom);
  EXPECT_EQ(first.program->outcome(question_of(Ask::kClose, {}, 1, 7)), Outcome::kDone);
  const UniqueFd last = late.open("first", 0);
  EXPECT_TRUE(last);
  EXPECT_EQ(late.outcome(question_of(Ask::kOpen, "first", 1, 1)), Outcome::kNoRoom);
  first.program->close();
  step();
  EXPECT_EQ(room_.lines, 96 - kMostLines + 1);
  EXPECT_TRUE(late.open("first", 1));
}

TEST_F(ControlLineTest, AClosedLineIsGone) {
  fake::UmadProgram& one = program();
  const UniqueFd mads = one.open("second", 5);
  EXPECT_EQ(one.outcome(question_of(Ask::kClose, {}, 1, 5)), Outcome::kDone);
  EXPECT_TRUE(fake::is_closed(mads));
  EXPECT_EQ(one.outcome(question_of(Ask::kClose, {}, 1, 5)), Outcome::kBadLine);
  EXPECT_TRUE(one.open("second", 5));
}

TEST_F(ControlLineTest, ALineThatTheProgramHasClosedIsGoneToo) {
  fake::UmadProgram& one = program();
  UniqueFd mads = one.open("second", 5);
  mads.reset();
  step();
  EXPECT_EQ(room_.lines, 0u);
  EXPECT_EQ(one.outcome(question_of(Ask::kManager, {}, 1, 5)), Outcome::kBadLine);
  EXPECT_TRUE(one.open("second", 5));
}

TEST_F(ControlLineTest, AnOddMadEndsItsLineAlone) {
  fake::UmadProgram& one = program();
  const UniqueFd odd = one.open("second", 1);
  const UniqueFd other = one.open("second", 2);
  EXPECT_TRUE(fake::say(odd, std::vector<std::byte>(3)));
  step();
  EXPECT_TRUE(fake::is_closed(odd));
  EXPECT_FALSE(fake::hear(other).has_value());
  EXPECT_EQ(room_.lines, 1u);
  EXPECT_EQ(one.outcome(question_of(Ask::kClose, {}, 1, 1)), Outcome::kBadLine);
  EXPECT_EQ(one.outcome(question_of(Ask::kClose, {}, 1, 2)), Outcome::kDone);
}

// ---- Agents ----

TEST_F(ControlLineTest, EveryOutcomeOfARegistration) {
  fake::UmadProgram& one = program();
  const UniqueFd mads = one.open("second", 2);
  const auto registers = [&one](std::uint32_t line, std::uint32_t agent, const AgentWish& wish) {
    return one.outcome(agent_question(Ask::kRegister, line, agent, wish));
  };
  EXPECT_EQ(registers(2, 0, umad_wish(kCommunicationClass, {1})), Outcome::kDone);
  EXPECT_EQ(registers(2, 1, umad_wish(kCommunicationClass, {1, 2})), Outcome::kTaken);
  EXPECT_EQ(registers(2, 0, umad_wish(kCommunicationClass)), Outcome::kBadWish);
  EXPECT_EQ(registers(2, kMostAgents, umad_wish(kCommunicationClass)), Outcome::kBadWish);
  AgentWish wish = umad_wish(kCommunicationClass, {2});
  wish.class_version = 0;
  EXPECT_EQ(registers(2, 1, wish), Outcome::kBadWish);
  EXPECT_EQ(registers(1, 1, umad_wish(kCommunicationClass)), Outcome::kBadLine);
  EXPECT_EQ(registers(0xFFFF'FFFF, 1, umad_wish(kCommunicationClass)), Outcome::kBadLine);
  EXPECT_EQ(one.outcome(agent_question(Ask::kUnregister, 2, 0)), Outcome::kDone);
  EXPECT_EQ(one.outcome(agent_question(Ask::kUnregister, 2, 0)), Outcome::kBadWish);
  EXPECT_EQ(one.outcome(agent_question(Ask::kUnregister, 9, 0)), Outcome::kBadLine);
  EXPECT_EQ(registers(2, 1, umad_wish(kCommunicationClass, {1, 2})), Outcome::kDone);
}

TEST_F(ControlLineTest, AgentsOfAPortAreBounded) {
  fake::UmadProgram& one = program();
  std::vector<UniqueFd> open;
  std::uint32_t line = 0;
  std::size_t made = 0;
  for (; line < 20; ++line) {
    open.push_back(one.open("second", line));
    std::uint32_t agent = 0;
    while (agent < kMostAgents &&
           one.outcome(agent_question(Ask::kRegister, line, agent,
                                      umad_wish(kCommunicationClass))) == Outcome::kDone) {
      ++agent;
      ++made;
    }
    if (agent < kMostAgents) break;
  }
  EXPECT_EQ(made, subnet::MadPort::kMostAgents);
  EXPECT_EQ(one.outcome(agent_question(Ask::kRegister, line, 5, umad_wish(kCommunicationClass))),
            Outcome::kNoRoom);
  // The other port's are its own; and a line that goes gives back what it had.
  open.push_back(one.open("first", 40));
  EXPECT_EQ(one.outcome(agent_question(Ask::kRegister, 40, 5, umad_wish(kCommunicationClass))),
            Outcome::kDone);
  EXPECT_EQ(one.outcome(question_of(Ask::kClose, {}, 1, 0)), Outcome::kDone);
  EXPECT_EQ(one.outcome(agent_question(Ask::kRegister, line, 5, umad_wish(kCommunicationClass))),
            Outcome::kDone);
}

TEST_F(ControlLineTest, AManagerIsOneWhileItsLineLives) {
  fake::UmadProgram& one = program();
  fake::UmadProgram& other = program();
  const UniqueFd mads = one.open("second", 2);
  const UniqueFd others = other.open("second", 2);
  EXPECT_FALSE(has_manager());
  EXPECT_EQ(one.outcome(question_of(Ask::kManager, {}, 1, 3)), Outcome::kBadLine);
  EXPECT_EQ(one.outcome(question_of(Ask::kManager, {}, 1, 2)), Outcome::kDone);
  EXPECT_EQ(one.outcome(question_of(Ask::kManager, {}, 1, 2)), Outcome::kDone);
  EXPECT_TRUE(has_manager());
  EXPECT_EQ(other.outcome(question_of(Ask::kManager, {}, 1, 2)), Outcome::kDone);
  EXPECT_EQ(one.outcome(question_of(Ask::kClose, {}, 1, 2)), Outcome::kDone);
  EXPECT_TRUE(has_manager());  // the other program
  other.close();
  step();
  EXPECT_FALSE(has_manager());
}

// ---- Adapters that go ----

TEST_F(ControlLineTest, AnAdapterThatGoesEndsItsLines) {
  Line& line = connect();
  fake::UmadProgram& one = *line.program;
  const UniqueFd first = one.open("first", 1);
  const UniqueFd second = one.open("second", 2);
  line.line->forget(rig_.second);
  rig_.subnet.remove("second");
  step();
  EXPECT_TRUE(fake::is_closed(second));
  EXPECT_FALSE(fake::hear(first).has_value());
  EXPECT_EQ(room_.lines, 1u);
  EXPECT_EQ(one.outcome(question_of(Ask::kClose, {}, 1, 2)), Outcome::kBadLine);
  EXPECT_EQ(one.outcome(question_of(Ask::kClose, {}, 1, 1)), Outcome::kDone);
}

// ---- What is logged ----

class SilentAgent : public subnet::MadAgent {
 public:
  void on_mad(subnet::AgentId, const subnet::MadAddress&, std::span<const std::byte>) override {}
  void on_no_answer(subnet::AgentId, const subnet::MadAddress&,
                    std::span<const std::byte>) override {}
};

TEST_F(ControlLineTest, WhatAProgramDidNotReadIsLoggedWhenItsLineEnds) {
  fake::UmadProgram& reader = program();
  const UniqueFd mads = reader.open("second", 0);
  ASSERT_EQ(reader.outcome(fake::agent_question(
                Ask::kRegister, 0, 0,
                fake::umad_wish(wire::infiniband::management_class::kCommunication,
                                {wire::infiniband::method::kSend}))),
            Outcome::kDone);
  SilentAgent agent;
  subnet::MadPort& port = rig_.first.mads(1);
  const auto id = port.register_agent(
      {.management_class = wire::infiniband::management_class::kCommunication}, agent);
  ASSERT_TRUE(id.has_value());
  wire::infiniband::PerformancePacket mad;
  mad.header.management_class = wire::infiniband::management_class::kCommunication;
  mad.header.method = wire::infiniband::method::kSend;
  for (std::size_t i = 0; i < 2 * MadLine::kMostWaiting / sizeof mad; ++i) {
    ASSERT_TRUE(port.send(*id, {.lid = rig_.second_lid(), .qp = 1}, fake::mad_bytes(mad), {}, 0,
                          rig_.clock.now)
                    .has_value());
    if (i % 64 == 0) rig_.settle();
  }
  rig_.settle();
  const LogCapture log;
  reader.close();
  step();
  EXPECT_NE(log.text().find("datagrams were dropped"), std::string::npos);
  port.unregister(*id);
}

}  // namespace
}  // namespace paravane::umad
