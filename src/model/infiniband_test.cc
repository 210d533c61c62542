#include "model/infiniband.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::model {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(IbAdapterName, HasWhatLibibumadHasRoomFor) {
  for (const char* good : {"mlx4_0", "a", "A-b_9", "abcdefghijklmnopqrs"}) {
    EXPECT_TRUE(check_ib_adapter_name(good)) << good;
  }
  for (const char* bad :
       {"", "0mlx4", "_a", "-a", "a b", "a.b", "a/b", "mlx4_\xc3\xa4", "abcdefghijklmnopqrst"}) {
    EXPECT_FALSE(check_ib_adapter_name(bad)) << bad;
  }
}

TEST(IbAdapter, HasADeviceOfTheGuideAndABus) {
  EXPECT_TRUE(check_ib_adapter({.name = "mlx4_0", .device = "MT26428", .bus = 255}));
  EXPECT_TRUE(check_ib_adapter({.name = "mlx4_0", .device = "MT25204", .bus = 0}));
  EXPECT_THAT(check_ib_adapter({.name = "mlx4_0", .device = "MT1"}).error().message,
              AllOf(HasSubstr("'MT1'"), HasSubstr("MT25408, "), HasSubstr("MT25208-MF")));
  EXPECT_THAT(check_ib_adapter({.name = "mlx4_0", .device = "MT26428", .bus = 256}).error().message,
              HasSubstr("256"));
  EXPECT_THAT(check_ib_adapter({.name = "4", .device = "MT26428"}).error().message,
              HasSubstr("'4'"));
}

TEST(IbPortState, HasNamesThatAreReadBack) {
  for (const IbPortState state :
       {IbPortState::kUnknown, IbPortState::kDown, IbPortState::kInitializing, IbPortState::kArmed,
        IbPortState::kActive}) {
    EXPECT_EQ(parse_ib_port_state(to_string(state)), state) << to_string(state);
  }
  EXPECT_FALSE(parse_ib_port_state("active"));
  EXPECT_EQ(to_string(static_cast<IbPortState>(9)), "Unknown");
}

}  // namespace
}  // namespace paravane::model
