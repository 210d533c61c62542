#include "metrics/metrics_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "metrics/sample_metrics_test.h"

namespace paravane::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

class MetricsPage : public testing::Test {
 protected:
  std::string page() const {
    return print_metrics({.snapshot = snapshot,
                          .cluster = cluster,
                          .events = events,
                          .boot = "b0",
                          .api_requests = requests});
  }

  MetricsSnapshot snapshot = sample_metrics();
  model::ClusterStatus cluster = sample_cluster();
  api::EventLog::Totals events{.by_severity = {5, 1, 0}};
  std::map<int, std::uint64_t> requests{{200, 7}, {404, 1}};
};

TEST_F(MetricsPage, HasTheNamesOfNodeExporter) {
  EXPECT_THAT(page(), HasSubstr("# TYPE node_infiniband_port_data_received_bytes_total counter\n"));
  // What peers wrote and what own reads brought.
  EXPECT_THAT(page(), HasSubstr("\nnode_infiniband_port_data_received_bytes_total"
                                "{device=\"db1/1\",port=\"1\"} 1007"));
  EXPECT_THAT(page(), HasSubstr("\nnode_infiniband_state_id{device=\"db1/1\",port=\"1\"} 4"));
  EXPECT_THAT(page(), HasSubstr("\nnode_infiniband_req_cqes_errors_total"
                                "{device=\"db1/1\",port=\"1\"} 3"));
}

TEST_F(MetricsPage, CountersOfOursAppearByThemselves) {
  EXPECT_THAT(page(),
              HasSubstr("\nparavane_engine_received_bytes_total{vm=\"db1\",adapter=\"1\"} 1000"));
  EXPECT_THAT(page(),
              HasSubstr("\nparavane_share_busy_seconds_total{vm=\"db1\",adapter=\"1\"} 1.5"));
  EXPECT_THAT(page(), HasSubstr("# TYPE paravane_share_longest_turn_seconds gauge\n"));
  EXPECT_THAT(page(), HasSubstr("\nparavane_channel_sent_bytes_total{host=\"h2\"} 9"));
}

TEST_F(MetricsPage, SaysHowSwitchesAreOnThisHost) {
  snapshot.switches = {{.name = "lan", .mended = 3, .problems = 1, .failovers = 2}};
  EXPECT_THAT(page(), HasSubstr("\nparavane_switch_mended_total{switch=\"lan\"} 3"));
  EXPECT_THAT(page(), HasSubstr("\nparavane_switch_failovers_total{switch=\"lan\"} 2"));
  EXPECT_THAT(page(), HasSubstr("\nparavane_switch_problems{switch=\"lan\"} 1"));
}

TEST_F(MetricsPage, SaysWhichPortsAndCablesOfTheSubnetAreUp) {
  snapshot.ib_ports = {{.adapter = "mlx4_0", .port = 2, .is_active = true, .has_manager = false}};
  snapshot.cables = {{.host = "h2", .is_up = true}, {.host = "h3", .is_up = false}};
  const std::string labels = "{adapter=\"mlx4_0\",port=\"2\"}";
  EXPECT_THAT(page(), HasSubstr("\nparavane_infiniband_port_active" + labels + " 1"));
  EXPECT_THAT(page(), HasSubstr("\nparavane_infiniband_port_manager" + labels + " 0"));
  EXPECT_THAT(page(), HasSubstr("\nparavane_infiniband_cable_up{host=\"h2\"} 1"));
  EXPECT_THAT(page(), HasSubstr("\nparavane_infiniband_cable_up{host=\"h3\"} 0"));
}

TEST_F(MetricsPage, QueuePairsAreBoundedAndTheRestIsSummed) {
  EXPECT_THAT(page(),
              HasSubstr("\nparavane_qp_sent_bytes_total{vm=\"db1\",adapter=\"1\",qp=\"2\"} 20"));
  EXPECT_THAT(page(),
              HasSubstr("\nparavane_qp_sent_bytes_total{vm=\"db1\",adapter=\"1\",qp=\"other\"} 5"));
}

