#include "umad/umad_door.h"

#include <gtest/gtest.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
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
namespace attribute = wire::infiniband::attribute;
namespace management_class = wire::infiniband::management_class;
namespace method = wire::infiniband::method;
using fake::agent_question;
using fake::get_of;
using fake::hear_part;
using fake::mad_message;
using fake::question_of;
using fake::Smp;
using fake::SubnetRig;
using fake::umad_wish;
using fake::UmadProgram;

class UmadDoorTest : public testing::Test {
 protected:
  UmadDoorTest() {
    UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_un any{.sun_family = AF_UNIX, .sun_path = {}};  // the kernel names it
    EXPECT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(sa_family_t)),
              0);
    EXPECT_EQ(::listen(listener.get(), 128), 0);
    size_ = sizeof name_;
    EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&name_), &size_), 0);
    EXPECT_TRUE(door_->open(std::move(listener)));
  }

  UmadProgram connect() {
    UniqueFd client(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&name_), size_), 0);
    step();
    return {std::move(client), [this] { step(); }};
  }
  void step() {
    for (int i = 0; i < 1000; ++i) {
      const int ran = *loop_->poll(Duration::zero());
      timers_.run_due(rig_.clock.now);
      rig_.settle();
      if (ran == 0) return;
    }
    ADD_FAILURE() << "does not come to rest";
  }
  // Sends a MAD over a line.
  template <typename Mad>
  void send(const UniqueFd& line, std::uint16_t lid, const Mad& mad, std::uint32_t timeout_ms = 0,
            std::uint32_t agent = 0) {
    EXPECT_TRUE(fake::say(line, mad_message(agent, lid, fake::mad_bytes(mad), timeout_ms)));
    step();
  }
  static UniqueFd open_for(UmadProgram& program, std::string_view adapter, const AgentWish& wish) {
    UniqueFd line = program.open(adapter, 0);
    EXPECT_TRUE(line);
    EXPECT_EQ(program.outcome(agent_question(Ask::kRegister, 0, 0, wish)), Outcome::kDone);
    return line;
  }
  static wire::infiniband::PerformancePacket question(std::uint8_t a_method) {
    wire::infiniband::PerformancePacket mad;
    mad.header.management_class = management_class::kCommunication;
    mad.header.method = a_method;
    mad.header.transaction.set(0x55);
    return mad;
  }

  SubnetRig rig_;
  std::unique_ptr<EventLoop> loop_ = *EventLoop::create();
  TimerQueue timers_;
  std::unique_ptr<UmadDoor> door_ =
      std::make_unique<UmadDoor>(rig_.subnet, *loop_, timers_, rig_.clock);
  sockaddr_un name_{};
  socklen_t size_ = 0;
};

// ---- Connections ----

TEST_F(UmadDoorTest, ProgramsComeAndGo) {
  UmadProgram one = connect();
  UmadProgram other = connect();
  EXPECT_EQ(door_->connections(), 2u);
  EXPECT_TRUE(one.facts<AdapterNames>(question_of(Ask::kAdapters)).has_value());
  EXPECT_TRUE(other.facts<AdapterNames>(question_of(Ask::kAdapters)).has_value());
  one.close();
  step();
  EXPECT_EQ(door_->connections(), 1u);
  EXPECT_TRUE(other.tell(std::vector<std::byte>(5)));
  EXPECT_EQ(door_->connections(), 0u);
}

TEST_F(UmadDoorTest, ConnectionsAreBounded) {
  std::vector<UmadProgram> programs;
  for (std::size_t i = 0; i < UmadDoor::kMostConnections; ++i) programs.push_back(connect());
  EXPECT_EQ(door_->connections(), UmadDoor::kMostConnections);
  const LogCapture log;
  const UmadProgram late = connect();
  EXPECT_TRUE(fake::is_closed(late.control()));
  EXPECT_EQ(door_->refused(), 1u);
  EXPECT_NE(log.text().find("64 are connected"), std::string::npos);
  EXPECT_EQ(door_->connections(), UmadDoor::kMostConnections);
  programs.pop_back();
  step();
  UmadProgram later = connect();
  EXPECT_TRUE(later.facts<AdapterNames>(question_of(Ask::kAdapters)).has_value());
}

