#include "wire/infiniband/device_management.h"

#include <gtest/gtest.h>

#include <bit>

namespace paravane::wire::infiniband {
namespace {

// 16.3.3.3: slot 1 is in the upper bits of the first byte.
TEST(DeviceManagementTest, SlotsOfAUnit) {
  UnitInfo unit;
  unit.slots[0] = 0x1F;
  unit.slots[1] = 0x01;
  unit.slots[127] = 0x10;
  EXPECT_EQ(unit.slot(1), ControllerSlot::kPresent);
  EXPECT_EQ(unit.slot(2), ControllerSlot::kNone);
  EXPECT_EQ(unit.slot(3), ControllerSlot::kEmpty);
  EXPECT_EQ(unit.slot(4), ControllerSlot::kPresent);
  EXPECT_EQ(unit.slot(255), ControllerSlot::kPresent);
}

TEST(DeviceManagementTest, UnitInfoByteForByte) {
  std::array<std::uint8_t, 132> bytes{0x12, 0x34, 16, 3, 0x10};
  const auto unit = std::bit_cast<UnitInfo>(bytes);
  EXPECT_EQ(unit.change_id.get(), 0x1234);
  EXPECT_EQ(unit.most_controllers, 16);
  EXPECT_EQ(unit.flags, 3);
  EXPECT_EQ(unit.slot(1), ControllerSlot::kPresent);
}

// 16.3.3.4.
TEST(DeviceManagementTest, ControllerProfileByteForByte) {
  std::array<std::uint8_t, 128> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  const auto profile = std::bit_cast<ControllerProfile>(bytes);
  EXPECT_EQ(profile.guid.get(), 0x0001'0203'0405'0607u);
  EXPECT_EQ(profile.vendor.get(), 0x0809'0A0Bu);
  EXPECT_EQ(profile.device.get(), 0x0C0D'0E0Fu);
  EXPECT_EQ(profile.device_version.get(), 0x1011u);
  EXPECT_EQ(profile.subsystem_vendor.get(), 0x1415'1617u);
  EXPECT_EQ(profile.subsystem.get(), 0x1819'1A1Bu);
  EXPECT_EQ(profile.io_class.get(), 0x1C1Du);
  EXPECT_EQ(profile.io_subclass.get(), 0x1E1Fu);
  EXPECT_EQ(profile.protocol.get(), 0x2021u);
  EXPECT_EQ(profile.protocol_version.get(), 0x2223u);
  EXPECT_EQ(profile.service_connections.get(), 0x2425u);
  EXPECT_EQ(profile.initiators.get(), 0x2627u);
  EXPECT_EQ(profile.send_queue_depth.get(), 0x2829u);
  EXPECT_EQ(profile.read_depth, 0x2B);
  EXPECT_EQ(profile.message_bytes.get(), 0x2C2D'2E2Fu);
  EXPECT_EQ(profile.transfer_bytes.get(), 0x3031'3233u);
  EXPECT_EQ(profile.operations, 0x34);
  EXPECT_EQ(profile.service_operations, 0x35);
  EXPECT_EQ(profile.service_entries, 0x36);
  EXPECT_EQ(profile.id_string.front(), 0x40);
  EXPECT_EQ(profile.id_string.back(), 0x7F);
}

// 16.3.3.5.
TEST(DeviceManagementTest, ServiceEntriesByteForByte) {
  std::array<std::uint8_t, 192> bytes{};
  bytes[48] = 'S';
  bytes[48 + 39] = 'x';
  bytes[48 + 40] = 1;
  bytes[191] = 9;
  const auto services = std::bit_cast<ServiceEntries>(bytes);
  EXPECT_EQ(services.entries[1].name.front(), 'S');
  EXPECT_EQ(services.entries[1].name.back(), 'x');
  EXPECT_EQ(services.entries[1].id.get(), 0x0100'0000'0000'0000u);
  EXPECT_EQ(services.entries[3].id.get(), 9u);
  EXPECT_EQ(service_modifier(0x0102, 4, 7), 0x0102'0704u);
}

}  // namespace
}  // namespace paravane::wire::infiniband
