#include "connection/service_name.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace paravane::connection {
namespace {

using namespace std::string_view_literals;

TEST(ServiceNameTest, IdExtension) {
  EXPECT_EQ(id_extension_of("SRP.T10:0002c903000E8ACD"), 0x0002'C903'000E'8ACDu);
  EXPECT_EQ(id_extension_of("SRP.T10:0000000000000000"), 0u);
  EXPECT_EQ(id_extension_of("SRP.T10:ffffffffffffffff"), ~std::uint64_t{0});
}

TEST(ServiceNameTest, NamesWithoutSixteenDigits) {
  for (const std::string_view name :
       {""sv, "SRP.T10"sv, "SRP.T10:"sv, "SRP.T10:0002c903000e8ac"sv, "SRP.T10:0002c903000e8acd0"sv,
        "SRP.T10:0002c903000e8acg"sv, "SRP.T10:-002c903000e8acd"sv, "SRP.T10:+002c903000e8acd"sv,
        "SRP.T10:0x02c903000e8acd"sv, "SRP.T10: 002c903000e8acd"sv, "SRP.T10:0002c903000e8acd "sv,
        " SRP.T10:0002c903000e8acd"sv, "srp.t10:0002c903000e8acd"sv})
    EXPECT_FALSE(id_extension_of(name)) << name;
}

TEST(ServiceNameTest, SrpNames) {
  EXPECT_TRUE(is_srp_name("SRP.T10:anything"));
  EXPECT_FALSE(is_srp_name("SRP.T1"));
  EXPECT_FALSE(is_srp_name("VNIC"));
}

TEST(ServiceNameTest, TextsAreCleaned) {
  EXPECT_EQ(printable_text("Linux SRP target\0rest"sv), "Linux SRP target");
  EXPECT_EQ(printable_text("  a\x1B[2J\xC3\xA9\x7F  "sv), "a?[2J???");
  EXPECT_EQ(printable_text("   "sv), "");
  EXPECT_EQ(printable_text(""sv), "");
  EXPECT_EQ(printable_text(std::array{'f', 'u', 'l', 'l'}), "full");
}

}  // namespace
}  // namespace paravane::connection
