#include "settings/name_of_host.h"

#include <gtest/gtest.h>

#include "model/distributed_switch.h"

namespace paravane::settings {
namespace {

TEST(HostName, IsTheConfiguredOneOrTheSystems) {
  EXPECT_EQ(host_name("h7"), "h7");
  EXPECT_TRUE(model::check_host_name(host_name("")));
}

}  // namespace
}  // namespace paravane::settings