TEST_F(MetricsPage, SaysWhatIsOfTheDaemonAndItsCluster) {
  EXPECT_THAT(page(), HasSubstr("\nparavane_api_requests_total{code=\"404\"} 1"));
  EXPECT_THAT(page(), HasSubstr("\nparavane_events_total{severity=\"warning\"} 1"));
  EXPECT_THAT(page(), HasSubstr("\nparavane_cluster_host_present{host=\"h2\"} 1"));
  EXPECT_THAT(page(), HasSubstr("\nparavane_channel_up{host=\"h2\"} 0"));
  cluster = {};
  EXPECT_THAT(page(), Not(HasSubstr("paravane_cluster_connected")));
}

TEST_F(MetricsPage, SaysWhyAPathIsTakenAndWhyNativeEndpointsAreNotReached) {
  worker::AdapterMetrics& adapter = *snapshot.vms[0].adapters[0];
  adapter.queue_pairs[0].why = "same host";
  adapter.roce_closed = "port group a has RoCE off";
  EXPECT_THAT(page(),
              HasSubstr("path=\"local\",peer_gid=\"\",peer_host=\"\",reason=\"same host\"} 1"));
  EXPECT_THAT(page(), HasSubstr("\nparavane_adapter_roce_open{vm=\"db1\",adapter=\"1\","
                                "reason=\"port group a has RoCE off\"} 0"));
  adapter.roce_open = true;
  adapter.roce_closed.clear();
  EXPECT_THAT(page(), HasSubstr("\nparavane_adapter_roce_open{vm=\"db1\",adapter=\"1\","
                                "reason=\"\"} 1"));
}

TEST_F(MetricsPage, AnAdapterThatIsDeadToItsGuestIsStillAttached) {
  EXPECT_THAT(page(), HasSubstr("\nparavane_adapter_dead{vm=\"db1\",adapter=\"1\"} 0"));
  snapshot.vms[0].status.adapters[0].state = model::VmState::kDead;
  EXPECT_THAT(page(), HasSubstr("\nparavane_adapter_dead{vm=\"db1\",adapter=\"1\"} 1"));
  EXPECT_THAT(page(), HasSubstr("\nparavane_adapter_attached{vm=\"db1\",adapter=\"1\"} 1"));
  EXPECT_THAT(page(), HasSubstr("\nparavane_adapter_active{vm=\"db1\",adapter=\"1\"} 0"));
}

TEST_F(MetricsPage, CountsWaysThroughRoutersByWhatProbesSay) {
  EXPECT_THAT(page(), Not(HasSubstr("paravane_adapter_routed_ways")));
  snapshot.vms[0].adapters[0]->routed_ways = {{"answered", 2}, {"unanswered", 1}};
  EXPECT_THAT(page(), HasSubstr("\nparavane_adapter_routed_ways{vm=\"db1\",adapter=\"1\","
                                "state=\"unanswered\"} 1"));
}

// What Prometheus asks of a page: each family is one piece, with help and type, and no
// series stands twice.
TEST_F(MetricsPage, CountsWhatIsLeftOut) {
  EXPECT_THAT(page(), HasSubstr("\nparavane_left_out 0\n"));
  EXPECT_THAT(page(), HasSubstr("\nparavane_cluster_damaged 0\n"));
  snapshot.status.left_out.resize(2);
  cluster = {.damage = "x"};
  EXPECT_THAT(page(), HasSubstr("\nparavane_left_out 2\n"));
  EXPECT_THAT(page(), HasSubstr("\nparavane_cluster_damaged 1\n"));
}

TEST_F(MetricsPage, IsWellFormed) {
  std::istringstream lines(page());
  std::set<std::string> families;
  std::set<std::string> series;
  std::string family;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(families.insert(family).second) << family;
    } else if (line.starts_with("# TYPE ")) {
      EXPECT_EQ(line.ends_with(" counter"), family.ends_with("_total")) << line;
    } else {
      EXPECT_TRUE(line.starts_with(family + "{") || line.starts_with(family + " ")) << line;
      EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << line;
    }
  }
  EXPECT_GT(families.size(), 60u);
}

}  // namespace
}  // namespace paravane::metrics
