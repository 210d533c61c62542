#include "connection/device_discovery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <string>
#include <vector>

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

class DeviceDiscoveryTest : public fake::DiscoveryRig {};

// ---- What is there ----

TEST_F(DeviceDiscoveryTest, FindsLinuxsTarget) {
  units_[gid_of(2)] = FakeUnit();
  start({gid_of(2)});
  serve();
  ASSERT_EQ(events_.services.size(), 1u);
  const SrpService& service = events_.services[0];
  EXPECT_EQ(service.gid, gid_of(2));
  EXPECT_EQ(service.most_controllers, 16);
  EXPECT_EQ(service.slot, 1);
  EXPECT_EQ(service.controller_guid, 0x0002'C903'000E'8ACDu);
  EXPECT_EQ(service.controller, "Linux SRP target");
  EXPECT_EQ(service.io_class, wire::infiniband::kSrpClass);
  EXPECT_EQ(service.service, 0x1122u);
  EXPECT_EQ(service.id_extension, 0x0002'C903'000E'8ACDu);
  EXPECT_EQ(service.name, "SRP.T10:0002c903000e8acd");
  EXPECT_EQ(service.message_bytes, 8192u);
  EXPECT_EQ(service.transfer_bytes, 65536u);
  EXPECT_EQ(service.send_queue_depth, 4095);
  EXPECT_EQ(service.read_depth, 4);
  EXPECT_EQ(events_.finished, 1u);
  EXPECT_FALSE(discovery_.is_running());
  EXPECT_EQ(state(), UnitState::kAnswered);
  EXPECT_EQ(discovery_.results()[0].controllers, 1u);
  EXPECT_EQ(discovery_.results()[0].services, 1u);
  EXPECT_EQ(discovery_.next_deadline(), kNever);
}

// 16.3.1: the data is at 64.
TEST_F(DeviceDiscoveryTest, QuestionsByteForByte) {
  units_[gid_of(2)] = FakeUnit();
  start({gid_of(2)});
  serve();
  ASSERT_EQ(asked_.size(), 3u);
  const std::array<std::uint32_t, 3> modifiers{0, 1, 0x0001'0000};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto header = asked_[i].header();
    EXPECT_EQ(header.base_version, 1);
    EXPECT_EQ(header.management_class, 6);
    EXPECT_EQ(header.class_version, 1);
    EXPECT_EQ(header.method, 1);
    EXPECT_EQ(header.attribute.get(), 0x10 + i);
    EXPECT_EQ(header.modifier.get(), modifiers[i]);
    const auto body = std::span(asked_[i].mad).subspan(sizeof header);
    EXPECT_TRUE(std::ranges::all_of(body, [](std::byte byte) { return byte == std::byte{0}; }));
  }
  EXPECT_NE(asked_[0].header().transaction.get(), asked_[1].header().transaction.get());
}

TEST_F(DeviceDiscoveryTest, AllControllersAndServices) {
  FakeUnit unit;
  unit.slots = {1, 2, 16};
  unit.services.clear();
  for (unsigned i = 0; i < 9; ++i)
    unit.services.push_back(entry_of("SRP.T10:000000000000000" + std::to_string(i), i + 1));
  units_[gid_of(2)] = unit;
  start({gid_of(2)});
  serve();
  EXPECT_EQ(events_.services.size(), 27u);
  // Four at a time.
  EXPECT_EQ(asked(device_management::kServiceEntries), 9u);
  EXPECT_EQ(std::ranges::count(events_.services, 16, &SrpService::slot), 9);
  EXPECT_EQ(std::ranges::count(events_.services, 8u, &SrpService::id_extension), 3);
  EXPECT_EQ(events_.finished, 1u);
}

TEST_F(DeviceDiscoveryTest, BothClassesOfSrpAndNoOther) {
  units_[gid_of(2)].profile.io_class.set(wire::infiniband::kSrpRevision10Class);
  units_[gid_of(3)].profile.io_class.set(0x0101);
  units_[gid_of(4)].profile.protocol.set(0x0109);
  start({gid_of(2), gid_of(3), gid_of(4)});
  serve();
  ASSERT_EQ(events_.services.size(), 1u);
  EXPECT_EQ(events_.services[0].io_class, wire::infiniband::kSrpRevision10Class);
  EXPECT_EQ(counters().other_controllers.value(), 2u);
  EXPECT_EQ(state(2), UnitState::kAnswered);
}

TEST_F(DeviceDiscoveryTest, AGidThatComesTwiceIsAskedOnce) {
  units_[gid_of(2)] = FakeUnit();
  start({gid_of(2), gid_of(2)});
  serve();
  EXPECT_EQ(discovery_.results().size(), 1u);
  EXPECT_EQ(events_.services.size(), 1u);
}

TEST_F(DeviceDiscoveryTest, NothingToAskIsFinishedAtOnce) {
  start({});
  EXPECT_LE(discovery_.next_deadline(), now_);
  discovery_.advance(now_);
  EXPECT_EQ(events_.finished, 1u);
}

TEST_F(DeviceDiscoveryTest, AUnitWithoutControllersOrServices) {
  units_[gid_of(2)].slots.clear();
  units_[gid_of(3)].services.clear();
  start({gid_of(2), gid_of(3)});
  serve();
  EXPECT_EQ(events_.finished, 1u);
  EXPECT_TRUE(events_.services.empty());
  EXPECT_EQ(state(0), UnitState::kAnswered);
  EXPECT_EQ(state(1), UnitState::kAnswered);
}

// ---- What is not there ----

TEST_F(DeviceDiscoveryTest, ASilentPortIsAskedThreeTimes) {
  start({gid_of(2)});
  const auto first = port_.sent.at(0).mad;
  pass(milliseconds(1499));
  EXPECT_EQ(events_.finished, 0u);
  EXPECT_EQ(state(), UnitState::kAsked);
  pass(milliseconds(1));
  EXPECT_EQ(asked_.size(), DeviceDiscovery::kTries);
  EXPECT_EQ(asked_.back().mad, first);
  EXPECT_EQ(state(), UnitState::kSilent);
  EXPECT_EQ(events_.finished, 1u);
}

TEST_F(DeviceDiscoveryTest, APortWithoutDeviceManagement) {
  units_[gid_of(2)] = FakeUnit();
  start({gid_of(2)});
  serve([](DeviceManagementPacket answer) {
    answer.header.status.set(mad_status::kBadAttribute);
    return answer;
  });
  EXPECT_EQ(state(), UnitState::kNoManagement);
  EXPECT_EQ(events_.finished, 1u);
  EXPECT_EQ(asked_.size(), 1u);
}

TEST_F(DeviceDiscoveryTest, ABusyUnitIsAskedAgain) {
  units_[gid_of(2)] = FakeUnit();
  start({gid_of(2)});
  serve([](DeviceManagementPacket answer) {
    answer.header.status.set(mad_status::kBusy);
    return answer;
  });
  EXPECT_EQ(counters().busy_units.value(), 1u);
  pass(seconds(1));
  EXPECT_EQ(events_.services.size(), 1u);
}

TEST_F(DeviceDiscoveryTest, AControllerThatWentAway) {
  units_[gid_of(2)] = FakeUnit();
  start({gid_of(2)});
  serve([](DeviceManagementPacket answer) {
    if (answer.header.attribute.get() == device_management::kControllerProfile)
      answer.header.status.set(wire::infiniband::kNoController);
    return answer;
  });
  EXPECT_EQ(counters().refused_questions.value(), 1u);
  EXPECT_EQ(events_.finished, 1u);
}

TEST_F(DeviceDiscoveryTest, AFullPortDelaysQuestions) {
  units_[gid_of(2)] = FakeUnit();
  port_.room = 0;
  start({gid_of(2)});
  pass(seconds(10));
  EXPECT_EQ(events_.finished, 0u);
  port_.room = 100;
  pass(milliseconds(20));
  EXPECT_EQ(events_.services.size(), 1u);
}

// ---- Bounds ----

TEST_F(DeviceDiscoveryTest, TheWindowIsSixteen) {
  std::vector<Gid> gids;
  for (std::uint8_t i = 1; i <= 100; ++i) gids.push_back(gid_of(i));
  start(gids);
  EXPECT_EQ(port_.sent.size(), DeviceDiscovery::kWindow);
  now_ += DeviceDiscovery::kTimeout;
  discovery_.advance(now_);
  EXPECT_EQ(port_.sent.size(), 2 * DeviceDiscovery::kWindow);
  pass(seconds(60));
  EXPECT_EQ(events_.finished, 1u);
  EXPECT_EQ(asked_.size(), 300u);
  EXPECT_EQ(counters().searches_cut_short.value(), 0u);
}

TEST_F(DeviceDiscoveryTest, TooManyAddressesAreRefused) {
  start({gid_of(1)});
  std::vector<Gid> gids(DeviceDiscovery::kMostUnits + 1);
  EXPECT_EQ(discovery_.start(gids, now_).error().code, Errc::kInvalidArgument);
  EXPECT_TRUE(discovery_.is_running());
}

TEST_F(DeviceDiscoveryTest, ASearchHasAnEnd) {
  port_.room = 0;
  start({gid_of(2)});
  pass(DeviceDiscovery::kMostDuration);
  EXPECT_EQ(events_.finished, 1u);
  EXPECT_EQ(state(), UnitState::kSilent);
  EXPECT_EQ(counters().searches_cut_short.value(), 1u);
}

TEST_F(DeviceDiscoveryTest, AUnitWithTooMuchToSay) {
  FakeUnit unit;
  unit.most_controllers = 255;
  unit.slots.clear();
  for (unsigned slot = 1; slot <= 255; ++slot) unit.slots.push_back(slot);
  unit.services.assign(255, unit.services[0]);
  units_[gid_of(2)] = unit;
  units_[gid_of(3)] = FakeUnit();
  start({gid_of(2), gid_of(3)});
  serve();
  EXPECT_EQ(events_.finished, 1u);
  EXPECT_EQ(asked(device_management::kControllerProfile), DeviceDiscovery::kMostControllers + 1);
  EXPECT_EQ(events_.services.size(), DeviceDiscovery::kMostServices + 1);
  EXPECT_EQ(discovery_.results()[0].controllers, DeviceDiscovery::kMostControllers);
  EXPECT_EQ(discovery_.results()[0].services, DeviceDiscovery::kMostServices);
  EXPECT_GT(counters().left_out.value(), 0u);
}

// The upper four bits of the last byte are slot 255, the last one.
TEST_F(DeviceDiscoveryTest, SlotsBeyondWhatAUnitHasAreNotAsked) {
  units_[gid_of(2)].most_controllers = 1;
  units_[gid_of(2)].slots = {1, 2, 255};
  start({gid_of(2)});
  serve();
  EXPECT_EQ(asked(device_management::kControllerProfile), 1u);
}

TEST_F(DeviceDiscoveryTest, ServicesOfAllNumbers) {
  FakeUnit unit;
  unit.services.assign(255, entry_of("other", 1));
  unit.services.back() = entry_of("SRP.T10:0000000000000001", 2);
  units_[gid_of(2)] = unit;
  start({gid_of(2)});
  serve();
  EXPECT_EQ(asked(device_management::kServiceEntries), 64u);
  EXPECT_EQ(asked_.back().header().modifier.get(), 0x0001'FEFCu);
  ASSERT_EQ(events_.services.size(), 1u);
  EXPECT_EQ(events_.services[0].service, 2u);
  EXPECT_EQ(counters().other_services.value(), 254u);
}

}  // namespace
}  // namespace paravane::connection
