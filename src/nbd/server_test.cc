#include "nbd/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "testing/nbd_rig.h"

namespace paravane::nbd {
namespace {

using namespace std::chrono_literals;
using fake::Bytes;
using fake::operator+;
using fake::NbdProgram;
using fake::NbdRig;
using fake::query_of;
using testing::HasSubstr;
using testing::SizeIs;

class ServerTest : public testing::Test {
 protected:
  OptionReply go(NbdProgram& program) {
    const auto answers = program.ask(Option::kGo, query_of("", {Information::kBlockSize}));
    return answers.empty() ? OptionReply{} : answers.back().type;
  }

  NbdRig rig_;
};

TEST_F(ServerTest, OneClientHasTheDevice) {
  NbdProgram first = rig_.connect();
  ASSERT_TRUE(first.enter());
  EXPECT_TRUE(rig_.server->is_in_use());
  NbdProgram second = rig_.connect();
  second.hello();
  const auto answers = second.ask(Option::kGo, query_of("", {}));
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].type, OptionReply::kPolicy);
  EXPECT_THAT(answers[0].text(), HasSubstr("naa.60014050000000000000000000000001 is in use"));
  EXPECT_EQ(rig_.counters().in_use.value(), 1U);
  // It may ask, and try again.
  EXPECT_THAT(second.ask(Option::kInfo, query_of("", {})), SizeIs(3));
  first.request(Command::kDisconnect, 1, 0, 0);
  EXPECT_TRUE(first.is_disconnected());
  EXPECT_EQ(go(second), OptionReply::kAck);
  EXPECT_EQ(rig_.counters().opened.value(), 2U);
}

TEST_F(ServerTest, ExportNameEndsWhileAnotherHasTheDevice) {
  NbdProgram first = rig_.connect();
  ASSERT_TRUE(first.enter());
  NbdProgram second = rig_.connect();
  second.hello();
  second.say(Option::kExportName);
  EXPECT_TRUE(second.is_disconnected());
  EXPECT_EQ(rig_.counters().in_use.value(), 1U);
  EXPECT_EQ(rig_.counters().broken_rules.value(), 0U);
  EXPECT_TRUE(rig_.server->is_in_use());
}

// The device itself says whether it is free.
TEST_F(ServerTest, ADeviceWithAnotherUserIsInUse) {
  struct : BlockClient {
    void on_done(std::uint64_t, BlockResult, std::unique_ptr<BlockBuffer>) override {}
    void on_room() override {}
    void on_ready() override {}
  } other;
  ASSERT_TRUE(rig_.disk.open(other));
  NbdProgram program = rig_.connect();
  program.hello();
  EXPECT_EQ(go(program), OptionReply::kPolicy);
  EXPECT_FALSE(rig_.server->is_in_use());
  rig_.disk.close(other);
  EXPECT_EQ(go(program), OptionReply::kAck);
}

TEST_F(ServerTest, GoWaitsForTheRequestsOfAClientBefore) {
  NbdProgram first = rig_.connect();
  ASSERT_TRUE(first.enter());
  rig_.disk.hold(true);
  first.write(1, 0, Bytes(512, std::byte{3}));
  first.close();
  EXPECT_FALSE(rig_.disk.is_open());
  NbdProgram second = rig_.connect();
  second.hello();
  EXPECT_EQ(go(second), OptionReply{});
  rig_.pass(1h);  // the client waits, not we for it
  EXPECT_EQ(second.waiting(), 0U);
  EXPECT_FALSE(second.is_disconnected());
  EXPECT_FALSE(rig_.server->has_work());
  rig_.disk.hold(false);
  rig_.settle();
  EXPECT_EQ(second.take_answer().type, OptionReply::kInfo);
  EXPECT_EQ(second.take_answer().type, OptionReply::kInfo);
  EXPECT_EQ(second.take_answer().type, OptionReply::kAck);
  second.request(Command::kRead, 2, 0, 512);
  EXPECT_EQ(second.take_reply(512).payload.at(0), std::byte{3});
}

// As a VM's QEMU that was killed, and the next one.
TEST_F(ServerTest, GoWaitsForAClientThatHasGoneButIsReadStill) {
  NbdProgram first = rig_.connect();
  ASSERT_TRUE(first.enter());
  rig_.disk.hold(true);
  Bytes all;
  for (std::uint64_t handle = 0; handle < 100; ++handle)
    all = all + fake::request_of(Command::kFlush, handle, 0, 0);
  first.send(all);
  first.close();
  EXPECT_TRUE(rig_.server->is_in_use());
  NbdProgram second = rig_.connect();
  second.hello();
  EXPECT_EQ(go(second), OptionReply{});
  rig_.disk.hold(false);
  rig_.settle();
  EXPECT_EQ(second.take_answer().type, OptionReply::kInfo);
  EXPECT_EQ(rig_.disk.seen().size(), 100U);
  EXPECT_EQ(rig_.counters().in_use.value(), 0U);
}

TEST_F(ServerTest, AClientThatGoesWhileItWaitsFreesTheDevice) {
  rig_.disk.delay_ready(true);
  NbdProgram first = rig_.connect();
  first.hello();
  EXPECT_EQ(go(first), OptionReply{});
  EXPECT_TRUE(rig_.disk.is_open());
  first.close();
  EXPECT_FALSE(rig_.disk.is_open());
  EXPECT_EQ(rig_.server->connections(), 0U);
}

