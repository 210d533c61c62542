// MUST 20 to 23, 25, 27 and 30: guest memory as the VMM shows it.

#include <limits>

#include "vfio_user/requirements_test.h"

namespace paravane::vfio_user {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kPageSize = 4096;

TEST_F(VfioUserMust, M20_MapsAFileAndAnswersWithAHeader) {
  const UniqueFd file = ram(4 * kPageSize);
  const std::uint32_t word = 0x12345678;
  ASSERT_EQ(pwrite(file.get(), &word, sizeof word, 2 * kPageSize + 8), 4);
  const auto reply = client_.dma_map(file.get(), kPageSize, 0x10000, 2 * kPageSize);
  ASSERT_TRUE(good(reply));
  EXPECT_EQ(reply->header.size.get(), 16U);
  client_.set_bus_master(true);
  EXPECT_EQ(rig_.memory().read<std::uint32_t>(GuestAddr{0x10000 + kPageSize + 8}), 0x12345678U);
  EXPECT_TRUE(rig_.memory().write(GuestAddr{0x10000}, word));
}

TEST_F(VfioUserMust, M20_ARangeToReadOnlyCannotBeWritten) {
  const UniqueFd file = ram(kPageSize);
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0, kPageSize, DmaMap::kRead)));
  client_.set_bus_master(true);
  EXPECT_TRUE(rig_.memory().read<std::uint32_t>(GuestAddr{0}));
  EXPECT_FALSE(rig_.memory().write(GuestAddr{0}, std::uint32_t{1}));
}

TEST_F(VfioUserMust, M20_TakesARangeWithoutADescriptor) {
  ASSERT_TRUE(good(client_.dma_map(-1, 0, 0xFFFC0000, 0x40000, DmaMap::kRead)));
  EXPECT_EQ(rig_.memory().usage().ranges, 1U);
  EXPECT_EQ(rig_.memory().usage().files, 0U);
}

TEST_F(VfioUserMust, M20_KeepsNoDescriptorPerMap) {
  const UniqueFd file = ram(64 * kPageSize);
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0, kPageSize)));
  const std::size_t before = open_descriptors();
  for (std::uint64_t i = 1; i < 64; ++i) {
    ASSERT_TRUE(good(client_.dma_map(file.get(), i * kPageSize, i * kPageSize, kPageSize)));
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(VfioUserMust, M20_RefusesAMalformedMap) {
  const UniqueFd file = ram(4 * kPageSize);
  const int fds[2] = {file.get(), file.get()};
  const DmaMap two{
      .argsz = Le32(32), .flags = Le32(3), .file_offset = {}, .iova = {}, .size = Le64(kPageSize)};
  EXPECT_TRUE(refused(client_.call(Command::kDmaMap, RawVfioClient::bytes_of(two), fds), EINVAL));
  EXPECT_TRUE(refused(client_.call(Command::kDmaMap, RawVfioClient::Bytes(31)), EINVAL));
  EXPECT_TRUE(refused(client_.call(Command::kDmaMap, RawVfioClient::Bytes(32)), EINVAL));
  EXPECT_TRUE(refused(client_.dma_map(file.get(), 0, 0, kPageSize, 0), EINVAL)) << "no rights";
  EXPECT_TRUE(refused(client_.dma_map(file.get(), 0, 0, kPageSize, 7), EINVAL)) << "unknown flag";
  EXPECT_TRUE(refused(client_.dma_map(file.get(), 0, 0, 0), EINVAL)) << "empty";
  EXPECT_TRUE(refused(client_.dma_map(file.get(), 0, 1, kPageSize), EINVAL)) << "not aligned";
  const std::uint64_t last_page = ~std::uint64_t{kPageSize - 1};
  EXPECT_TRUE(refused(client_.dma_map(file.get(), 0, last_page, 2 * kPageSize), EINVAL)) << "wraps";
  EXPECT_EQ(rig_.memory().usage().ranges, 0U);
  EXPECT_EQ(rig_.counters().dma_map_errors.value(), 8U);
}

TEST_F(VfioUserMust, M20_RefusesAnOverlapAndKeepsTheFirst) {
  const UniqueFd file = ram(4 * kPageSize);
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0, 2 * kPageSize)));
  EXPECT_TRUE(refused(client_.dma_map(file.get(), 0, kPageSize, 2 * kPageSize), EINVAL));
  EXPECT_EQ(rig_.memory().usage().ranges, 1U);
}

