#include "text/pcapng.h"

#include <gtest/gtest.h>

#include <vector>

namespace paravane::text::pcapng {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto value = static_cast<unsigned char>(c);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

std::string packets(unsigned count, std::size_t bytes = 5) {
  std::string blocks;
  const std::vector<std::byte> packet(bytes, std::byte{0xAB});
  for (unsigned i = 0; i < count; ++i) {
    append_packet({.interface = i % 2, .original_bytes = 100}, packet, blocks);
  }
  return blocks;
}

TEST(PcapngTest, SectionAndInterface) {
  std::string file;
  append_section("paravane", file);
  EXPECT_EQ(hex(file),
            "0a0d0d0a"
            "2c000000"
            "4d3c2b1a"
            "01000000"
            "ffffffffffffffff"
            "04000800"
            "7061726176616e65"
            "00000000"
            "2c000000");
  file.clear();
  append_interface("a/1", LinkType::kEthernet, 512, file);
  EXPECT_EQ(hex(file),
            "01000000"
            "28000000"
            "01000000"
            "00020000"
            "02000300"
            "612f3100"
            "09000100"
            "09000000"
            "00000000"
            "28000000");
}

TEST(PcapngTest, AnInterfaceOfInfinibandRecords) {
  std::string file;
  append_interface("vmnic32", LinkType::kErf, 0, file);
  EXPECT_EQ(hex(file).substr(0, 32), "010000002c000000c500000000000000");
}

TEST(PcapngTest, PacketWithPaddingAndDirection) {
  std::string file;
  const std::byte bytes[] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}};
  append_packet({.interface = 1,
                 .timestamp_ns = 0x0102030405060708,
                 .original_bytes = 100,
                 .is_outbound = true},
                bytes, file);
  EXPECT_EQ(hex(file),
            "06000000"
            "34000000"
            "01000000"
            "04030201"
            "08070605"
            "05000000"
            "64000000"
            "0102030405000000"
            "0200040002000000"
            "00000000"
            "34000000");
}

TEST(PcapngTest, Statistics) {
  std::string file;
  append_statistics({.interface = 1,
                     .from_ns = 1,
                     .to_ns = (std::uint64_t{2} << 32) | 3,
                     .received = 9,
                     .dropped = 4},
                    file);
  EXPECT_EQ(hex(file),
            "05000000"
            "4c000000"
            "01000000"
            "0200000003000000"
            "02000800"
            "0000000001000000"
            "03000800"
            "0200000003000000"
            "04000800"
            "0900000000000000"
            "05000800"
            "0400000000000000"
            "00000000"
            "4c000000");
}

TEST(PcapngTest, CountsPackets) {
  const std::string three = packets(3);
  const auto all = first_packets(three, 2, 100);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->count, 3u);
  EXPECT_EQ(all->bytes, three.size());
  const auto two = first_packets(three, 2, 2);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->count, 2u);
  EXPECT_EQ(two->bytes, packets(2).size());
  EXPECT_EQ(first_packets("", 2, 9)->count, 0u);
  EXPECT_EQ(first_packets(packets(1, 0), 1, 9)->count, 1u);
}

TEST(PcapngTest, SumsWhatWasDroppedBeforeThePackets) {
  const std::vector<std::byte> packet(5, std::byte{0xAB});
  std::string blocks;
  append_packet({.interface = 1, .dropped_before = 7}, packet, blocks);
  EXPECT_EQ(hex(blocks).substr(2 * 36),
            "0200040001000000"
            "040008000700000000000000"
            "00000000"
            "40000000");
  append_packet({.interface = 0}, packet, blocks);
  append_packet({.interface = 1, .dropped_before = 1}, packet, blocks);
  const std::size_t three = blocks.size();
  append_packet({.interface = 0, .dropped_before = 1000}, packet, blocks);
  const auto first = first_packets(blocks, 3, 3);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->bytes, three);
  const std::vector<InterfacePackets> expected = {{.kept = 1}, {.kept = 2, .dropped = 8}, {}};
  EXPECT_EQ(first->interfaces, expected);
}

// The daemon's answer is read by a program that root runs.
TEST(PcapngTest, OptionsThatAreNoneCountNothing) {
  std::string blocks;
  append_packet({.dropped_before = 7}, {}, blocks);
  const std::size_t options = blocks.size() - 4 - 4 - 12 - 8;
  for (std::size_t at = options; at < blocks.size() - 4; ++at) {
    std::string bad = blocks;
    bad[at] = static_cast<char>(bad[at] ^ 0xFF);
    EXPECT_TRUE(first_packets(bad, 1, 9)) << at;
  }
}

TEST(PcapngTest, RefusesWhatAreNoPackets) {
  EXPECT_FALSE(first_packets(packets(2), 1, 9));  // of an interface that is not there
  const std::string good = packets(1);
  for (std::size_t size = 1; size < good.size(); ++size) {
    EXPECT_FALSE(first_packets(good.substr(0, size), 1, 9)) << size;
  }
  for (const std::size_t at : {0u, 4u, 5u, 7u, 20u, 23u, 48u}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    EXPECT_FALSE(first_packets(bad, 1, 9)) << at;
  }
  std::string section;
  append_section("x", section);
  EXPECT_FALSE(first_packets(section, 1, 9));
}

}  // namespace
}  // namespace paravane::text::pcapng
