#include "subnet_host/link_watch.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "testing/port_orders.h"
#include "testing/recording_link_end.h"

namespace paravane::subnet_host {
namespace {

using namespace std::chrono_literals;
using subnet::Subnet;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;
using wire::infiniband::PhysicalState;
using wire::infiniband::PortInfo;

constexpr auto kCablePort = Subnet::kFirstCablePort;

std::string text_of(const LinkNews& news) {
  constexpr std::array kWords{"port", "manager", "cable"};
  const std::string place =
      news.of == LinkNews::Of::kCable ? news.name : fmt::format("{}/{}", news.name, news.port);
  const std::string reason = news.reason.empty() ? std::string() : ": " + news.reason;
  const std::string kept =
      news.kept_back == 0 ? std::string() : fmt::format(" ({} kept back)", news.kept_back);
  return fmt::format("{} {} {}{}{}", kWords[static_cast<std::size_t>(news.of)], place,
                     news.is_up ? "up" : "down", reason, kept);
}

class LinkWatchTest : public testing::Test {
 protected:
  LinkWatchTest() { subnet_.turn(); }
  std::vector<std::string> look() {
    watch_.look(subnet_, clock_.now);
    return std::exchange(told_, {});
  }
  static void disable(subnet::Port& port) {
    PortInfo wish = port.info();
    wish.speed_supported_state &= 0xF0;
    wish.physical_state_default =
        static_cast<std::uint8_t>((static_cast<unsigned>(PhysicalState::kDisabled) << 4) |
                                  (wish.physical_state_default & 0x0F));
    EXPECT_EQ(port.set_info(wish), 0);
  }
  subnet::Port& port(subnet::PortNumber number) { return *adapter_.port(number); }
  subnet::Port& cable_port() { return *subnet_.the_switch().port(kCablePort); }

