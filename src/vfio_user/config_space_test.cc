#include "vfio_user/config_space.h"

#include <gtest/gtest.h>

#include <bit>

#include "testing/fake_pci_device.h"

namespace paravane::vfio_user {
namespace {

template <typename T>
T read(const ConfigSpace& config, std::uint64_t offset) {
  std::array<std::byte, sizeof(T)> bytes{};
  config.read(offset, bytes);
  return std::bit_cast<T>(bytes);
}

template <typename T>
ConfigSpace::Effects write(ConfigSpace& config, std::uint64_t offset, T value) {
  return config.write(offset, std::as_bytes(std::span(&value, 1)));
}

class ConfigSpaceTest : public ::testing::Test {
 protected:
  FakePciDevice device_;
  ConfigSpace config_{device_.spec()};
};

TEST_F(ConfigSpaceTest, IdentitiesCannotBeChanged) {
  for (std::uint64_t at = 0; at < kConfigBytes; at += 4) write<std::uint32_t>(config_, at, ~0U);
  EXPECT_EQ(read<std::uint32_t>(config_, 0x00), 0x082015ADU);
  EXPECT_EQ(read<std::uint32_t>(config_, 0x08), 0x02800001U);
  EXPECT_EQ(read<std::uint32_t>(config_, 0x2C), 0x082115ADU);
  EXPECT_EQ(read<std::uint8_t>(config_, 0x0E), 0);
  EXPECT_EQ(read<std::uint8_t>(config_, 0x3D), 0);
}

TEST_F(ConfigSpaceTest, OnlySomeBitsOfTheCommandStick) {
  write<std::uint16_t>(config_, 4, 0xFFFF);
  EXPECT_EQ(read<std::uint16_t>(config_, 4), 0x0546) << "memory, master, parity, SERR, INTx off";
}

TEST_F(ConfigSpaceTest, SaysWhenBusMasteringMoves) {
  EXPECT_TRUE(write<std::uint16_t>(config_, 4, 6).bus_master_moved);
  EXPECT_TRUE(config_.bus_master());
  EXPECT_FALSE(write<std::uint16_t>(config_, 4, 4).bus_master_moved);
  EXPECT_FALSE(write<std::uint8_t>(config_, 5, 0).bus_master_moved) << "the upper byte alone";
  EXPECT_TRUE(write<std::uint8_t>(config_, 4, 0).bus_master_moved);
  EXPECT_FALSE(config_.bus_master());
}

TEST_F(ConfigSpaceTest, A64BitBarTakesTwoRegisters) {
  DeviceSpec spec;
  spec.bars[2].size = std::uint64_t{1} << 33;
  spec.bars[2].is_64_bit = true;
  ConfigSpace config(spec);
  EXPECT_EQ(read<std::uint32_t>(config, 0x18), 4U) << "the type is there before sizing";
  write<std::uint64_t>(config, 0x18, ~std::uint64_t{0});
  EXPECT_EQ(read<std::uint32_t>(config, 0x18), 4U);
  EXPECT_EQ(read<std::uint32_t>(config, 0x1C), 0xFFFFFFFEU);
  write<std::uint32_t>(config, 0x1C, 0x00000024);
  EXPECT_EQ(read<std::uint64_t>(config, 0x18), 0x24'0000'0004U);
}

TEST_F(ConfigSpaceTest, TheLargest32BitBarCanBeSized) {
  DeviceSpec spec;
  spec.bars[5].size = std::uint64_t{1} << 31;
  ConfigSpace config(spec);
  write<std::uint32_t>(config, 0x24, ~0U);
  EXPECT_EQ(read<std::uint32_t>(config, 0x24), 0x80000000U);
}

TEST_F(ConfigSpaceTest, MsixIsSwitchedByTwoBits) {
  const auto at = read<std::uint8_t>(config_, 0x34);
  write<std::uint16_t>(config_, at + 2U, 0xFFFF);
  EXPECT_EQ(read<std::uint16_t>(config_, at + 2U), 0xC002);
  write<std::uint16_t>(config_, at + 2U, 0);
  EXPECT_EQ(read<std::uint16_t>(config_, at + 2U), 0x0002) << "the size of the table stays";
}

TEST_F(ConfigSpaceTest, CapabilitiesAreAChainThatEnds) {
  const auto msix = read<std::uint8_t>(config_, 0x34);
  const auto features = read<std::uint8_t>(config_, msix + 1U);
  EXPECT_EQ(read<std::uint8_t>(config_, msix), 0x11);
  EXPECT_EQ(read<std::uint8_t>(config_, features), 0x13);
  EXPECT_EQ(read<std::uint8_t>(config_, features + 1U), 0);
  EXPECT_EQ(read<std::uint8_t>(config_, features + 2U), 6) << "its length";
  EXPECT_EQ(msix % 4, 0);
  EXPECT_EQ(features % 4, 0);
}

TEST_F(ConfigSpaceTest, WithoutVectorsThereIsNoMsix) {
  const ConfigSpace config{DeviceSpec{}};
  EXPECT_EQ(read<std::uint8_t>(config, read<std::uint8_t>(config, 0x34)), 0x13);
}

TEST_F(ConfigSpaceTest, FunctionLevelResetIsOneBitOfOneByte) {
  const auto features = read<std::uint8_t>(config_, read<std::uint8_t>(config_, 0x34) + 1U);
  EXPECT_FALSE(write<std::uint8_t>(config_, features + 4U, 0xFE).function_reset);
  EXPECT_FALSE(write<std::uint32_t>(config_, features, 0xFFFFFFFF).function_reset);
  EXPECT_TRUE(write<std::uint8_t>(config_, features + 4U, 1).function_reset);
  EXPECT_TRUE(write<std::uint16_t>(config_, features + 4U, 0xFFFF).function_reset);
  EXPECT_EQ(read<std::uint8_t>(config_, features + 4U), 0);
}

TEST_F(ConfigSpaceTest, ResetBringsBackTheBeginning) {
  std::array<std::byte, kConfigBytes> before{};
  std::array<std::byte, kConfigBytes> after{};
  config_.read(0, before);
  for (std::uint64_t at = 0; at < kConfigBytes; at += 4) write<std::uint32_t>(config_, at, ~0U);
  config_.reset();
  config_.read(0, after);
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace paravane::vfio_user
