#include "subnet_host/host_cables.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "testing/cable_pipe.h"
#include "testing/subnet_rig.h"

namespace paravane::subnet_host {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::infiniband::PortState;

class SocketStream final : public cable::ByteStream {
 public:
  explicit SocketStream(UniqueFd socket) : socket_(std::move(socket)) {}
  int fd() const override { return socket_.get(); }
  Moved read(std::span<std::byte> to) override {
    const ssize_t got = ::read(fd(), to.data(), to.size());
    return {.bytes = got > 0 ? static_cast<std::size_t>(got) : 0,
            .is_over = got == 0 || (got < 0 && errno != EAGAIN)};
  }
  Moved write(std::span<const std::byte> from) override {
    const ssize_t put = ::send(fd(), from.data(), from.size(), MSG_NOSIGNAL);
    return {.bytes = put > 0 ? static_cast<std::size_t>(put) : 0,
            .is_over = put < 0 && errno != EAGAIN};
  }
  std::string problem() const override { return "the socket is closed"; }

 private:
  UniqueFd socket_;
};

class HostCablesTest : public testing::Test {
 protected:
  // The test's end of a new line to the host.
  UniqueFd connect(const std::string& host, std::uint64_t number) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    UniqueFd ours(ends[0]);
    connected_ = cables_->connect(host, number, std::make_unique<SocketStream>(UniqueFd(ends[1])));
    return ours;
  }
  static void put(const UniqueFd& end, std::span<const std::byte> bytes) {
    ASSERT_EQ(::write(end.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void turn() {
    ASSERT_TRUE(loop_->poll(Duration::zero()));
    has_more_ = cables_->receive();
    rig_.settle();
    cables_->on_time(rig_.clock.now);
    cables_->flush();
  }
  PortState state_of_cable(std::size_t index) {
    const auto number = static_cast<subnet::PortNumber>(subnet::Subnet::kFirstCablePort + index);
    return rig_.subnet.the_switch().port(number)->state();
  }

  fake::SubnetRig rig_;
  std::unique_ptr<EventLoop> loop_ = *EventLoop::create();
  std::vector<std::string> lost_;
  std::optional<HostCables> cables_{
      std::in_place, rig_.subnet, *loop_, rig_.clock,
      [this](const std::string& host, std::uint64_t number, const std::string& reason) {
        lost_.push_back(host + " " + std::to_string(number) + ": " + reason);
      }};
  Status connected_;
  bool has_more_ = false;
};

TEST_F(HostCablesTest, ALineTakesThePortOfItsHostUp) {
  cables_->set_hosts({"h2", "h3"});
  const UniqueFd end = connect("h3", 7);
  ASSERT_TRUE(connected_);
  put(end, fake::hello_frame());
  put(end, fake::link_frame(cable::LinkWord::kTraining));
  turn();
  EXPECT_EQ(state_of_cable(0), PortState::kDown);
  EXPECT_EQ(state_of_cable(1), PortState::kInitialize);
  EXPECT_EQ(cables_->line("h2"), nullptr);
  ASSERT_NE(cables_->line("h3"), nullptr);
  EXPECT_NE(cables_->line("h3")->peer_guid(), 0U);
  EXPECT_THAT(lost_, IsEmpty());
}

TEST_F(HostCablesTest, AHostWithoutACableGetsNone) {
  cables_->set_hosts({"h2"});
  const UniqueFd end = connect("h4", 1);
  ASSERT_FALSE(connected_);
  EXPECT_EQ(connected_.error().code, Errc::kNotFound);
}

TEST_F(HostCablesTest, ALineThatEndsIsToldWithItsNumber) {
  cables_->set_hosts({"h2"});
  {
    const UniqueFd end = connect("h2", 7);
    put(end, fake::hello_frame());
    turn();
  }
  turn();
  EXPECT_THAT(lost_, ElementsAre("h2 7: the socket is closed"));
  EXPECT_EQ(cables_->line("h2"), nullptr);
  turn();
  EXPECT_THAT(lost_, ElementsAre("h2 7: the socket is closed"));
}

TEST_F(HostCablesTest, ANewLineReplacesTheOneBeforeWithoutALoss) {
  cables_->set_hosts({"h2"});
  const UniqueFd first = connect("h2", 7);
  const UniqueFd second = connect("h2", 8);
  put(second, fake::hello_frame());
  turn();
  char byte = 0;
  while (::read(first.get(), &byte, 1) == 1) continue;
  EXPECT_EQ(::read(first.get(), &byte, 1), 0) << "the old one is closed";
  EXPECT_THAT(lost_, IsEmpty());
  EXPECT_NE(cables_->line("h2"), nullptr);
}

TEST_F(HostCablesTest, ACutIsOfOneLine) {
  cables_->set_hosts({"h2"});
  const UniqueFd end = connect("h2", 8);
  cables_->cut("h2", 7);
  EXPECT_NE(cables_->line("h2"), nullptr);
  cables_->cut("h2", 8);
  EXPECT_EQ(cables_->line("h2"), nullptr);
}

TEST_F(HostCablesTest, TheCableOfAHostThatGoesIsPulledOut) {
  cables_->set_hosts({"h2", "h3"});
  const UniqueFd end = connect("h2", 1);
  cables_->set_hosts({"h3"});
  EXPECT_EQ(cables_->line("h2"), nullptr);
  const auto links = rig_.subnet.links();
  ASSERT_EQ(links.size(), 3U);
  EXPECT_EQ(links.back().peer, "host h3");
}

TEST_F(HostCablesTest, MoreHostsThanPortsLeaveTheRestWithoutACable) {
  std::set<std::string> hosts;
  for (unsigned i = 0; i < 2 * subnet::Subnet::kMostCables; ++i)
    hosts.insert("h" + std::to_string(100 + i));
  cables_->set_hosts(hosts);
  EXPECT_EQ(rig_.subnet.links().size(), 2 + subnet::Subnet::kMostCables);
  connect(*hosts.rbegin(), 1);
  ASSERT_FALSE(connected_);
  EXPECT_THAT(connected_.error().message, HasSubstr("no port for another"));
}

TEST_F(HostCablesTest, FloodsOfTwoHostsShareATurn) {
  cables_->set_hosts({"h2", "h3"});
  const std::vector<UniqueFd> ends = [this] {
    std::vector<UniqueFd> made;
    made.push_back(connect("h2", 1));
    made.push_back(connect("h3", 2));
    return made;
  }();
  std::uint64_t guid = 0x900;
  for (const UniqueFd& end : ends) {
    std::vector<std::byte> flood = fake::hello_frame(++guid);
    while (flood.size() < 16'000) {
      const auto beat = fake::beat_frame();
      flood.insert(flood.end(), beat.begin(), beat.end());
    }
    put(end, flood);
  }
  turn();
  EXPECT_TRUE(has_more_);
  EXPECT_NE(cables_->line("h2")->peer_guid(), 0U);
  EXPECT_NE(cables_->line("h3")->peer_guid(), 0U);
  for (int i = 0; i < 100 && has_more_; ++i) turn();
  EXPECT_FALSE(has_more_);
  EXPECT_THAT(lost_, IsEmpty());
}

// Of two switches with one GUID a manager would take one for the other.
TEST_F(HostCablesTest, OfTwoSwitchesWithOneGuidTheFirstStays) {
  cables_->set_hosts({"h2", "h3"});
  const UniqueFd first = connect("h3", 1);
  put(first, fake::hello_frame());
  turn();
  const UniqueFd second = connect("h2", 2);
  put(second, fake::hello_frame());
  turn();
  ASSERT_EQ(lost_.size(), 1u);
  EXPECT_THAT(lost_[0], testing::StartsWith("h2 2: its switch has GUID 0x"));
  EXPECT_THAT(lost_[0], HasSubstr("as that of host h3 has"));
  EXPECT_EQ(cables_->line("h2"), nullptr);
  EXPECT_NE(cables_->line("h3"), nullptr);
  // A host may come back with a line of its own meanwhile.
  const UniqueFd again = connect("h3", 3);
  put(again, fake::hello_frame());
  turn();
  EXPECT_EQ(lost_.size(), 1u);
}

// A packet may go on through many cables, and then a frame is much work.
TEST_F(HostCablesTest, ATurnHasATimeAndTheNextOneBeginsWithAnother) {
  Instant time{};
  const auto each_takes = [&time](Duration duration) {
    return [&time, duration] { return std::exchange(time, time + duration); };
  };
  cables_.reset();
  cables_.emplace(rig_.subnet, *loop_, rig_.clock, nullptr, each_takes(HostCables::kTimePerTurn));
  cables_->set_hosts({"h2", "h3", "h4"});
  std::vector<UniqueFd> ends;
  for (const std::string host : {"h2", "h3", "h4"}) {
    ends.push_back(connect(host, 1));
    put(ends.back(), fake::hello_frame(0x900 + ends.size()));
  }
  const auto heard = [this] {
    int hosts = 0;
    for (const std::string host : {"h2", "h3", "h4"})
      hosts += cables_->line(host)->peer_guid() != 0 ? 1 : 0;
    return hosts;
  };
  const auto told = [&ends] {
    int hosts = 0;
    for (const UniqueFd& end : ends) {
      char byte = 0;
      hosts += ::recv(end.get(), &byte, 1, MSG_PEEK) == 1 ? 1 : 0;
    }
    return hosts;
  };
  ASSERT_TRUE(loop_->poll(Duration::zero()));
  for (int i = 1; i <= 3; ++i) {
    EXPECT_TRUE(cables_->receive());
    EXPECT_EQ(heard(), i);
    EXPECT_TRUE(cables_->flush());
    EXPECT_EQ(told(), i);
  }
}

TEST_F(HostCablesTest, ManagementIsTakenFromTheHostsThatWereNamed) {
  cables_->set_managers({"h3"});
  cables_->set_hosts({"h2", "h3"});
  subnet::SubnetSwitch& node = rig_.subnet.the_switch();
  const auto first = subnet::Subnet::kFirstCablePort;
  EXPECT_FALSE(node.may_manage(first));
  EXPECT_TRUE(node.may_manage(first + 1));
  cables_->set_managers({"h2"});
  EXPECT_TRUE(node.may_manage(first));
  EXPECT_FALSE(node.may_manage(first + 1));
}

TEST_F(HostCablesTest, WhatTheSocketDoesNotTakeGoesLater) {
  cables_->set_hosts({"h2"});
  const UniqueFd end = connect("h2", 1);
  put(end, fake::hello_frame());
  put(end, fake::link_frame(cable::LinkWord::kTraining));
  turn();
  const subnet::PortNumber number = subnet::Subnet::kFirstCablePort;
  subnet::Packet packet;
  wire::infiniband::write_datagram({.destination = 0xFFFF, .lane = 15}, {}, packet);
  packet.resize(4000);
  subnet::LinkEnd* link = rig_.subnet.the_switch().end(number);
  ASSERT_NE(link, nullptr);
  std::size_t bytes = 0;
  for (int i = 0; i < 200; ++i) link->send(packet);
  for (int i = 0; i < 200; ++i) {
    turn();
    std::array<std::byte, 65536> some{};
    const ssize_t got = ::read(end.get(), some.data(), some.size());
    if (got > 0) bytes += static_cast<std::size_t>(got);
  }
  EXPECT_GE(bytes, std::size_t{200} * 4004);
  EXPECT_EQ(rig_.subnet.the_switch().port(number)->totals().send_discards, 0U);
}

}  // namespace
}  // namespace paravane::subnet_host
