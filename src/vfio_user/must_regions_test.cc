// MUST 11 to 17: device and region information, config space, BARs.

#include <array>
#include <limits>

#include "vfio_user/requirements_test.h"

namespace paravane::vfio_user {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kNoOffset = std::numeric_limits<std::uint64_t>::max();

TEST_F(VfioUserMust, M11_GetInfoSaysPciWithReset) {
  const auto reply =
      client_.call(Command::kGetInfo, RawVfioClient::bytes_of(DeviceInfo{Le32(16), {}, {}, {}}));
  ASSERT_TRUE(good(reply));
  EXPECT_EQ(reply->header.size.get(), 32U);
  const auto info = reply->as<DeviceInfo>();
  EXPECT_EQ(info.argsz.get(), 16U);
  EXPECT_EQ(info.flags.get(), 3U);
  EXPECT_EQ(info.regions.get(), 9U);
  EXPECT_EQ(info.irqs.get(), 5U);
}

TEST_F(VfioUserMust, M11_AnswersEveryRegionIndex) {
  const std::array<std::uint64_t, 9> sizes{8192, 256, 65536, 0, 0, 0, 0, 256, 0};
  for (std::uint32_t index = 0; index < sizes.size(); ++index) {
    const auto reply = client_.region_info(index);
    ASSERT_TRUE(good(reply)) << index;
    EXPECT_EQ(reply->payload.size(), 32U) << index;
    EXPECT_EQ(reply->as<RegionInfo>().index.get(), index);
    EXPECT_EQ(reply->as<RegionInfo>().size.get(), sizes[index]) << index;
    if (sizes[index] == 0) {
      EXPECT_EQ(reply->as<RegionInfo>().flags.get(), 0U) << index;
    } else {
      EXPECT_EQ(reply->as<RegionInfo>().flags.get() & 3, 3U) << index;
    }
  }
  EXPECT_TRUE(refused(client_.region_info(9), EINVAL));
  EXPECT_TRUE(refused(client_.region_info(0xFFFF'FFFF), EINVAL));
}

TEST_F(VfioUserMust, M11_AnswersEveryInterruptIndex) {
  const std::array<std::uint32_t, 5> counts{0, 0, FakePciDevice::kVectors, 1, 0};
  for (std::uint32_t index = 0; index < counts.size(); ++index) {
    const auto reply = client_.irq_info(index);
    ASSERT_TRUE(good(reply)) << index;
    EXPECT_EQ(reply->header.size.get(), 32U);
    EXPECT_EQ(reply->as<IrqInfo>().count.get(), counts[index]) << index;
  }
  EXPECT_TRUE(refused(client_.irq_info(5), EINVAL));
}

TEST_F(VfioUserMust, M11_M12_RefusesAnArgszBelowTheStruct) {
  EXPECT_TRUE(refused(client_.region_info(0, 31), EINVAL));
  EXPECT_TRUE(refused(client_.call(Command::kGetInfo, RawVfioClient::Bytes(16)), EINVAL));
  EXPECT_TRUE(refused(client_.call(Command::kGetIrqInfo, RawVfioClient::Bytes(15)), EINVAL));
}

TEST_F(VfioUserMust, M12_TheShortReplyNamesTheLengthAndCarriesNoDescriptor) {
  for (const std::uint32_t argsz : {32U, 33U, 63U}) {
    const auto reply = client_.region_info(2, argsz);
    ASSERT_TRUE(good(reply));
    EXPECT_EQ(reply->payload.size(), 32U);
    EXPECT_THAT(reply->fds, IsEmpty());
    const auto info = reply->as<RegionInfo>();
    EXPECT_EQ(info.argsz.get(), 64U);
    EXPECT_EQ(info.flags.get(), 15U);
    EXPECT_EQ(info.cap_offset.get(), 32U) << "QEMU refuses CAPS with offset 0";
  }
}

TEST_F(VfioUserMust, M12_TheFullReplyListsTheAreasAndCarriesTheDescriptor) {
  for (const std::uint32_t argsz : {64U, 4096U}) {
    const auto reply = client_.region_info(2, argsz);
    ASSERT_TRUE(good(reply));
    ASSERT_EQ(reply->payload.size(), 64U);
    EXPECT_EQ(reply->as<RegionInfo>().argsz.get(), 64U);
    EXPECT_EQ(reply->as<RegionInfo>().offset.get(), 0U);
    const auto sparse = reply->as<SparseMmap>(32);
    EXPECT_EQ(sparse.id.get(), 1U);
    EXPECT_EQ(sparse.version.get(), 1U);
    EXPECT_EQ(sparse.next.get(), 0U);
    EXPECT_EQ(sparse.areas.get(), 1U);
    EXPECT_EQ(reply->as<SparseArea>(48).offset.get(), 4096U) << "page 0 is trapped";
    EXPECT_EQ(reply->as<SparseArea>(48).size.get(), 15U * 4096);
    ASSERT_EQ(reply->fds.size(), 1U);
  }
}

TEST_F(VfioUserMust, M12_TheDescriptorShowsTheMappedPages) {
  const auto reply = client_.region_info(2, 64);
  ASSERT_TRUE(good(reply));
  ASSERT_EQ(reply->fds.size(), 1U);
  const std::uint32_t word = 0xCAFE;
  ASSERT_EQ(pwrite(reply->fds[0].get(), &word, sizeof word, 0x3004), 4);
  EXPECT_EQ(rig_.device().load_doorbell(0x3004), 0xCAFEU);
}

TEST_F(VfioUserMust, M12_AWholeBarIsOfferedWithoutAList) {
  VfioServerRig rig({.device = {.mappable = true, .whole_bar = true}});
  RawVfioClient client = rig.attach();
  const auto reply = client.region_info(2);
  ASSERT_TRUE(good(reply));
  EXPECT_EQ(reply->payload.size(), 32U);
  EXPECT_EQ(reply->as<RegionInfo>().argsz.get(), 32U);
  EXPECT_EQ(reply->as<RegionInfo>().flags.get(), 7U);
  EXPECT_EQ(reply->fds.size(), 1U);
}

TEST_F(VfioUserMust, M12_NothingIsMappableForAClientThatTakesNoDescriptors) {
  VfioServerRig rig;
  RawVfioClient client = rig.connect();
  ASSERT_TRUE(good(client.negotiate(R"({"capabilities":{"max_msg_fds":0}})")));
  const auto reply = client.region_info(2, 64);
  ASSERT_TRUE(good(reply));
  EXPECT_EQ(reply->as<RegionInfo>().flags.get(), 3U);
  EXPECT_THAT(reply->fds, IsEmpty());
}

TEST_F(VfioUserMust, M13_ConfigSpaceIsReadInOneMessage) {
  const auto reply = client_.read(kConfigRegion, 0, 256);
  ASSERT_TRUE(good(reply));
  ASSERT_EQ(reply->payload.size(), 16U + 256);
  EXPECT_EQ(reply->as<RegionAccess>().count.get(), 256U);
  EXPECT_EQ(reply->as<Le16>(16).get(), 0x15AD);
  EXPECT_EQ(reply->as<Le16>(18).get(), 0x0820);
  EXPECT_EQ(reply->payload[16 + 0x0E], std::byte{0}) << "header type 0, one function";
  EXPECT_EQ(reply->payload[16 + 0x3D], std::byte{0}) << "no interrupt pin";
  EXPECT_EQ(reply->as<Le16>(16 + 6).get() & 0x10, 0x10) << "has capabilities";
}

TEST_F(VfioUserMust, M14_BarsAnswerToSizing) {
  const std::array<std::uint32_t, 6> masks{0xFFFFE000, 0xFFFFFF00, 0xFFFF0000, 0, 0, 0};
  for (std::uint32_t bar = 0; bar < masks.size(); ++bar) {
    const std::uint64_t at = 0x10 + 4 * bar;
    EXPECT_TRUE(good(client_.write_value<std::uint32_t>(kConfigRegion, at, 0xFFFFFFFF)));
    EXPECT_EQ(client_.read_value<std::uint32_t>(kConfigRegion, at), masks[bar]) << bar;
  }
  client_.write_value<std::uint32_t>(kConfigRegion, 0x30, 0xFFFFF800);
  EXPECT_EQ(client_.read_value<std::uint32_t>(kConfigRegion, 0x30), 0U) << "no ROM";
}

TEST_F(VfioUserMust, M14_BarsTakeWritesOfEveryWidth) {
  client_.write_value<std::uint8_t>(kConfigRegion, 0x1B, 0xE0);
  client_.write_value<std::uint16_t>(kConfigRegion, 0x1A, 0xE123);
  EXPECT_EQ(client_.read_value<std::uint32_t>(kConfigRegion, 0x18), 0xE1230000U);
  client_.write_value<std::uint64_t>(kConfigRegion, 0x14, 0xD0000000'C0000000);
  EXPECT_EQ(client_.read_value<std::uint32_t>(kConfigRegion, 0x14), 0xC0000000U);
  EXPECT_EQ(client_.read_value<std::uint32_t>(kConfigRegion, 0x18), 0xD0000000U);
}

TEST_F(VfioUserMust, M15_BarAccessesOfEveryWidthReachTheDevice) {
  EXPECT_TRUE(good(client_.write_value<std::uint8_t>(1, 0, 0x11)));
  EXPECT_TRUE(good(client_.write_value<std::uint16_t>(1, 2, 0x3322)));
  EXPECT_TRUE(good(client_.write_value<std::uint32_t>(1, 4, 0x77665544)));
  EXPECT_TRUE(good(client_.write_value<std::uint64_t>(1, 8, 0xFFEEDDCCBBAA9988)));
  EXPECT_EQ(client_.read_value<std::uint64_t>(1, 0), 0x7766554433220011U);
  EXPECT_EQ(client_.read_value<std::uint64_t>(1, 8), 0xFFEEDDCCBBAA9988U);
  EXPECT_THAT(rig_.device().log(), ElementsAre("write 1 0x0 1", "write 1 0x2 2", "write 1 0x4 4",
                                               "write 1 0x8 8", "read 1 0x0 8", "read 1 0x8 8"));
}

TEST_F(VfioUserMust, M15_UnalignedAccessesReachTheDevice) {
  EXPECT_TRUE(good(client_.write_value<std::uint32_t>(1, 3, 0x44332211)));
  EXPECT_EQ(client_.read_value<std::uint16_t>(1, 5), 0x4433U);
  EXPECT_EQ(client_.read_value<std::uint8_t>(1, 255), 0U);
}

TEST_F(VfioUserMust, M15_AWriteAnswerHasNoData) {
  const auto reply = client_.write_value<std::uint64_t>(1, 8, 1);
  ASSERT_TRUE(good(reply));
  EXPECT_EQ(reply->payload.size(), sizeof(RegionAccess));
  EXPECT_EQ(reply->as<RegionAccess>().offset.get(), 8U);
  EXPECT_EQ(reply->as<RegionAccess>().count.get(), 8U);
}

TEST_F(VfioUserMust, M15_AccessesBeyondARegionNeverReachTheDevice) {
  const std::array<std::pair<std::uint32_t, std::uint64_t>, 9> beyond{{
      {1, 256},
      {1, 253},
      {1, kNoOffset},
      {1, kNoOffset - 3},
      {1, 1ULL << 32},
      {3, 0},  // an empty BAR
      {6, 0},  // ROM
      {kConfigRegion, 254},
      {0xFFFF'FFFF, 0},
  }};
  for (const auto& [region, offset] : beyond) {
    const auto read = client_.read(region, offset, 4);
    ASSERT_TRUE(good(read)) << region << " " << offset;
    EXPECT_EQ(read->as<Le32>(16).get(), 0xFFFFFFFFU) << region << " " << offset;
    EXPECT_TRUE(good(client_.write_value<std::uint32_t>(region, offset, 0))) << region;
  }
  EXPECT_THAT(rig_.device().log(), IsEmpty());
  EXPECT_EQ(rig_.counters().dropped_accesses.value(), 2 * beyond.size());
}

TEST_F(VfioUserMust, M15_RefusesCountsThatCannotBe) {
  EXPECT_TRUE(refused(client_.read(1, 0, kMaxDataBytes + 1), EINVAL));
  EXPECT_TRUE(refused(client_.read(1, 0, 0xFFFF'FFFF), EINVAL));
  const RegionAccess access{.offset = {}, .region = Le32(1), .count = Le32(8)};
  for (const std::size_t data : {0U, 7U, 9U}) {  // not what count says
    const auto payload =
        RawVfioClient::join({RawVfioClient::bytes_of(access), RawVfioClient::Bytes(data)});
    EXPECT_TRUE(refused(client_.call(Command::kRegionWrite, payload), EINVAL)) << data;
  }
  EXPECT_TRUE(refused(client_.call(Command::kRegionRead, RawVfioClient::Bytes(15)), EINVAL));
  EXPECT_THAT(rig_.device().log(), IsEmpty());
}

TEST_F(VfioUserMust, M15_AnEmptyAccessIsHarmless) {
  EXPECT_TRUE(good(client_.read(1, 0, 0)));
  EXPECT_TRUE(good(client_.write(1, 0, {})));
  EXPECT_EQ(client_.read(1, 256, 0)->payload.size(), 16U);
}

TEST_F(VfioUserMust, M15_StaysBelowTheClientsOwnLimit) {
  VfioServerRig rig;
  RawVfioClient client = rig.connect();
  ASSERT_TRUE(good(client.negotiate(R"({"capabilities":{"max_data_xfer_size":128}})")));
  EXPECT_TRUE(good(client.read(kConfigRegion, 0, 128)));
  EXPECT_TRUE(refused(client.read(kConfigRegion, 0, 129), EINVAL));
}

TEST_F(VfioUserMust, M16_MappablePagesAnswerToMessagesToo) {
  EXPECT_TRUE(good(client_.write_value<std::uint32_t>(2, 0x3004, 0xABCD)));
  EXPECT_EQ(client_.read_value<std::uint32_t>(2, 0x3004), 0xABCDU);
  EXPECT_THAT(rig_.device().log(), ElementsAre("write 2 0x3004 4", "read 2 0x3004 4"));
}

TEST_F(VfioUserMust, M17_HasAnMsixCapability) {
  const auto at = client_.read_value<std::uint8_t>(kConfigRegion, 0x34);
  EXPECT_EQ(client_.read_value<std::uint8_t>(kConfigRegion, at), 0x11);
  EXPECT_EQ(client_.read_value<std::uint16_t>(kConfigRegion, at + 2U), FakePciDevice::kVectors - 1);
  EXPECT_EQ(client_.read_value<std::uint32_t>(kConfigRegion, at + 4U), 0U) << "table: BAR0 + 0";
  EXPECT_EQ(client_.read_value<std::uint32_t>(kConfigRegion, at + 8U), 4096U) << "BAR0 + 4096";
  EXPECT_EQ(client_.irq_info(2)->as<IrqInfo>().count.get(), FakePciDevice::kVectors);
}

TEST_F(VfioUserMust, M17_TheMsixTableAndPendingBitsAreNotTheDevices) {
  EXPECT_TRUE(good(client_.write_value<std::uint32_t>(0, 12, 0xFFFFFFFF)));
  EXPECT_TRUE(good(client_.write_value<std::uint32_t>(0, 4096, 0xFFFFFFFF)));
  EXPECT_EQ(client_.read_value<std::uint32_t>(0, 12), 0U);
  EXPECT_EQ(client_.read_value<std::uint64_t>(0, 4096), 0U);
  EXPECT_THAT(rig_.device().log(), IsEmpty());
}

TEST_F(VfioUserMust, M17_WhatLiesAroundTheMsixTableIsTheDevices) {
  EXPECT_TRUE(good(client_.write_value<std::uint32_t>(0, 48, 0x55)));  // 3 entries of 16 bytes
  const auto all = client_.read(0, 0, 8192);
  ASSERT_TRUE(good(all));
  EXPECT_EQ(all->as<Le32>(16 + 48).get(), 0x55U);
  EXPECT_THAT(rig_.device().log(),
              ElementsAre("write 0 0x30 4", "read 0 0x30 4048", "read 0 0x1008 4088"));
}

TEST_F(VfioUserMust, M17_AWriteThatTouchesTheMsixTableIsDropped) {
  EXPECT_TRUE(good(client_.write_value<std::uint64_t>(0, 44, ~std::uint64_t{0})));
  EXPECT_THAT(rig_.device().log(), IsEmpty());
}

}  // namespace
}  // namespace paravane::vfio_user
