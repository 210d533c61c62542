#include "scsi/text.h"

#include <gtest/gtest.h>

#include <string>

namespace paravane::scsi {
namespace {

std::string cleaned(const std::string& text) {
  return clean_text(std::as_bytes(std::span(text)));
}
std::string named(const std::string& text) {
  return clean_name(std::as_bytes(std::span(text)));
}

TEST(ScsiText, IsPrintableWithoutSpacesAtItsEnds) {
  EXPECT_EQ(cleaned("  LIO-ORG "), "LIO-ORG");
  EXPECT_EQ(cleaned("a b"), "a b");
  EXPECT_EQ(cleaned(std::string("ab\0cd", 5)), "ab");
  EXPECT_EQ(cleaned("a\x1b[2J\xff\x7f"), "a?[2J??");
  EXPECT_EQ(cleaned("    "), "");
  EXPECT_EQ(cleaned(""), "");
}

TEST(ScsiText, InANameNeedsNoQuotes) {
  EXPECT_EQ(named("LIO-ORG disk0:12_3.4+5"), "LIO-ORG_disk0:12_3.4+5");
  EXPECT_EQ(named(" ../a b/'\"\n$ "), ".._a_b_____");
}

TEST(ScsiText, HexHasTwoDigitsForEachByte) {
  const std::byte bytes[] = {std::byte{0x06}, std::byte{0xFF}};
  EXPECT_EQ(hex_text(bytes), "06ff");
}

}  // namespace
}  // namespace paravane::scsi
