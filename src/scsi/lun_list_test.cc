#include "scsi/lun_list.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/hex_bytes.h"

namespace paravane::scsi {
namespace {

using fake::hex_bytes;

std::vector<std::byte> list_of(const std::vector<std::uint64_t>& addresses) {
  std::vector<std::byte> bytes(8);
  const auto length = static_cast<std::uint32_t>(addresses.size() * 8);
  for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(length >> (24 - 8 * i));
  for (const std::uint64_t address : addresses)
    for (int shift = 56; shift >= 0; shift -= 8)
      bytes.push_back(static_cast<std::byte>(address >> shift));
  return bytes;
}
constexpr std::uint64_t first_level(std::uint64_t value) {
  return value << 48;
}

TEST(ScsiLun, HasTwoFormsOfOneLevel) {
  EXPECT_EQ(Lun::of(0).address, 0u);
  EXPECT_EQ(Lun::of(255).address, first_level(0x00FF));
  EXPECT_EQ(Lun::of(256).address, first_level(0x4100));
  EXPECT_EQ(Lun::of(0x3FFF).address, first_level(0x7FFF));
  for (const std::uint32_t number : {0u, 1u, 255u, 256u, 0x3FFFu})
    EXPECT_EQ(Lun::of(number).number(), number);
  EXPECT_EQ(Lun{.address = first_level(0x4001)}.number(), 1u) << "flat, though it is small";
}

TEST(ScsiLun, OfAnotherFormHasNoNumber) {
  for (const std::uint64_t address :
       {first_level(0x0100), first_level(0x3F01), first_level(0x8001), first_level(0xC101),
        first_level(1) | 1, first_level(0x4001) | (std::uint64_t{1} << 32), ~std::uint64_t{0}}) {
    EXPECT_EQ(Lun{.address = address}.number(), std::nullopt) << std::hex << address;
  }
}

TEST(ScsiLunList, IsInOrderAndWithoutRepetitions) {
  const auto list = parse_lun_list(
      list_of({first_level(3), first_level(0), first_level(0x4001), first_level(0x4003),
               first_level(0xC101), first_level(0), first_level(0x4200)}));
  ASSERT_TRUE(list);
  EXPECT_EQ(list->luns, (std::vector<Lun>{Lun::of(0), Lun{.address = first_level(0x4001)},
                                          Lun::of(3), Lun::of(512)}));
  EXPECT_EQ(list->others, 3u);
  EXPECT_FALSE(list->is_cut);
}

TEST(ScsiLunList, TakesSoManyAndCountsTheOthers) {
  std::vector<std::uint64_t> addresses;
  for (std::uint32_t i = 0; i < 300; ++i) addresses.push_back(Lun::of(i).address);
  const auto list = parse_lun_list(list_of(addresses));
  ASSERT_TRUE(list);
  EXPECT_EQ(list->luns.size(), LunList::kMost);
  EXPECT_EQ(list->luns.back().number(), 255u);
  EXPECT_EQ(list->others, 44u);
}

TEST(ScsiLunList, MayBeCut) {
  auto bytes = list_of({0, first_level(1), first_level(2)});
  const auto list = parse_lun_list(std::span(bytes).first(8 + 12));
  ASSERT_TRUE(list);
  EXPECT_EQ(list->luns, std::vector<Lun>{Lun::of(0)}) << "half an address is none";
  EXPECT_TRUE(list->is_cut);
  bytes[0] = std::byte{0xFF};
  const auto lie = parse_lun_list(bytes);
  ASSERT_TRUE(lie);
  EXPECT_EQ(lie->luns.size(), 3u);
  EXPECT_TRUE(lie->is_cut);
}

TEST(ScsiLunList, EndsWhereItSays) {
  auto bytes = list_of({0, first_level(1)});
  bytes[3] = std::byte{8};
  const auto list = parse_lun_list(bytes);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->luns, std::vector<Lun>{Lun::of(0)});
  EXPECT_TRUE(parse_lun_list(list_of({}))->luns.empty());
}

TEST(ScsiLunList, RefusesWhatCannotBe) {
  EXPECT_FALSE(parse_lun_list({}));
  EXPECT_FALSE(parse_lun_list(hex_bytes("00 00 00 08 00 00 00")));
  EXPECT_FALSE(
      parse_lun_list(hex_bytes("00 00 00 0c 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00")));
}

}  // namespace
}  // namespace paravane::scsi
