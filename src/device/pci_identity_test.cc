#include "device/pci_identity.h"

#include <gtest/gtest.h>

#include <bit>

namespace paravane::device {
namespace {

vfio_user::DeviceSpec spec_of(const DeviceConfig& config, const DoorbellPages& pages) {
  return make_device_spec(config, pages);
}

TEST(PciIdentity, C01_IsAPvrdmaFunction) {
  const DeviceConfig config;
  const auto pages = DoorbellPages::create(doorbell_bar_pages(config));
  ASSERT_TRUE(pages.has_value());
  const vfio_user::DeviceSpec spec = spec_of(config, **pages);

  EXPECT_EQ(spec.vendor, 0x15ADu);
  EXPECT_EQ(spec.device, 0x0820u);
  EXPECT_EQ(spec.class_code, 0x020700u);  // what lspci calls an InfiniBand controller
  EXPECT_EQ(spec.msix.vectors, 3u);
  EXPECT_EQ(spec.msix.table_bar, 0u);
  EXPECT_FALSE(spec.bars[0].is_64_bit);
  EXPECT_FALSE(spec.bars[1].is_64_bit);
  EXPECT_EQ(spec.bars[3].size, 0u);
}

TEST(PciIdentity, MappedModeTrapsTheKernelsPageOnly) {
  const DeviceConfig config;
  const auto pages = DoorbellPages::create(doorbell_bar_pages(config));
  ASSERT_TRUE(pages.has_value());
  const vfio_user::BarSpec bar = spec_of(config, **pages).bars[2];

  EXPECT_EQ(bar.size, 1024u * 4096);
  ASSERT_EQ(bar.mmap_areas.size(), 1u);
  EXPECT_EQ(bar.mmap_areas[0].offset, 4096u);
  EXPECT_EQ(bar.mmap_areas[0].offset + bar.mmap_areas[0].size, bar.size);
}

TEST(PciIdentity, TrappedModeLeavesOnePageToMapThatNobodyOwns) {
  DeviceConfig config;
  config.doorbells = DoorbellMode::kTrapped;
  const auto pages = DoorbellPages::create(doorbell_bar_pages(config));
  ASSERT_TRUE(pages.has_value());
  const vfio_user::BarSpec bar = spec_of(config, **pages).bars[2];

  ASSERT_EQ(bar.mmap_areas.size(), 1u);
  EXPECT_EQ(bar.mmap_areas[0].size, 4096u);
  EXPECT_GE(bar.mmap_areas[0].offset, std::uint64_t{config.limits.contexts} * 4096);
  EXPECT_EQ(bar.mmap_areas[0].offset + 4096, bar.size);
  EXPECT_TRUE(std::has_single_bit(bar.size));
  EXPECT_EQ(bar.size, (*pages)->size());
}

}  // namespace
}  // namespace paravane::device