TEST_F(UmadDoorTest, AProgramWithManyLinesHasTheTurnOfOneProgram) {
  UmadProgram program = connect();
  std::vector<UniqueFd> lines;
  const auto message = mad_message(0, rig_.second_lid(), fake::mad_bytes(question(method::kSend)));
  for (std::uint32_t number = 0; number < 3; ++number) {
    lines.push_back(program.open("first", number));
    const auto made = program.outcome(
        agent_question(Ask::kRegister, number, 0, umad_wish(management_class::kCommunication)));
    ASSERT_EQ(made, Outcome::kDone);
  }
  for (const UniqueFd& line : lines) {
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(fake::say(line, message));
  }
  const auto sent = [this] {
    rig_.settle();
    return rig_.first.port(1)->totals().sent_unicast;
  };
  const auto before = sent();
  door_->begin_turn();
  ASSERT_TRUE(loop_->poll(Duration::zero()));
  const auto after = sent();
  EXPECT_GT(after, before + 40);
  EXPECT_LE(after, before + MessageBudget::kMost);
  ASSERT_TRUE(loop_->poll(Duration::zero()));
  EXPECT_EQ(sent(), after);
  for (int turn = 0; turn < 3; ++turn) {
    door_->begin_turn();
    ASSERT_TRUE(loop_->poll(Duration::zero()));
  }
  EXPECT_EQ(sent(), before + 120);
}

TEST_F(UmadDoorTest, ManyProgramsShareATurn) {
  constexpr unsigned kPrograms = 32;
  constexpr unsigned kShare = MessageBudget::kMostOfAll / kPrograms;
  std::vector<UmadProgram> programs;
  std::vector<UniqueFd> lines;
  const auto message = mad_message(0, rig_.second_lid(), fake::mad_bytes(question(method::kSend)));
  for (unsigned i = 0; i < kPrograms; ++i) {
    programs.push_back(connect());
    lines.push_back(
        open_for(programs.back(), "first", umad_wish(management_class::kCommunication)));
  }
  // When all are connected: that takes turns, in which what was said would be read.
  for (const UniqueFd& line : lines) {
    for (unsigned sent = 0; sent < kShare + 1; ++sent) ASSERT_TRUE(fake::say(line, message));
  }
  const auto sent = [this] {
    rig_.settle();
    return rig_.first.port(1)->totals().sent_unicast;
  };
  const auto before = sent();
  door_->begin_turn();
  ASSERT_TRUE(loop_->poll(Duration::zero()));
  EXPECT_EQ(sent(), before + MessageBudget::kMostOfAll);
  door_->begin_turn();
  ASSERT_TRUE(loop_->poll(Duration::zero()));
  EXPECT_EQ(sent(), before + MessageBudget::kMostOfAll + kPrograms) << "one of each was left";
}

TEST(MessageBudgetTest, AProgramHasAShareAndOneMessageAtLeast) {
  EXPECT_EQ(MessageBudget::share_of(0), MessageBudget::kMost);
  EXPECT_EQ(MessageBudget::share_of(1), MessageBudget::kMost);
  EXPECT_EQ(MessageBudget::share_of(8), MessageBudget::kMost);
  EXPECT_EQ(MessageBudget::share_of(16), 32u);
  EXPECT_EQ(MessageBudget::share_of(1000), 1u);
}

TEST_F(UmadDoorTest, ADoorThatGoesEndsAllLines) {
  UmadProgram one = connect();
  const UniqueFd line = open_for(one, "second", umad_wish(management_class::kCommunication));
  door_.reset();
  EXPECT_TRUE(fake::is_closed(one.control()));
  EXPECT_TRUE(fake::is_closed(line));
}

TEST_F(UmadDoorTest, AnAdapterThatGoesEndsTheLinesOfAllPrograms) {
  UmadProgram one = connect();
  UmadProgram other = connect();
  const UniqueFd line = open_for(one, "second", umad_wish(management_class::kCommunication));
  const UniqueFd others = open_for(other, "second", umad_wish(management_class::kCommunication));
  const UniqueFd stays = other.open("first", 1);
  door_->forget(rig_.second);
  rig_.subnet.remove("second");
  step();
  EXPECT_TRUE(fake::is_closed(line));
  EXPECT_TRUE(fake::is_closed(others));
  EXPECT_FALSE(fake::hear(stays).has_value());
  EXPECT_EQ(door_->connections(), 2u);
}

// ---- MADs between programs ----