TEST_F(VfioUserMust, M21_AnswersAnUnmapWithItsEcho) {
  const UniqueFd file = ram(4 * kPageSize);
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0, 4 * kPageSize)));
  const auto reply = client_.dma_unmap(0, 4 * kPageSize);
  ASSERT_TRUE(good(reply));
  EXPECT_EQ(reply->header.size.get(), 40U);
  EXPECT_EQ(reply->as<DmaUnmap>().size.get(), 4 * kPageSize);
  EXPECT_THAT(rig_.device().log(), ElementsAre("unmap 0x0 0x4000"));
}

TEST_F(VfioUserMust, M21_SubtractsFromWhatIsMapped) {
  const UniqueFd file = ram(4 * kPageSize);
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0, 4 * kPageSize)));
  client_.set_bus_master(true);
  ASSERT_TRUE(good(client_.dma_unmap(kPageSize, kPageSize)));
  EXPECT_TRUE(rig_.memory().read<std::uint32_t>(GuestAddr{0}));
  EXPECT_FALSE(rig_.memory().read<std::uint32_t>(GuestAddr{kPageSize}));
  EXPECT_TRUE(rig_.memory().read<std::uint32_t>(GuestAddr{2 * kPageSize}));
}

TEST_F(VfioUserMust, M21_UnmappingNothingSucceedsAndTheDeviceNeedNotKnow) {
  for (const std::uint64_t size : {std::uint64_t{kPageSize}, std::uint64_t{0xFFFFFFFF01100000},
                                   std::numeric_limits<std::uint64_t>::max(), std::uint64_t{0}}) {
    const auto reply = client_.dma_unmap(0xFEF00000, size);
    ASSERT_TRUE(good(reply)) << size;
    EXPECT_EQ(reply->header.size.get(), 40U);
  }
  EXPECT_THAT(rig_.device().log(), IsEmpty());
}

TEST_F(VfioUserMust, M21_UnmapsEverythingAtOnce) {
  const UniqueFd file = ram(4 * kPageSize);
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0, kPageSize)));
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0xFFFFFFFFFFFFF000, kPageSize)));
  const auto reply = client_.dma_unmap(0, 0, DmaUnmap::kAll);
  ASSERT_TRUE(good(reply));
  EXPECT_EQ(reply->header.size.get(), 40U);
  EXPECT_EQ(rig_.memory().usage().ranges, 0U);
}

TEST_F(VfioUserMust, M21_RefusesAMalformedUnmap) {
  EXPECT_TRUE(refused(client_.call(Command::kDmaUnmap, RawVfioClient::Bytes(23)), EINVAL));
  EXPECT_TRUE(refused(client_.call(Command::kDmaUnmap, RawVfioClient::Bytes(24)), EINVAL));
  EXPECT_TRUE(refused(client_.dma_unmap(0, kPageSize, 1), ENOTSUP)) << "dirty pages";
}

TEST_F(VfioUserMust, M21_AnswersAnUnmapOnlyWhenNothingTouchesTheRangeAnyMore) {
  const UniqueFd file = ram(kPageSize);
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0, kPageSize)));
  rig_.device().defer({.unmaps = true});
  client_.send(Command::kDmaUnmap,
               RawVfioClient::bytes_of(DmaUnmap{Le32(24), {}, Le64(0), Le64(kPageSize)}));
  EXPECT_TRUE(client_.stays_silent());
  EXPECT_EQ(rig_.memory().usage().ranges, 0U);
  ASSERT_EQ(rig_.device().tokens().size(), 1U);
  rig_.server().answer(rig_.device().tokens()[0]);
  const auto reply = client_.receive();
  ASSERT_TRUE(good(reply));
  EXPECT_EQ(reply->header.size.get(), 40U);
}

TEST_F(VfioUserMust, M21_AFileThatNothingShowsAnyMoreIsUnmappedInTime) {
  const UniqueFd ram_file = ram(kPageSize);
  const UniqueFd unplugged = ram(kPageSize);
  ASSERT_TRUE(good(client_.dma_map(ram_file.get(), 0, 0, kPageSize)));
  ASSERT_TRUE(good(client_.dma_map(unplugged.get(), 0, kPageSize, kPageSize)));
  ASSERT_TRUE(good(client_.dma_unmap(kPageSize, kPageSize)));
  EXPECT_EQ(rig_.memory().usage().files, 2U) << "it may come back";
  rig_.pass(std::chrono::seconds(16));
  rig_.step();
  EXPECT_EQ(rig_.memory().usage().files, 1U);
  EXPECT_EQ(rig_.timers().size(), 0U) << "nothing to wake up for";
}

