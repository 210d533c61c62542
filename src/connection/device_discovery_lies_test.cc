// Units that lie to a DeviceDiscovery, and searches that replace each other.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "connection/device_discovery.h"
#include "connection/device_discovery_test.h"

namespace paravane::connection {
namespace {

namespace device_management = wire::infiniband::device_management;
namespace mad_status = wire::infiniband::mad_status;
using fake::entry_of;
using fake::FakeUnit;
using fake::gid_of;
using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::infiniband::DeviceManagementPacket;
using wire::infiniband::Gid;
using wire::infiniband::ServiceEntry;

class DeviceDiscoveryLiesTest : public fake::DiscoveryRig {};

// ---- Lies ----

TEST_F(DeviceDiscoveryLiesTest, NamesThatAreNotSrps) {
  FakeUnit unit;
  ServiceEntry full = entry_of("SRP.T10:0002c903000e8acd", 1);
  std::fill(full.name.begin() + 24, full.name.end(), '0');
  unit.services = {entry_of("SRP.T10:nonsense", 1), entry_of("SRP.T10:0000000000000001", 0),
                   entry_of("", 1), full};
  units_[gid_of(2)] = unit;
  start({gid_of(2)});
  serve();
  EXPECT_TRUE(events_.services.empty());
  EXPECT_EQ(counters().bad_services.value(), 3u);
  EXPECT_EQ(counters().other_services.value(), 1u);
  EXPECT_EQ(events_.finished, 1u);
}

TEST_F(DeviceDiscoveryLiesTest, TextsOfAStrangerAreCleaned) {
  FakeUnit unit;
  unit.profile.id_string.fill('\x1B');
  units_[gid_of(2)] = unit;
  start({gid_of(2)});
  serve();
  EXPECT_EQ(events_.services.at(0).controller, std::string(64, '?'));
}

TEST_F(DeviceDiscoveryLiesTest, AnswersThatAreNotToTheQuestion) {
  units_[gid_of(2)] = FakeUnit();
  start({gid_of(2)});
  const auto question = port_.sent.at(0).as<DeviceManagementPacket>();
  const DeviceManagementPacket good = units_[gid_of(2)].answer(question);
  const auto lie = [&](auto change) {
    DeviceManagementPacket packet = good;
    change(packet.header);
    hear(packet, gid_of(2));
  };
  lie([](auto& header) { header.attribute.set(0x11); });
  lie([](auto& header) { header.modifier.set(1); });
  EXPECT_EQ(counters().other_answers.value(), 2u);
  lie([](auto& header) { header.transaction.set(header.transaction.get() + 1); });
  EXPECT_EQ(counters().unknown_questions.value(), 1u);
  lie([](auto& header) { header.base_version = 0; });
  lie([](auto& header) { header.class_version = 2; });
  lie([](auto& header) { header.management_class = 7; });
  lie([](auto& header) { header.method = 1; });
  EXPECT_EQ(counters().bad_headers.value(), 4u);
  hear(good, gid_of(3));
  EXPECT_EQ(counters().foreign_senders.value(), 1u);
  // None of them ends the question.
  EXPECT_EQ(state(), UnitState::kAsked);
  serve();
  EXPECT_EQ(events_.services.size(), 1u);
  // Nothing is asked any more.
  hear(good, gid_of(2));
  EXPECT_EQ(counters().answers.value(), 3u);
}

TEST_F(DeviceDiscoveryLiesTest, AnAnswerCountsOnce) {
  units_[gid_of(2)] = FakeUnit();
  start({gid_of(2), gid_of(3)});
  const auto question = port_.sent.at(0).as<DeviceManagementPacket>();
  const DeviceManagementPacket good = units_[gid_of(2)].answer(question);
  hear(good, gid_of(2));
  hear(good, gid_of(2));
  EXPECT_EQ(counters().unknown_questions.value(), 1u);
  EXPECT_EQ(discovery_.results()[0].controllers, 1u);
}

// ---- Searches after each other ----

TEST_F(DeviceDiscoveryLiesTest, ANewSearchReplacesTheOneBefore) {
  units_[gid_of(2)] = FakeUnit();
  start({gid_of(2)});
  const auto question = port_.sent.at(0).as<DeviceManagementPacket>();
  start({gid_of(3)});
  hear(units_[gid_of(2)].answer(question), gid_of(2));
  EXPECT_EQ(counters().unknown_questions.value(), 1u);
  pass(seconds(5));
  EXPECT_TRUE(events_.services.empty());
  EXPECT_EQ(events_.finished, 1u);
  EXPECT_EQ(discovery_.results().size(), 1u);
}

TEST_F(DeviceDiscoveryLiesTest, EventsMayStartAnotherSearch) {
  FakeUnit unit;
  unit.services.assign(8, unit.services[0]);
  units_[gid_of(2)] = unit;
  bool is_again = false;
  events_.then = [this, &is_again] {
    if (!std::exchange(is_again, true)) start({gid_of(3), gid_of(2)});
  };
  start({gid_of(2)});
  serve();
  pass(seconds(5));
  EXPECT_EQ(events_.services.size(), 9u);
  EXPECT_EQ(events_.finished, 1u);
  events_.at_end = [this] {
    if (events_.finished == 2) start({gid_of(4)});
  };
  start({gid_of(5)});
  pass(seconds(5));
  EXPECT_EQ(events_.finished, 3u);
}

TEST_F(DeviceDiscoveryLiesTest, AStoppedSearchIsSilent) {
  units_[gid_of(2)] = FakeUnit();
  start({gid_of(2)});
  discovery_.stop();
  serve();
  pass(seconds(60));
  EXPECT_EQ(events_.finished, 0u);
  EXPECT_TRUE(events_.services.empty());
  EXPECT_EQ(discovery_.next_deadline(), kNever);
}

}  // namespace
}  // namespace paravane::connection
