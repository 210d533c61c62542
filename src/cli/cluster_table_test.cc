#include "cli/cluster_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/version.h"

namespace paravane::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using text::TableFormat;

TEST(ClusterTable, SaysNothingOfAHostThatIsAwayButItsName) {
  const model::ClusterStatus status{.member = true,
                                    .hosts = {{.name = "h1",
                                               .present = true,
                                               .address = "10.77.0.1",
                                               .port = 28250,
                                               .version = "0.1.0",
                                               .channel = "encrypted"},
                                              {.name = "h2", .address = "", .version = ""}}};
  EXPECT_EQ(print_cluster(status, text::TableFormat::kCsv),
            "Host,State,Address,Port,Version,Adapters,GIDs,Channel\n"
            "h1,present,10.77.0.1,28250,0.1.0,0,0,encrypted\n"
            "h2,away,-,-,-,0,0,-\n");
}

TEST(ClusterTable, ListsTheVmsOfAllHosts) {
  const std::vector<model::ClusterAdapter> adapters = {
      {.host = "h1", .adapter = {"db1", 1}, .mac = *model::parse_mac("02:50:56:00:00:01")},
      {.host = "h2",
       .adapter = {"db2", 2},
       .mac = *model::parse_mac("02:50:56:00:00:02"),
       .port_group = "rdma"}};
  EXPECT_EQ(print_cluster_adapters(adapters, text::TableFormat::kCsv),
            "Host,VM,Adapter,MAC Address,Port Group\n"
            "h1,db1,1,02:50:56:00:00:01,-\n"
            "h2,db2,2,02:50:56:00:00:02,rdma\n");
  EXPECT_THAT(print_cluster_adapters({}, text::TableFormat::kJson), HasSubstr("[]"));
}

TEST(ClusterTable, TellsConnectingFromAway) {
  model::ClusterStatus status{.member = true, .connecting = true, .problem = "not yet connected"};
  EXPECT_THAT(print_cluster(status, text::TableFormat::kTable),
              AllOf(HasSubstr("connecting"), Not(HasSubstr("away"))));
  status.connecting = false;
  status.problem = "cannot connect to 10.77.0.1:2379: Connection refused";
  EXPECT_THAT(print_cluster(status, text::TableFormat::kTable),
              AllOf(Not(HasSubstr("connecting")),
                    HasSubstr("The inventory is unreachable: cannot connect to 10.77.0.1:2379")));
  status.connected = true;
  EXPECT_THAT(print_cluster(status, text::TableFormat::kTable), Not(HasSubstr("away")));
}

TEST(ClusterTable, NamesWhatIsDamagedAndTheWayOut) {
  model::ClusterStatus status{.damage = "/s/cluster/host.pem is damaged: \x1b",
                              .damage_remedy = "Restore the file."};
  EXPECT_EQ(print_cluster(status, text::TableFormat::kTable),
            "This host cannot take part in its cluster: /s/cluster/host.pem is damaged: ?\n"
            "  Restore the file.\n");
  status.member = true;
  EXPECT_THAT(print_cluster(status, text::TableFormat::kTable),
              HasSubstr("\nThe authority on this host does not work: /s/cluster/host.pem"));
  EXPECT_EQ(print_cluster({}, text::TableFormat::kTable), "this host is not in a cluster\n");
}

TEST(ClusterTable, NamesWhatHostsOfOtherVersionsLackOrHaveMore) {
  const auto host = [](const char* name, bool present, const char* version) {
    return model::ClusterHost{.name = name, .present = present, .address = {}, .version = version};
  };
  const model::ClusterStatus status{.member = true,
                                    .hosts = {host("h1", true, kVersion), host("h2", true, "0.1.0"),
                                              host("h3", true, "999.0.0"), host("h4", false, "")}};
  const std::string text = print_cluster(status, TableFormat::kTable);
  EXPECT_THAT(text, HasSubstr("\nHost h2 has version 0.1.0, which lacks: members identified by "
                              "their keys; detection of an outdated inventory"));
  EXPECT_THAT(text, HasSubstr("\nHost h3 has version 999.0.0, which is newer than "));
  EXPECT_THAT(text, Not(HasSubstr("Host h1 has")));
  EXPECT_THAT(text, Not(HasSubstr("Host h4 has")));
}

}  // namespace
}  // namespace paravane::cli
