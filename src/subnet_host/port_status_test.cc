#include "subnet_host/port_status.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/event_loop.h"
#include "testing/subnet_rig.h"

namespace paravane::subnet_host {
namespace {

using testing::HasSubstr;
using wire::infiniband::PhysicalState;

class PortStatusTest : public testing::Test {
 protected:
  void order(subnet::Port& port, PhysicalState state) {
    wire::infiniband::PortInfo wish = port.info();
    wish.speed_supported_state &= 0xF0;
    wish.physical_state_default = static_cast<std::uint8_t>(static_cast<unsigned>(state) << 4);
    ASSERT_EQ(port.set_info(wish), 0);
    ASSERT_TRUE(rig_.settle());
  }
  // Down and up again, as for a restart: no manager has set it up.
  void begin_anew(subnet::HostAdapter& node) {
    order(*node.port(1), PhysicalState::kDisabled);
    order(*node.port(1), PhysicalState::kPolling);
  }
  // That of the rig, at the first adapter.
  void end_manager() { rig_.first.port(1)->set_manager(false); }
  std::string problem(const subnet::HostAdapter& node) { return problem_of(rig_.subnet, node, 1); }
  std::string problem_of_link(const std::string& peer) {
    for (const model::IbLink& link : fabric_of("h1", rig_.subnet, cables_).links) {
      if (link.peer == peer) return link.problem;
    }
    ADD_FAILURE() << "no link to " << peer;
    return {};
  }
  subnet::PortNumber place(const std::string& adapter) {
    return rig_.subnet.switch_port_of(adapter, 1).value();
  }

  fake::SubnetRig rig_;
  std::unique_ptr<EventLoop> loop_ = *EventLoop::create();
  HostCables cables_{rig_.subnet, *loop_, rig_.clock, {}, [this] { return rig_.clock.now; }};
};

TEST_F(PortStatusTest, AnActivePortHasNoProblem) {
  EXPECT_EQ(problem(rig_.first), "");
  EXPECT_EQ(problem_of_link("first port 1"), "");
  EXPECT_TRUE(has_manager(rig_.subnet));
}

TEST_F(PortStatusTest, ADisabledPortIsToldAtBothEndsWithWhatEnablesIt) {
  order(*rig_.second.port(1), PhysicalState::kDisabled);
  const std::string enable =
      "Enable it with: paravane infiniband run -- ibportstate -C second -P 1 -D 0 1 enable";
  EXPECT_EQ(problem(rig_.second), "the port is disabled. " + enable);
  EXPECT_EQ(problem_of_link("second port 1"), "second port 1 is disabled. " + enable);
  EXPECT_EQ(problem(rig_.first), "");
  EXPECT_EQ(problem_of_link("first port 1"), "");
}

TEST_F(PortStatusTest, ADisabledPortOfTheSwitchIsToldAtBothEndsToo) {
  const subnet::PortNumber port = place("second");
  order(*rig_.subnet.the_switch().port(port), PhysicalState::kDisabled);
  const std::string enable =
      fmt::format("Enable it with: paravane infiniband run -- ibportstate {} {} enable",
                  rig_.switch_lid(), port);
  EXPECT_EQ(
      problem(rig_.second),
      fmt::format("the link is down, since port {} of this host's switch is disabled. ", port) +
          enable);
  EXPECT_EQ(problem_of_link("second port 1"), "this port of the switch is disabled. " + enable);
  // Then ibportstate has no port through which it reaches the switch.
  rig_.first.port(1)->link_down();
  for (const auto* adapter : rig_.subnet.adapters()) {
    for (subnet::PortNumber one = 1; one <= adapter->ports(); ++one)
      ASSERT_TRUE(adapter->port(one)->is_down());
  }
  EXPECT_EQ(problem_of_link("second port 1"),
            "this port of the switch is disabled. Enable it with: paravane infiniband restart");
}

TEST_F(PortStatusTest, APortThatIsNotLinkedIsDown) {
  subnet::Subnet lonely("host", 0x500, rig_.clock);
  EXPECT_EQ(problem_of(lonely, rig_.first, 1), "");
  begin_anew(rig_.first);
  rig_.first.port(1)->link_down();
  EXPECT_EQ(problem_of(lonely, rig_.first, 1), "the link is down");
}

// Two seconds after a restart of the adapters, opensm has not looked yet.
TEST_F(PortStatusTest, WhereAManagerRunsItIsNotToBeStarted) {
  begin_anew(rig_.second);
  end_manager();
  EXPECT_FALSE(has_manager(rig_.subnet));
  EXPECT_EQ(problem(rig_.second), "no subnet manager has set this port up: start opensm");
  EXPECT_EQ(problem_of(rig_.subnet, rig_.second, 1, true),
            "no subnet manager has set this port up yet: the one that ran at this host before the "
            "restart does, when it is connected again");
  rig_.first.port(1)->set_manager(true);
  EXPECT_EQ(problem(rig_.second),
            "no subnet manager has set this port up yet: the one at first port 1 does when it "
            "looks at the subnet, every 10 s unless it is set otherwise");
}

class PortStatusBeyondCables : public PortStatusTest {
 protected:
  PortStatusBeyondCables() {
    cables_.set_hosts({"h2"});
    for (const subnet::Subnet::Linked& link : rig_.subnet.links()) {
      if (link.peer == "host h2") cable_ = link.port;
    }
    begin_anew(rig_.second);
    end_manager();
  }
  subnet::Port& port() { return *rig_.subnet.the_switch().port(cable_); }

  subnet::PortNumber cable_ = 0;
};

TEST_F(PortStatusBeyondCables, AHostThatIsHeardMayHaveTheManager) {
  cables_.set_managers({"h2"});
  EXPECT_THAT(problem(rig_.second), HasSubstr("start opensm"));  // its cable is down
  port().link_up(subnet::Speed::kQuad);
  EXPECT_EQ(problem(rig_.second),
            "no subnet manager has set this port up yet: one of host h2 does, if opensm runs "
            "there");
}

TEST_F(PortStatusBeyondCables, AHostThatIsNotHeardIsNamedWithTheCommand) {
  port().link_up(subnet::Speed::kQuad);
  rig_.subnet.the_switch().let_manage(cable_, false);
  rig_.subnet.the_switch().refuse_management(cable_);
  const std::string command = "paravane infiniband sm add h2";
  EXPECT_EQ(problem(rig_.second),
            "no subnet manager has set this port up, and host h2 is not heard as one: to let it "
            "manage this host, " +
                command);
  rig_.first.port(1)->set_manager(true);
  EXPECT_THAT(problem(rig_.second),
              HasSubstr("; if it stands by for the one of host h2: " + command));
}

TEST_F(PortStatusBeyondCables, AnEndOfACableThatIsDisabledIsTold) {
  EXPECT_EQ(problem_of_link("host h2"), "");
  order(port(), PhysicalState::kDisabled);
  EXPECT_EQ(problem_of_link("host h2"),
            fmt::format("this port of the switch is disabled. Enable it with: paravane infiniband "
                        "run -- ibportstate {} {} enable",
                        rig_.switch_lid(), cable_));
}

}  // namespace
}  // namespace paravane::subnet_host
