#include "scsi/device_identity.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "testing/hex_bytes.h"

namespace paravane::scsi {
namespace {

using fake::hex_bytes;

// A page with these designators. REQUIRES: fewer than 256 bytes.
std::vector<std::byte> page83(std::string_view designators) {
  std::vector<std::byte> page = hex_bytes("00 83 00 00");
  const auto body = hex_bytes(designators);
  page[3] = static_cast<std::byte>(body.size());
  page.insert(page.end(), body.begin(), body.end());
  return page;
}
std::string name_of(std::string_view designators) {
  const auto identity = parse_identification(page83(designators));
  return identity ? identity->name : "";
}
Errc code_of(std::string_view designators) {
  const auto identity = parse_identification(page83(designators));
  EXPECT_FALSE(identity.has_value());
  return identity ? Errc::kInvalidArgument : identity.error().code;
}

const std::string kNaa6 = "01 03 00 10 60 01 40 50 12 34 56 78 9a bc de f0 12 34 56 78 ";
const std::string kNaa5 = "01 03 00 08 50 01 40 50 12 34 56 78 ";
const std::string kNaa2 = "01 03 00 08 20 01 40 50 12 34 56 78 ";
const std::string kNaa3 = "01 03 00 08 30 01 40 50 12 34 56 78 ";
const std::string kEui = "01 02 00 08 00 25 38 00 00 00 00 01 ";
const std::string kT10 = "02 01 00 0f 4c 49 4f 2d 4f 52 47 20 64 6b 3a 34 37 31 00 ";  // dk:471
const std::string kOfPort = "61 93 00 08 50 00 00 00 00 00 00 99 ";  // a target port's NAA 5
const std::string kOfTarget = "01 a3 00 08 50 00 00 00 00 00 00 98 ";

TEST(ScsiDeviceIdentity, IsTheNaaNameFirst) {
  EXPECT_EQ(name_of(kNaa6), "naa.60014050123456789abcdef012345678");
  EXPECT_EQ(name_of(kT10 + kEui + kNaa3 + kNaa2 + kNaa5 + kNaa6),
            "naa.60014050123456789abcdef012345678");
  EXPECT_EQ(name_of(kNaa3 + kNaa2 + kNaa5 + kEui), "naa.5001405012345678");
  EXPECT_EQ(name_of(kNaa2 + kNaa3), "naa.2001405012345678");
  EXPECT_EQ(name_of(kEui + kNaa3), "naa.3001405012345678");
}

TEST(ScsiDeviceIdentity, IsTheFirstOfTwoOfAKind) {
  const std::string other = "01 03 00 08 50 00 00 00 00 00 00 01 ";
  EXPECT_EQ(name_of(other + kNaa5), "naa.5000000000000001");
}

TEST(ScsiDeviceIdentity, IsAnEuiOrT10NameElse) {
  EXPECT_EQ(name_of(kT10 + kEui), "eui.0025380000000001");
  EXPECT_EQ(name_of(kT10), "t10.LIO-ORG_dk:471");
}

TEST(ScsiDeviceIdentity, IsOfTheLogicalUnitAlone) {
  EXPECT_EQ(name_of(kOfPort + kOfTarget + kT10), "t10.LIO-ORG_dk:471");
  EXPECT_EQ(code_of(kOfPort + kOfTarget), Errc::kNotFound);
}

TEST(ScsiDeviceIdentity, IsNotWhatNamesNothing) {
  EXPECT_EQ(code_of(""), Errc::kNotFound);
  EXPECT_EQ(code_of("01 00 00 02 aa bb"), Errc::kNotFound) << "a vendor's own";
  EXPECT_EQ(code_of("01 03 00 08 40 00 00 00 00 00 00 01"), Errc::kNotFound) << "NAA 4";
  EXPECT_EQ(code_of("01 03 00 00"), Errc::kNotFound);
  EXPECT_EQ(code_of("02 03 00 08 50 01 40 50 12 34 56 78"), Errc::kNotFound)
      << "an NAA name in letters";
  EXPECT_EQ(code_of("02 01 00 08 4c 49 4f 2d 4f 52 47 20"), Errc::kNotFound) << "a vendor alone";
}

TEST(ScsiDeviceIdentity, RefusesWhatReachesBeyondThePage) {
  EXPECT_EQ(code_of("01 03 00"), Errc::kIo);
  EXPECT_EQ(code_of(kNaa6 + "01"), Errc::kIo);
  EXPECT_EQ(code_of("01 03 00 09 50 01 40 50 12 34 56 78"), Errc::kIo);
  EXPECT_EQ(code_of(kNaa6 + "01 03 00 ff 50"), Errc::kIo) << "behind one that is right";
  EXPECT_EQ(code_of("61 93 00 09 50 00 00 00 00 00 00 99"), Errc::kIo) << "of a port";
}

TEST(ScsiDeviceIdentity, RefusesNamesOfAWrongLength) {
  EXPECT_EQ(code_of("01 03 00 08 60 01 40 50 12 34 56 78"), Errc::kIo);
  EXPECT_EQ(code_of("01 03 00 09 50 01 40 50 12 34 56 78 9a"), Errc::kIo);
  EXPECT_EQ(code_of("01 03 00 01 50"), Errc::kIo);
  EXPECT_EQ(code_of("01 02 00 07 00 25 38 00 00 00 00"), Errc::kIo);
  EXPECT_EQ(code_of("02 01 00 07 4c 49 4f 2d 4f 52 47"), Errc::kIo);
}

TEST(ScsiDeviceIdentity, HasNoCharacterThatATerminalObeys) {
  EXPECT_EQ(name_of("02 01 00 0c 4c 49 4f 2d 4f 52 47 20 1b 5b 2f 41"), "t10.LIO-ORG____A");
}

// A fuzzer has found that a vendor of zeros made a name of nothing.
TEST(ScsiDeviceIdentity, NeedsNoVendor) {
  EXPECT_EQ(name_of("02 01 00 0a 00 49 4f 2d 4f 52 47 20 34 37"), "t10.47");
}

TEST(ScsiDeviceIdentity, MayBeASerialNumber) {
  const auto serial = parse_serial(hex_bytes("00 80 00 06 34 37 31 31 20 00"));
  ASSERT_TRUE(serial);
  EXPECT_EQ(*serial, "4711");
  EXPECT_EQ(identity_of_serial("LIO-ORG", *serial).name, "t10.LIO-ORG_4711");
  EXPECT_EQ(identity_of_serial("", "a b").name, "t10.a_b");
  EXPECT_EQ(parse_serial(hex_bytes("00 80 00 02 20 20")).error().code, Errc::kNotFound);
  EXPECT_EQ(parse_serial(hex_bytes("00 80 00 00")).error().code, Errc::kNotFound);
  EXPECT_EQ(parse_serial(hex_bytes("00 80 00 05 31")).error().code, Errc::kIo);
}

}  // namespace
}  // namespace paravane::scsi
