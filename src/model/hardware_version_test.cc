#include "model/hardware_version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::model {
namespace {

using testing::HasSubstr;

TEST(HardwareVersion, ThirteenIsDevice17AndRoceV1) {
  EXPECT_EQ(default_device_version(13), 17u);
  EXPECT_EQ(default_protocol(13), Protocol::kRoceV1);
  EXPECT_TRUE(check_protocol(13, Protocol::kRoceV1));
  EXPECT_THAT(check_protocol(13, Protocol::kRoceV2).error().message, HasSubstr("RoCE v1 only"));
}

TEST(HardwareVersion, LaterOnesTakeEitherProtocol) {
  for (std::uint32_t hardware = 14; hardware <= 21; ++hardware) {
    EXPECT_EQ(default_device_version(hardware), 20u);
    EXPECT_EQ(default_protocol(hardware), Protocol::kRoceV2);
    EXPECT_TRUE(check_protocol(hardware, Protocol::kRoceV1));
    EXPECT_TRUE(check_protocol(hardware, Protocol::kRoceV2));
  }
}

TEST(HardwareVersion, NativeEndpointsComeWith18) {
  EXPECT_FALSE(has_native_endpoints(13));
  EXPECT_FALSE(has_native_endpoints(17));
  EXPECT_TRUE(has_native_endpoints(18));
  EXPECT_TRUE(has_native_endpoints(21));
}

// Every pair of versions, and what lies around them.
TEST(HardwareVersion, ContradictingVersionsAreRefused) {
  for (std::uint32_t hardware = 12; hardware <= 22; ++hardware) {
    for (std::uint32_t device = 16; device <= 21; ++device) {
      const bool first = hardware == 13 && device == 17;
      const bool later = hardware >= 14 && hardware <= 21 && device >= 18 && device <= 20;
      EXPECT_EQ(check_versions(hardware, device).has_value(), first || later)
          << hardware << " " << device;
    }
  }
  EXPECT_THAT(check_versions(13, 18).error().message, HasSubstr("only 17"));
  EXPECT_THAT(check_versions(14, 17).error().message, HasSubstr("only 18 to 20"));
  EXPECT_THAT(check_versions(22, 20).error().message, HasSubstr("13 to 21"));
  EXPECT_THAT(check_versions(21, 21).error().message, HasSubstr("17 to 20"));
}

TEST(HardwareVersion, FollowsFromTheDeviceWhenOnlyThatIsNamed) {
  EXPECT_EQ(default_hardware_version(17), 13u);
  EXPECT_EQ(default_hardware_version(18), 21u);
  EXPECT_EQ(default_hardware_version(std::nullopt), 21u);
}

TEST(Protocol, CanBeReadBack) {
  for (const Protocol protocol : {Protocol::kRoceV1, Protocol::kRoceV2}) {
    EXPECT_EQ(parse_protocol(to_string(protocol)), protocol);
  }
  for (const char* text : {"", "V1", "v3", "1"}) EXPECT_FALSE(parse_protocol(text)) << text;
}

}  // namespace
}  // namespace paravane::model
