#include "vfio_user/spec_check.h"

#include <gtest/gtest.h>

#include <functional>

#include "testing/fake_pci_device.h"

namespace paravane::vfio_user {
namespace {

// The fake's spec with one thing wrong; empty when it is accepted, else the
// message.
std::string refused(const std::function<void(DeviceSpec&)>& spoil) {
  const FakePciDevice device;
  DeviceSpec spec = device.spec();
  spoil(spec);
  const Status checked = check_spec(spec);
  return checked ? "" : checked.error().message;
}

TEST(SpecCheck, TakesAGoodOneAndOneWithNothing) {
  EXPECT_EQ(refused([](DeviceSpec&) {}), "");
  EXPECT_TRUE(check_spec(DeviceSpec{}));
}

TEST(SpecCheck, BarsArePowersOfTwo) {
  EXPECT_NE(refused([](DeviceSpec& s) { s.bars[1].size = 3000; }), "");
  EXPECT_NE(refused([](DeviceSpec& s) { s.bars[1].size = 8; }), "");
  EXPECT_NE(refused([](DeviceSpec& s) { s.bars[1].size = std::uint64_t{1} << 32; }), "");
}

TEST(SpecCheck, A64BitBarNeedsTheNextOne) {
  EXPECT_NE(refused([](DeviceSpec& s) { s.bars[1].is_64_bit = true; }), "");
  EXPECT_EQ(refused([](DeviceSpec& s) { s.bars[2].is_64_bit = true; }), "");
  EXPECT_NE(refused([](DeviceSpec& s) {
              s.bars[5].size = 4096;
              s.bars[5].is_64_bit = true;
            }),
            "");
}

TEST(SpecCheck, MappableAreasArePagesInOrderInsideTheBar) {
  const auto with_areas = [](std::vector<MmapArea> areas) {
    return refused([&](DeviceSpec& s) { s.bars[2].mmap_areas = std::move(areas); });
  };
  EXPECT_EQ(with_areas({{4096, 4096}, {8192, 4096}}), "");
  EXPECT_NE(with_areas({{8192, 4096}, {4096, 4096}}), "");
  EXPECT_NE(with_areas({{4096, 8192}, {8192, 4096}}), "");
  EXPECT_NE(with_areas({{4096, 100}}), "");
  EXPECT_NE(with_areas({{100, 4096}}), "");
  EXPECT_NE(with_areas({{4096, 0}}), "");
  EXPECT_NE(with_areas({{4096, FakePciDevice::kDoorbellBytes}}), "");
  EXPECT_NE(with_areas({{~std::uint64_t{4095}, 8192}}), "") << "wraps";
  EXPECT_NE(refused([](DeviceSpec& s) { s.bars[2].mmap_fd = -1; }), "");
  EXPECT_NE(refused([](DeviceSpec& s) { s.bars[3].mmap_areas = {{0, 4096}}; }), "");
}

TEST(SpecCheck, MsixLiesInBars) {
  EXPECT_NE(refused([](DeviceSpec& s) { s.msix.vectors = 2049; }), "");
  EXPECT_NE(refused([](DeviceSpec& s) { s.msix.table_bar = 6; }), "");
  EXPECT_NE(refused([](DeviceSpec& s) { s.msix.pba_bar = 3; }), "") << "an empty BAR";
  EXPECT_NE(refused([](DeviceSpec& s) { s.msix.table_offset = 4; }), "");
  EXPECT_NE(refused([](DeviceSpec& s) { s.msix.table_offset = 8192 - 8; }), "");
  EXPECT_NE(refused([](DeviceSpec& s) { s.msix.pba_offset = 40; }), "") << "in the table";
  EXPECT_EQ(refused([](DeviceSpec& s) { s.msix.pba_offset = 48; }), "");
}

}  // namespace
}  // namespace paravane::vfio_user