TEST_F(UmadDoorTest, TwoProgramsTalkThroughTheSubnet) {
  UmadProgram one = connect();
  UmadProgram other = connect();
  const UniqueFd asker = open_for(one, "first", umad_wish(management_class::kCommunication));
  const UniqueFd answerer =
      open_for(other, "second", umad_wish(management_class::kCommunication, {method::kGet}));
  send(asker, rig_.second_lid(), question(method::kGet), 1000);
  auto heard = hear_part(answerer);
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(heard->part.address.lid.get(), rig_.first_lid());
  EXPECT_FALSE(fake::hear(asker).has_value());
  heard->bytes[3] = std::byte{method::kGetResponse};
  EXPECT_TRUE(fake::say(answerer, mad_message(heard->part, heard->bytes)));
  step();
  const auto answer = hear_part(asker);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->part.status.get(), 0u);
  EXPECT_EQ(answer->part.address.lid.get(), rig_.second_lid());
  wire::infiniband::MadHeader header;
  std::memcpy(&header, answer->bytes.data(), sizeof header);
  EXPECT_EQ(header.method, method::kGetResponse);
  EXPECT_EQ(header.transaction.get() & 0xFFFF'FFFF, 0x55u);
}

TEST_F(UmadDoorTest, WhatIsNotAnsweredIsSaidAfterItsTime) {
  UmadProgram one = connect();
  const UniqueFd line = open_for(one, "first", umad_wish(management_class::kCommunication));
  send(line, 0x77, question(method::kGet), 1000);
  EXPECT_FALSE(fake::hear(line).has_value());
  rig_.advance(999ms);
  EXPECT_FALSE(fake::hear(line).has_value());
  rig_.advance(1ms);
  const auto heard = hear_part(line);
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(heard->part.status.get(), static_cast<std::uint32_t>(ETIMEDOUT));
}

TEST_F(UmadDoorTest, ADiagnosticAsksNodesByRouteAndByLid) {
  UmadProgram one = connect();
  const UniqueFd line = open_for(one, "second", umad_wish(management_class::kSubnetByLid));
  const auto guid_of_answer = [&line]() -> std::uint64_t {
    const auto heard = hear_part(line);
    if (!heard || heard->part.status.get() != 0 || heard->bytes.size() != sizeof(Smp)) return 0;
    Smp smp;
    std::memcpy(&smp, heard->bytes.data(), sizeof smp);
    return fake::attribute_in<wire::infiniband::NodeInfo>(smp).node_guid.get();
  };
  const Smp get = get_of(attribute::kNodeInfo);
  send(line, 0xFFFF, fake::directed(get, {}), 1000);
  EXPECT_EQ(guid_of_answer(), SubnetRig::kSecondGuid);
  send(line, 0xFFFF, fake::directed(get, {1}), 1000);
  EXPECT_EQ(guid_of_answer(), SubnetRig::kSwitchGuid);
  send(line, 0xFFFF, fake::directed(get, {1, 1}), 1000);
  EXPECT_EQ(guid_of_answer(), SubnetRig::kFirstGuid);
  send(line, rig_.first_lid(), get, 1000);
  EXPECT_EQ(guid_of_answer(), SubnetRig::kFirstGuid);
  send(line, rig_.second_lid(), get, 1000);
  EXPECT_EQ(guid_of_answer(), SubnetRig::kSecondGuid);
}

TEST_F(UmadDoorTest, AProgramsAnswersAreForItAlone) {
  UmadProgram one = connect();
  UmadProgram other = connect();
  const UniqueFd line = open_for(one, "second", umad_wish(management_class::kSubnetByRoute));
  const UniqueFd same_port = open_for(other, "second", umad_wish(management_class::kSubnetByRoute));
  send(line, 0xFFFF, fake::directed(get_of(attribute::kNodeInfo), {1}), 1000);
  EXPECT_TRUE(hear_part(line).has_value());
  EXPECT_FALSE(fake::hear(same_port).has_value());
}

TEST_F(UmadDoorTest, AProgramThatDoesNotReadHarmsNoOther) {
  UmadProgram one = connect();
  UmadProgram other = connect();
  const UniqueFd deaf = open_for(one, "second", umad_wish(management_class::kSubnetByRoute));
  const UniqueFd line = open_for(other, "second", umad_wish(management_class::kSubnetByRoute));
  const Smp get = fake::directed(get_of(attribute::kNodeInfo), {1});
  for (int i = 0; i < 30'000; ++i) {
    if (!fake::say(deaf, mad_message(0, 0xFFFF, fake::mad_bytes(get)))) break;
    step();
  }
  send(line, 0xFFFF, get, 1000);
  EXPECT_TRUE(hear_part(line).has_value());
}

}  // namespace
}  // namespace paravane::umad