  TurnClock clock_{Instant(1h)};
  Subnet subnet_{"h1", 0x100, clock_};
  subnet::HostAdapter& adapter_ = *subnet_.add("mlx4_0", {.name = "Test", .ports = 2}, 0x200);
  fake::RecordingLinkEnd end_;
  std::vector<std::string> told_;
  bool lacks_memory_ = false;
  LinkWatch watch_{[this](const LinkNews& news) {
    if (std::exchange(lacks_memory_, false)) throw std::bad_alloc();
    told_.push_back(text_of(news));
  }};
};

TEST_F(LinkWatchTest, APortIsToldWhenItIsActiveAndWhenItIsNotAnyMore) {
  EXPECT_THAT(look(), IsEmpty()) << "a port that is not yet Active";
  ASSERT_TRUE(fake::set_port_active(port(1)));
  EXPECT_THAT(look(), ElementsAre("port mlx4_0/1 up"));
  EXPECT_THAT(look(), IsEmpty());
  port(1).link_down();
  EXPECT_THAT(look(), ElementsAre("port mlx4_0/1 down: the link is down"));
  port(1).link_up(subnet::Speed::kQuad);
  EXPECT_THAT(look(), IsEmpty()) << "no manager has set it up yet";
  EXPECT_EQ(watch_.next_deadline(), kNever) << "the thread sleeps until something changes";
}

TEST_F(LinkWatchTest, APortSaysWhyItIsDown) {
  ASSERT_TRUE(fake::set_port_active(port(1)));
  ASSERT_TRUE(fake::set_port_active(port(2)));
  look();
  disable(port(1));
  port(2).link_down();
  port(2).link_up(subnet::Speed::kQuad);
  EXPECT_THAT(look(), ElementsAre(StartsWith("port mlx4_0/1 down: the port is disabled: enable it"),
                                  StartsWith("port mlx4_0/2 down: its link was trained anew")));
}

TEST_F(LinkWatchTest, AFlapThatIsOverBeforeItIsSeenIsNotTold) {
  ASSERT_TRUE(fake::set_port_active(port(1)));
  look();
  port(1).link_down();
  ASSERT_TRUE(fake::set_port_active(port(1)));
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(LinkWatchTest, APortOfTypeEthernetIsNotWatched) {
  subnet::HostAdapter& mixed =
      *subnet_.add("mlx4_1", {.name = "Test", .ports = 2, .ethernet = {true, false}}, 0x300);
  ASSERT_TRUE(fake::set_port_active(*mixed.port(1)));
  ASSERT_TRUE(fake::set_port_active(*mixed.port(2)));
  EXPECT_THAT(look(), ElementsAre("port mlx4_1/2 up"));
}

TEST_F(LinkWatchTest, AnAdapterThatIsRemovedTakesItsPortsAlong) {
  subnet::HostAdapter* other = subnet_.add("mlx4_1", {.name = "Test"}, 0x300);
  ASSERT_TRUE(fake::set_port_active(*other->port(1)));
  other->mads(1).set_manager(true);
  EXPECT_THAT(look(), ElementsAre("port mlx4_1/1 up", "manager mlx4_1/1 up"));
  subnet_.remove("mlx4_1");
  EXPECT_THAT(look(), IsEmpty());
  other = subnet_.add("mlx4_1", {.name = "Test"}, 0x300);
  EXPECT_THAT(look(), IsEmpty());
  ASSERT_TRUE(fake::set_port_active(*other->port(1)));
  EXPECT_THAT(look(), ElementsAre("port mlx4_1/1 up"));
}

TEST_F(LinkWatchTest, AManagerIsToldWhenItComesAndWhenItGoes) {
  adapter_.mads(2).set_manager(true);
  EXPECT_THAT(look(), ElementsAre("manager mlx4_0/2 up"));
  adapter_.mads(2).set_manager(true);  // another one at the same port
  EXPECT_THAT(look(), IsEmpty());
  adapter_.mads(2).set_manager(false);
  EXPECT_THAT(look(), IsEmpty());
  adapter_.mads(2).set_manager(false);
  EXPECT_THAT(look(), ElementsAre("manager mlx4_0/2 down"));
}

TEST_F(LinkWatchTest, ACableIsToldWhenItsLinkIsTrainedAndWhenItIsDown) {
  ASSERT_EQ(subnet_.attach_cable("h2", end_), kCablePort);
  EXPECT_THAT(look(), IsEmpty());
  cable_port().link_up(subnet::Speed::kQuad);
  EXPECT_THAT(look(), ElementsAre("cable h2 up"));
  ASSERT_TRUE(fake::set_port_active(cable_port()));
  EXPECT_THAT(look(), IsEmpty());
  cable_port().link_down();
  EXPECT_THAT(look(), ElementsAre("cable h2 down: the link is down"));
}

TEST_F(LinkWatchTest, ACableThatIsPulledOutIsDown) {
  subnet_.attach_cable("h2", end_);
  cable_port().link_up(subnet::Speed::kQuad);
  EXPECT_THAT(look(), ElementsAre("cable h2 up"));
  subnet_.detach_cable(kCablePort);
  EXPECT_THAT(look(), ElementsAre("cable h2 down"));
  subnet_.attach_cable("h3", end_);  // at the same port
  cable_port().link_up(subnet::Speed::kQuad);
  EXPECT_THAT(look(), ElementsAre("cable h3 up"));
}

// As a host does that has its cable go up and down, or out and in.
TEST_F(LinkWatchTest, ACableThatFlapsIsToldTenTimesAMinuteAndThenAsItIs) {
  std::vector<std::string> told;
  for (int i = 0; i < 25; ++i) {
    subnet_.attach_cable("h2", end_);
    cable_port().link_up(subnet::Speed::kQuad);
    for (std::string& one : look()) told.push_back(std::move(one));
    if (i < 24) subnet_.detach_cable(kCablePort);
    for (std::string& one : look()) told.push_back(std::move(one));
  }
  EXPECT_EQ(told.size(), LinkWatch::kMostTold);
  EXPECT_EQ(told.back(), "cable h2 down");
  EXPECT_EQ(watch_.next_deadline(), clock_.now + LinkWatch::kWindow);
  clock_.now += LinkWatch::kWindow - 1ms;
  EXPECT_THAT(look(), IsEmpty());
  clock_.now += 1ms;
  EXPECT_THAT(look(), ElementsAre("cable h2 up (20 kept back)"));
  EXPECT_EQ(watch_.next_deadline(), kNever);
}

TEST_F(LinkWatchTest, WhatIsAsItWasToldIsNotToldAgainLater) {
  for (int i = 0; i < 25; ++i) {
    adapter_.mads(1).set_manager(true);
    look();
    adapter_.mads(1).set_manager(false);
    look();
  }
  EXPECT_EQ(watch_.next_deadline(), kNever);
  // What flaps costs no other.
  ASSERT_TRUE(fake::set_port_active(port(1)));
  EXPECT_THAT(look(), ElementsAre("port mlx4_0/1 up"));
}

TEST_F(LinkWatchTest, WhatFoundNoMemoryIsToldNextTime) {
  ASSERT_TRUE(fake::set_port_active(port(1)));
  lacks_memory_ = true;
  EXPECT_THROW(look(), std::bad_alloc);
  EXPECT_LE(watch_.next_deadline(), clock_.now);
  EXPECT_THAT(look(), ElementsAre("port mlx4_0/1 up"));
  EXPECT_EQ(watch_.next_deadline(), kNever);
}

// ---- From one engine to the next ----

class LinkWatchTakeOver : public LinkWatchTest {
 protected:
  // A port, a manager and a cable that were told.
  LinkWatchTakeOver() {
    EXPECT_TRUE(fake::set_port_active(port(1)));
    EXPECT_TRUE(fake::set_port_active(*subnet_.the_switch().port(1)));
    adapter_.mads(1).set_manager(true);
    subnet_.attach_cable("h2", end_);
    cable_port().link_up(subnet::Speed::kQuad);
    EXPECT_EQ(look().size(), 3u);
    const subnet::SubnetImage left = subnet_.image();
    EXPECT_THAT(
        heir_.adopt(left,
                    {{.name = "mlx4_0", .model = {.name = "Test", .ports = 2}, .guid = 0x200}}),
        IsEmpty());
    heir_watch_.adopt(heir_, left, clock_.now);
  }
  std::vector<std::string> look_at_heir() {
    heir_.turn();
    heir_watch_.look(heir_, clock_.now);
    return std::exchange(told_, {});
  }
  subnet::HostAdapter& adopted() { return *heir_.find("mlx4_0"); }

  Subnet heir_{"h1", 0x100, clock_};
  LinkWatch heir_watch_{[this](const LinkNews& news) { told_.push_back(text_of(news)); }};
};

TEST_F(LinkWatchTakeOver, WhatGoesOnIsNotTold) {
  EXPECT_THAT(look_at_heir(), IsEmpty());
  EXPECT_EQ(heir_.attach_cable("h2", end_), kCablePort);
  adopted().mads(1).set_manager(true);
  EXPECT_THAT(look_at_heir(), IsEmpty());
  EXPECT_EQ(heir_watch_.next_deadline(), kNever);
  adopted().port(1)->link_down();
  adopted().mads(1).set_manager(false);
  EXPECT_THAT(look_at_heir(),
              ElementsAre(StartsWith("port mlx4_0/1 down"), "manager mlx4_0/1 down"));
}

TEST_F(LinkWatchTakeOver, AManagerThatDoesNotComeBackHasEnded) {
  EXPECT_EQ(heir_.attach_cable("h2", end_), kCablePort);
  EXPECT_THAT(look_at_heir(), IsEmpty());
  EXPECT_EQ(heir_watch_.next_deadline(), clock_.now + LinkWatch::kManagersReturn);
  clock_.now += LinkWatch::kManagersReturn;
  EXPECT_THAT(look_at_heir(), ElementsAre("manager mlx4_0/1 down"));
}

TEST_F(LinkWatchTakeOver, ACableThatDoesNotComeBackIsDown) {
  adopted().mads(1).set_manager(true);
  clock_.now += Subnet::kKeepsCables - 1ms;
  EXPECT_THAT(look_at_heir(), IsEmpty());
  clock_.now += 1ms;
  EXPECT_THAT(look_at_heir(), ElementsAre("cable h2 down"));
}

}  // namespace
}  // namespace paravane::subnet_host