TEST_F(VfioUserMust, M22_DmaToWhatIsNotThereFailsAndStraddlingWorks) {
  const UniqueFd file = ram(4 * kPageSize);
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0, kPageSize)));
  ASSERT_TRUE(good(client_.dma_map(file.get(), 2 * kPageSize, kPageSize, kPageSize)));
  ASSERT_TRUE(good(client_.dma_map(-1, 0, 2 * kPageSize, kPageSize)));
  client_.set_bus_master(true);
  EXPECT_TRUE(rig_.memory().write(GuestAddr{kPageSize - 4}, std::uint64_t{0x1122334455667788}));
  std::uint32_t upper = 0;
  ASSERT_EQ(pread(file.get(), &upper, sizeof upper, 2 * kPageSize), 4);
  EXPECT_EQ(upper, 0x11223344U) << "the second range shows another page of the file";
  EXPECT_FALSE(rig_.memory().read<std::uint64_t>(GuestAddr{2 * kPageSize - 4})) << "no file";
  EXPECT_FALSE(rig_.memory().read<std::uint64_t>(GuestAddr{8 * kPageSize})) << "no range";
}

TEST_F(VfioUserMust, M23_ARemapOfAllRamResetsNothing) {
  const UniqueFd file = ram(4 * kPageSize);
  client_.set_bus_master(true);
  ASSERT_TRUE(good(client_.write_value<std::uint32_t>(1, 8, 0x77)));
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0, 4 * kPageSize)));
    ASSERT_TRUE(good(client_.dma_unmap(0, 4 * kPageSize)));
  }
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0, 4 * kPageSize)));
  EXPECT_EQ(client_.read_value<std::uint32_t>(1, 8), 0x77U);
  EXPECT_TRUE(rig_.memory().read<std::uint32_t>(GuestAddr{0}));
  EXPECT_EQ(rig_.counters().resets.value(), 0U);
}

TEST_F(VfioUserMust, M25_DmaNeedsBusMastering) {
  const UniqueFd file = ram(kPageSize);
  ASSERT_TRUE(good(client_.dma_map(file.get(), 0, 0, kPageSize)));
  EXPECT_FALSE(rig_.memory().read<std::uint32_t>(GuestAddr{0}));
  client_.set_bus_master(true);
  EXPECT_TRUE(rig_.memory().read<std::uint32_t>(GuestAddr{0}));
  client_.set_bus_master(false);
  EXPECT_FALSE(rig_.memory().read<std::uint32_t>(GuestAddr{0}));
  EXPECT_THAT(rig_.device().log(), ElementsAre("bus master on", "bus master off"));
}

TEST_F(VfioUserMust, M27_NeverAsksTheClientForAnything) {
  ASSERT_TRUE(good(client_.dma_map(-1, 0, 0, 16 * kPageSize)));
  client_.set_bus_master(true);
  EXPECT_FALSE(rig_.memory().read<std::uint32_t>(GuestAddr{0}));
  EXPECT_FALSE(rig_.memory().write(GuestAddr{0}, std::uint32_t{1}));
  EXPECT_TRUE(client_.stays_silent());
}

TEST_F(VfioUserMust, M30_RefusesMemoryThatCouldBlockOrFault) {
  int pipe_fds[2];
  ASSERT_EQ(pipe2(pipe_fds, O_CLOEXEC), 0);
  const UniqueFd read_end(pipe_fds[0]);
  const UniqueFd write_end(pipe_fds[1]);
  EXPECT_TRUE(refused(client_.dma_map(read_end.get(), 0, 0, kPageSize), ENOTSUP));
  const UniqueFd directory(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(refused(client_.dma_map(directory.get(), 0, 0, kPageSize), ENOTSUP));
  const UniqueFd file = ram(kPageSize);
  EXPECT_TRUE(refused(client_.dma_map(file.get(), 0, 0, 2 * kPageSize), EINVAL))
      << "beyond its end";
  EXPECT_TRUE(
      refused(client_.dma_map(file.get(), ~std::uint64_t{kPageSize - 1}, 0, kPageSize), EINVAL));
  EXPECT_TRUE(good(client_.dma_map(file.get(), 0, 0, kPageSize)));
}

}  // namespace
}  // namespace paravane::vfio_user
