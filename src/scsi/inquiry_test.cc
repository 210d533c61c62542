#include "scsi/inquiry.h"

#include <gtest/gtest.h>

#include "testing/hex_bytes.h"

namespace paravane::scsi {
namespace {

using fake::hex_bytes;

// As LIO answers.
constexpr std::string_view kDisk =
    "00 00 06 02 5b 00 00 02"
    "4c 49 4f 2d 4f 52 47 20"
    "64 69 73 6b 30 20 20 20 20 20 20 20 20 20 20 20"
    "34 2e 30 20";

TEST(ScsiInquiry, OfADisk) {
  const auto inquiry = parse_inquiry(hex_bytes(kDisk));
  ASSERT_TRUE(inquiry) << inquiry.error().message;
  EXPECT_EQ(*inquiry, (StandardInquiry{.type = DeviceType::kDisk,
                                       .qualifier = Qualifier::kConnected,
                                       .is_removable = false,
                                       .vendor = "LIO-ORG",
                                       .product = "disk0",
                                       .revision = "4.0"}));
  EXPECT_TRUE(inquiry->is_disk());
}

TEST(ScsiInquiry, OfALogicalUnitThatIsNotThere) {
  auto bytes = hex_bytes(kDisk);
  bytes[0] = std::byte{0x7F};
  bytes[1] = std::byte{0x80};
  auto inquiry = parse_inquiry(bytes);
  ASSERT_TRUE(inquiry);
  EXPECT_EQ(inquiry->qualifier, Qualifier::kImpossible);
  EXPECT_EQ(inquiry->type, DeviceType::kNone);
  EXPECT_TRUE(inquiry->is_removable);
  EXPECT_FALSE(inquiry->is_disk());
  bytes[0] = std::byte{0x20};
  inquiry = parse_inquiry(bytes);
  ASSERT_TRUE(inquiry);
  EXPECT_EQ(inquiry->qualifier, Qualifier::kNotConnected);
  EXPECT_FALSE(inquiry->is_disk());
  bytes[0] = std::byte{0x05};
  EXPECT_FALSE(parse_inquiry(bytes)->is_disk()) << "a CD is not a disk";
}

TEST(ScsiInquiry, RefusesWhatIsShortOrOfAnotherFormat) {
  auto bytes = hex_bytes(kDisk);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parse_inquiry(std::span(bytes).first(size))) << size;
  bytes[4] = std::byte{30};
  EXPECT_FALSE(parse_inquiry(bytes)) << "says that it is shorter";
  bytes[4] = std::byte{31};
  EXPECT_TRUE(parse_inquiry(bytes));
  bytes[3] = std::byte{0x01};
  EXPECT_FALSE(parse_inquiry(bytes)) << "an old format";
  bytes[3] = std::byte{0x32};
  EXPECT_TRUE(parse_inquiry(bytes)) << "flags beside the format";
}

TEST(ScsiVitalPages, AreThatWhichWasAskedForAndWhole) {
  const auto bytes = hex_bytes("00 83 00 02 aa bb cc");
  const auto body = vital_page_body(bytes, 0x83);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->size(), 2u);
  EXPECT_FALSE(vital_page_body(bytes, 0x80)) << "another page";
  EXPECT_FALSE(vital_page_body(std::span(bytes).first(5), 0x83)) << "beyond what has come";
  EXPECT_TRUE(vital_page_body(std::span(bytes).first(6), 0x83));
  EXPECT_FALSE(vital_page_body(std::span(bytes).first(3), 0x83));
  EXPECT_FALSE(vital_page_body({}, 0x83));
  EXPECT_FALSE(vital_page_body(hex_bytes("00 83 ff ff aa"), 0x83));
}

TEST(ScsiVitalPages, AreListed) {
  const auto pages = parse_supported_pages(hex_bytes("00 00 00 04 00 80 83 b0 ff"));
  ASSERT_TRUE(pages);
  EXPECT_EQ(*pages, (std::vector<std::uint8_t>{0x00, 0x80, 0x83, 0xB0}));
  EXPECT_TRUE(parse_supported_pages(hex_bytes("00 00 00 00"))->empty());
  EXPECT_FALSE(parse_supported_pages(hex_bytes("00 00 00 02 80")));
}

}  // namespace
}  // namespace paravane::scsi
