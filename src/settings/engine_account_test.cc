#include "settings/engine_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::settings {
namespace {

using testing::HasSubstr;

TEST(EngineAccount, NamesAGroupThatDoesNotExist) {
  Config config;
  config.sandbox.user = "nobody";
  config.vfio_user.group = "no-such-group";
  const auto account = find_engine_account(config);
  ASSERT_FALSE(account);
  EXPECT_THAT(account.error().message,
              HasSubstr("vfio_user.group: group \"no-such-group\" does not exist"));
}

}  // namespace
}  // namespace paravane::settings