TEST_F(ServerTest, RequestsOfAClientThatHasGoneGoOn) {
  NbdProgram first = rig_.connect();
  ASSERT_TRUE(first.enter());
  rig_.disk.hold(true);
  first.write(1, 0, Bytes(512, std::byte{9}));
  first.request(Command::kRead, 2, 0, 512);
  first.close();
  EXPECT_FALSE(rig_.disk.is_open());
  EXPECT_EQ(rig_.disk.under_way(), 2U);
  rig_.disk.hold(false);
  rig_.settle();
  EXPECT_EQ(rig_.disk.contents()[0], std::byte{9});
  EXPECT_EQ(rig_.disk.buffers_taken(), 0U);
}

TEST_F(ServerTest, TakesSoManyConnectionsAndNoMore) {
  std::vector<NbdProgram> programs;
  for (std::size_t i = 0; i < Server::kMostConnections; ++i) programs.push_back(rig_.connect());
  NbdProgram one_more = rig_.connect();
  EXPECT_TRUE(one_more.is_disconnected());
  EXPECT_EQ(rig_.server->connections(), Server::kMostConnections);
  EXPECT_EQ(rig_.counters().too_many_connections.value(), 1U);
  EXPECT_TRUE(programs.front().enter());
  programs.pop_back();
  rig_.settle();
  NbdProgram next = rig_.connect();
  next.hello();
  EXPECT_EQ(go(next), OptionReply::kPolicy);
}

TEST_F(ServerTest, AHandshakeHasItsTime) {
  NbdProgram idle = rig_.connect();
  NbdProgram dribbles = rig_.connect();
  dribbles.send(Bytes(3));
  EXPECT_EQ(rig_.server->next_look(), rig_.clock.now + Connection::kHandshakeTime);
  rig_.pass(Connection::kHandshakeTime - 1ns);
  dribbles.send(Bytes(1, std::byte{3}));
  EXPECT_EQ(rig_.server->connections(), 2U);
  rig_.pass(1ns);
  EXPECT_TRUE(idle.is_disconnected() || rig_.server->connections() == 0U);
  EXPECT_EQ(rig_.server->connections(), 0U);
  EXPECT_EQ(rig_.counters().timeouts.value(), 2U);
}

TEST_F(ServerTest, AHandshakeThatBreaksTheRulesEnds) {
  NbdProgram program = rig_.connect();
  program.hello(0xFFFF'FFFF);
  EXPECT_TRUE(program.is_disconnected());
  EXPECT_EQ(rig_.counters().broken_rules.value(), 1U);
  EXPECT_FALSE(rig_.disk.is_open());
}

TEST_F(ServerTest, RefusedOptionsAreCounted) {
  NbdProgram program = rig_.connect();
  program.hello();
  program.ask(Option::kStartTls);
  program.ask(Option::kGo, query_of("other", {}));
  EXPECT_EQ(rig_.counters().refused_options.value(), 2U);
  EXPECT_EQ(program.ask(Option::kAbort).back().type, OptionReply::kAck);
  EXPECT_TRUE(program.is_disconnected());
  EXPECT_EQ(rig_.counters().broken_rules.value(), 0U);
}

// Options that come before the answers to those before are answered one after the other.
TEST_F(ServerTest, AFloodOfOptionsIsAnsweredWithinTurns) {
  NbdProgram program = rig_.connect();
  program.take<Greeting>();
  Bytes all = fake::joined(Be32(3));
  for (int i = 0; i < 100; ++i) all = all + fake::option_of(Option::kList);
  program.send(all);
  for (unsigned i = 0; i < Handshake::kMostOptions; ++i) {
    ASSERT_EQ(program.take_answer().type, OptionReply::kServer);
    ASSERT_EQ(program.take_answer().type, OptionReply::kAck);
  }
  EXPECT_TRUE(program.is_disconnected());
}

// What follows the handshake is a request already.
TEST_F(ServerTest, RequestsMayComeAtOnce) {
  NbdProgram program = rig_.connect();
  program.take<Greeting>();
  program.send(fake::joined(Be32(3)) + fake::option_of(Option::kExportName) +
               fake::request_of(Command::kWrite, 4, 512, 512) + Bytes(512, std::byte{6}));
  program.take<ExportNameReply>();
  EXPECT_EQ(program.take_reply().handle, 4U);
  EXPECT_EQ(rig_.disk.contents()[512], std::byte{6});
}

TEST_F(ServerTest, AServerThatEndsDisconnects) {
  NbdProgram program = rig_.connect();
  ASSERT_TRUE(program.enter());
  rig_.disk.hold(true);
  program.write(1, 0, Bytes(512));
  rig_.server.reset();
  EXPECT_TRUE(program.is_disconnected());
  EXPECT_FALSE(rig_.disk.is_open());
  rig_.disk.hold(false);
  rig_.disk.run();
}

TEST_F(ServerTest, LooksAtTheSocketWithoutAnEvent) {
  NbdProgram program = rig_.connect();
  ASSERT_TRUE(program.enter());
  const Bytes request = fake::request_of(Command::kFlush, 1, 0, 0);
  ASSERT_EQ(::send(program.fd(), request.data(), request.size(), 0), std::ssize(request));
  EXPECT_FALSE(rig_.server->has_work());
  rig_.server->look_at_socket();
  EXPECT_TRUE(rig_.server->has_work());
  TurnBudget budget{.bytes = 1000, .operations = 10};
  EXPECT_TRUE(rig_.server->turn(rig_.clock.now, budget));
  EXPECT_EQ(rig_.disk.under_way(), 1U);
  EXPECT_EQ(rig_.server->last_heard(), rig_.clock.now);
  EXPECT_LT(budget.operations, 10);
}

}  // namespace
}  // namespace paravane::nbd
