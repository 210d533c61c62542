#include "cli/esxcli_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::cli {
namespace {

TEST(EsxcliTree, MakesAGroupOnceWithAllAboveIt) {
  CLI::App app("x", "paravane");
  CLI::App& protocol = esxcli_group(app, "rdma device protocol");
  EXPECT_EQ(protocol.get_name(), "protocol");
  EXPECT_EQ(protocol.get_parent(), &esxcli_group(app, "rdma device"));
  EXPECT_EQ(&esxcli_group(app, "rdma device protocol"), &protocol);
  EXPECT_EQ(app.get_subcommand("rdma"), &esxcli_group(app, "rdma"));
  EXPECT_THAT(protocol.help(), testing::HasSubstr("  paravane rdma device protocol list"));
}

}  // namespace
}  // namespace paravane::cli
