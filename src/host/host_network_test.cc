#include "host/host_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "host/recording_maker_test.h"
#include "store/damaged_rows_test.h"
#include "store/store.h"
#include "testing/temp_dir.h"

namespace paravane::host {
namespace {

using model::ApiErrorCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using verbs::SegmentId;

class HostNetworkTest : public testing::Test {
 protected:
  HostNetworkTest() { start(); }
  void start() {
    network_.reset();
    store_.reset();
    auto store = store::Store::open(dir_ / "paravane.db");
    ASSERT_TRUE(store);
    store_ = std::move(*store);
    network_ = std::make_unique<HostNetwork>(
        HostNetworkConfig{.host = "h1",
                          .uplinks = {"eth1", "eth2", "vmnic32"},
                          .maker = &maker_,
                          .ipoib_uplinks = [this] { return ipoib_; },
                          .roce_changed =
                              [this] {
                                if (!uses_.empty())
                                  told_.push_back(network_->why_no_roce(uses_[0]));
                              },
                          .roce_ports_gone =
                              [this](const std::vector<model::AdapterName>& gone) {
                                for (const model::AdapterName& adapter : gone) {
                                  told_.push_back(to_string(adapter) + " gone, " +
                                                  std::to_string(maker_.times) + " plans before");
                                }
                              },
                          .uplink_gone =
                              [this](const std::string& uplink, std::optional<std::uint32_t> vlan) {
                                gone_.push_back(uplink + (vlan ? " " + std::to_string(*vlan) : "") +
                                                ", " + std::to_string(maker_.times) +
                                                " plans before");
                              }},
        *store_, [this] { return uses_; });
    ASSERT_TRUE(network_->load());
  }
  // A switch with this host in it, and two port groups.
  void make_lan() {
    ASSERT_TRUE(network_->create_switch({.name = "lan"}));
    ASSERT_TRUE(network_->add_switch_host("lan", {.host = "h1", .uplink = "eth1"}));
    ASSERT_TRUE(network_->create_port_group({.name = "a", .vds = "lan", .vlan = 10}));
    ASSERT_TRUE(network_->create_port_group({.name = "b", .vds = "lan"}));
  }

  TempDir dir_;
  RecordingMaker maker_;
  std::vector<PortUse> uses_;
  std::vector<std::string> told_;  // of RoCE ports
  std::vector<privsep::SwitchPlan::IpoibUplink> ipoib_;
  std::vector<std::string> gone_;  // of IPoIB uplinks
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<HostNetwork> network_;
};

TEST_F(HostNetworkTest, PlansTheSwitchesOfThisHostOnly) {
  make_lan();
  ASSERT_TRUE(network_->create_switch({.name = "other", .hosts = {{"h2", "eth1"}}}));
  ASSERT_TRUE(network_->create_port_group({.name = "again", .vds = "lan", .vlan = 10}));
  uses_ = {{.adapter = {"db1", 2}, .port_group = "a"}};
  network_->apply();
  EXPECT_EQ(maker_.last,
            (privsep::SwitchPlan{
                .switches = {{.name = "lan", .mtu = 1500, .uplink = "eth1", .vlans = {0, 10}}},
                .taps = {{.vm = "db1", .adapter = 2, .vds = "lan", .vlan = 10}}}));
}

TEST_F(HostNetworkTest, MakesEveryChangeAtOnce) {
  make_lan();
  EXPECT_EQ(maker_.times, 4);
  ASSERT_TRUE(network_->set_switch_mtu("lan", 9000));
  EXPECT_EQ(maker_.last.switches[0].mtu, 9000u);
  ASSERT_TRUE(network_->set_switch_uplink("lan", {.host = "h1"}));
  EXPECT_EQ(maker_.last.switches[0].uplink, "");
  ASSERT_TRUE(network_->delete_port_group("a"));
  EXPECT_THAT(maker_.last.switches[0].vlans, ElementsAre(0));
  ASSERT_TRUE(network_->remove_switch_host("lan", "h1"));
  EXPECT_THAT(maker_.last.switches, IsEmpty());
}

constexpr model::MacAddress kMac{2, 0, 0, 0, 0, 1};

TEST_F(HostNetworkTest, AServiceHasATapWhereItReachesNativeEndpointsAndKeepsItsPortGroup) {
  make_lan();
  uses_ = {{.adapter = {"vmhba32", 0}, .port_group = "a", .mac = kMac}};
  network_->apply();
  EXPECT_THAT(maker_.last.taps, IsEmpty()) << "RoCE is off there";
  ASSERT_TRUE(network_->change_port_group("a", {.native_roce = true}));
  EXPECT_THAT(maker_.last.taps, ElementsAre(privsep::SwitchPlan::Tap{
                                    .vm = "vmhba32", .adapter = 0, .vds = "lan", .vlan = 10}));
  EXPECT_THAT(maker_.last.roce_ports, ElementsAre(privsep::SwitchPlan::RocePort{
                                          .vm = "vmhba32", .adapter = 0, .mac = kMac}));
  const auto refused = network_->delete_port_group("a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ApiErrorCode::kInUse);
  EXPECT_THAT(refused.error().message, HasSubstr("vmhba32 is in port group a"));
  EXPECT_THAT(refused.error().remedy, HasSubstr("vmhba set vmhba32 --port-group none"));
  ASSERT_TRUE(
      network_->create_port_group({.name = "tags", .vds = "lan", .vlan = model::kGuestVlans}));
  uses_[0].port_group = "tags";
  network_->apply();
  EXPECT_THAT(maker_.last.taps, IsEmpty()) << "it tags no frames";
}

TEST_F(HostNetworkTest, SetsTheRoceOfAPortGroupWhileAdaptersAreInIt) {
  make_lan();
  uses_ = {{.adapter = {"db1", 1}, .port_group = "a", .mac = kMac, .making = 3}};
  network_->apply();
  EXPECT_THAT(maker_.last.roce_ports, IsEmpty());

  const auto native = network_->change_port_group("a", {.native_roce = true});
  ASSERT_TRUE(native);
  EXPECT_TRUE(native->spec.native_roce);
  EXPECT_EQ(native->spec.vlan, 10u) << "all else stays";
  EXPECT_THAT(maker_.last.roce_ports, ElementsAre(privsep::SwitchPlan::RocePort{
                                          .vm = "db1", .adapter = 1, .mac = kMac, .making = 3}));
  EXPECT_TRUE(network_->wants_roce({.adapter = {"db1", 1}, .making = 3}));
  EXPECT_FALSE(network_->wants_roce({.adapter = {"db1", 1}, .making = 2})) << "of another plan";
  EXPECT_FALSE(network_->wants_roce({.adapter = {"db1", 1}, .making = 3, .mtu = 9000}))
      << "of another plan";
  start();
  EXPECT_TRUE(network_->find_port_group("a")->spec.native_roce) << "kept";

  network_->apply();
  ASSERT_TRUE(network_->change_port_group("a", {.native_roce = false}));
  EXPECT_THAT(maker_.last.roce_ports, IsEmpty());
  EXPECT_FALSE(network_->wants_roce({.adapter = {"db1", 1}, .making = 3}));
  EXPECT_EQ(network_->change_port_group("x", {.native_roce = true}).error().code,
            ApiErrorCode::kNotFound);
}

TEST_F(HostNetworkTest, SetsWhetherAPortGroupIsRouted) {
  make_lan();
  const auto routed = network_->change_port_group("a", {.routed = true});
  ASSERT_TRUE(routed);
  EXPECT_TRUE(routed->spec.routed);
  EXPECT_FALSE(routed->spec.native_roce) << "all else stays";
  ASSERT_TRUE(network_->change_port_group("a", {.native_roce = true}));
  start();
  EXPECT_TRUE(network_->find_port_group("a")->spec.routed) << "kept";
  ASSERT_TRUE(network_->change_port_group("a", {.routed = false}));
  EXPECT_FALSE(network_->find_port_group("a")->spec.routed);
}

TEST_F(HostNetworkTest, APortThatIsNotWantedAnyMoreIsClosedFirstAndWithItsReason) {
  make_lan();
  ASSERT_TRUE(network_->change_port_group("a", {.native_roce = true}));
  uses_ = {{.adapter = {"db1", 1}, .port_group = "a", .mac = kMac}};
  network_->apply();
  told_.clear();
  ASSERT_TRUE(network_->change_port_group("a", {.native_roce = false}));
  EXPECT_THAT(told_, ElementsAre("port group a has RoCE off", "db1 gone, 6 plans before",
                                 "port group a has RoCE off"));
}

TEST_F(HostNetworkTest, SaysWhyAnAdapterReachesNoNativeEndpoints) {
  make_lan();
  ASSERT_TRUE(network_->create_switch({.name = "other", .hosts = {{"h2", "eth1"}}}));
  ASSERT_TRUE(network_->create_port_group({.name = "far", .vds = "other", .native_roce = true}));
  PortUse use{.adapter = {"db1", 1}, .port_group = "", .mac = kMac};
  EXPECT_EQ(network_->why_no_roce(use), "the adapter is in no port group");
  use.port_group = "x";
  EXPECT_EQ(network_->why_no_roce(use), "port group x does not exist");
  use.port_group = "far";
  EXPECT_THAT(network_->why_no_roce(use), HasSubstr("but host h1 is not in that switch"));
  use.port_group = "a";
  EXPECT_EQ(network_->why_no_roce(use), "port group a has RoCE off");
  ASSERT_TRUE(network_->change_port_group("a", {.native_roce = true}));
  EXPECT_EQ(network_->why_no_roce(use), "");
  use.hw_version = 17;
  EXPECT_EQ(network_->why_no_roce(use), "hardware version 17 has no native endpoints");
  use.hw_version = 18;
  maker_.report.taps = {{.vm = "db1", .adapter = 1, .problem = "pvr-db1: name is taken"}};
  network_->apply();
  EXPECT_EQ(network_->why_no_roce(use), "pvr-db1: name is taken");
}

TEST_F(HostNetworkTest, BelowHardwareVersion18AnAdapterHasATapAndNoRocePort) {
  make_lan();
  ASSERT_TRUE(network_->change_port_group("a", {.native_roce = true}));
  uses_ = {{.adapter = {"old", 1}, .port_group = "a", .mac = kMac, .hw_version = 17},
           {.adapter = {"new", 1}, .port_group = "a", .mac = kMac, .hw_version = 18}};
  network_->apply();
  EXPECT_EQ(maker_.last.taps.size(), 2u);
  ASSERT_EQ(maker_.last.roce_ports.size(), 1u);
  EXPECT_EQ(maker_.last.roce_ports[0].vm, "new");
}

TEST_F(HostNetworkTest, RemembersAllOfIt) {
  make_lan();
  start();
  EXPECT_EQ(network_->find_switch("lan")->spec.hosts.at("h1"), "eth1");
  EXPECT_EQ(network_->find_port_group("a")->spec.vlan, 10u);
  network_->apply();
  EXPECT_EQ(maker_.last.switches.size(), 1u);
}

TEST_F(HostNetworkTest, DeletesNothingThatIsInUse) {
  make_lan();
  uses_ = {{.adapter = {"db1", 1}, .port_group = "a"}};
  EXPECT_THAT(network_->delete_port_group("a").error().message, HasSubstr("db1 is in port group"));
  uses_.push_back({.adapter = {"db2", 2}, .port_group = "a"});
  EXPECT_EQ(network_->delete_port_group("a").error().message, "db1, db2/2 are in port group a");
  EXPECT_THAT(network_->remove_switch_host("lan", "h1").error().message,
              HasSubstr("db1 (port group a), db2/2 (port group a) are on switch lan at host h1"));
  for (std::uint32_t i = 3; i < 12; ++i) {
    uses_.push_back({.adapter = {"x" + std::to_string(i), 1}, .port_group = "a"});
  }
  EXPECT_THAT(network_->delete_port_group("a").error().message, HasSubstr("x8 and 3 more are in"));
  EXPECT_EQ(network_->delete_switch("lan").error().code, model::ApiErrorCode::kInUse);
  EXPECT_EQ(network_->remove_switch_host("lan", "h1").error().code, model::ApiErrorCode::kInUse);
  EXPECT_TRUE(network_->delete_port_group("b"));
  uses_.clear();
  EXPECT_TRUE(network_->delete_port_group("a"));
  EXPECT_TRUE(network_->delete_switch("lan"));
}

TEST_F(HostNetworkTest, TakesNoNumberOfAnotherHostsNic) {
  ASSERT_TRUE(network_->create_switch({.name = "lan"}));
  const auto refused = network_->add_switch_host("lan", {.host = "h2", .uplink = "vmnic2"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("can be resolved on that host only"));
}

TEST_F(HostNetworkTest, GivesNoNicThatItsConfigurationDoesNot) {
  ASSERT_TRUE(network_->create_switch({.name = "lan"}));
  const auto refused = network_->add_switch_host("lan", {.host = "h1", .uplink = "eth0"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, model::ApiErrorCode::kInvalidRequest);
  EXPECT_THAT(refused.error().remedy, HasSubstr("[network] uplinks"));
  EXPECT_FALSE(network_->create_switch({.name = "dmz", .hosts = {{"h1", "eth0"}}}));
  // What another host gives, that host knows.
  EXPECT_TRUE(network_->add_switch_host("lan", {.host = "h2", .uplink = "eth0"}));
  ASSERT_TRUE(network_->add_switch_host("lan", {.host = "h1", .uplink = "eth1"}));
  EXPECT_FALSE(network_->set_switch_uplink("lan", {.host = "h1", .uplink = "eth0"}));
  EXPECT_TRUE(network_->set_switch_uplink("lan", {.host = "h1", .uplink = "eth2"}));
  EXPECT_EQ(network_->set_switch_uplink("lan", {.host = "h3"}).error().code,
            model::ApiErrorCode::kNotFound);
}

TEST_F(HostNetworkTest, AnAdapterLivesOnlyWhereItsHostIs) {
  make_lan();
  ASSERT_TRUE(network_->create_switch({.name = "far", .hosts = {{"h2", ""}}}));
  ASSERT_TRUE(network_->create_port_group({.name = "c", .vds = "far"}));
  EXPECT_TRUE(network_->check_use({.adapter = {"db1", 1}, .port_group = ""}));
  EXPECT_TRUE(network_->check_use({.adapter = {"db1", 1}, .port_group = "a"}));
  EXPECT_EQ(network_->check_use({.adapter = {"db1", 1}, .port_group = "c"}).error().code,
            model::ApiErrorCode::kInvalidRequest);
  EXPECT_EQ(network_->check_use({.adapter = {"db1", 1}, .port_group = "d"}).error().code,
            model::ApiErrorCode::kNotFound);
}

TEST_F(HostNetworkTest, TwoAdaptersNeverShareATap) {
  make_lan();
  uses_ = {{.adapter = {"db1.2", 1}, .port_group = "a"}};
  EXPECT_EQ(network_->check_use({.adapter = {"db1", 2}, .port_group = "b"}).error().code,
            model::ApiErrorCode::kExists);
  EXPECT_TRUE(network_->check_use({.adapter = {"db1.2", 1}, .port_group = "b"}));  // itself
}

TEST_F(HostNetworkTest, SegmentsAreVlansOfSwitches) {
  make_lan();
  ASSERT_TRUE(network_->create_port_group({.name = "again", .vds = "lan", .vlan = 10}));
  const auto segment_of = [this](const std::string& port_group, std::uint32_t number = 1) {
    model::AdapterSpec adapter;
    adapter.number = number;
    adapter.port_group = port_group;
    return network_->segment_of("db1", adapter);
  };
  const SegmentId a = segment_of("a");
  EXPECT_EQ(segment_of(""), SegmentId::kBuiltIn);
  EXPECT_NE(a, SegmentId::kBuiltIn);
  EXPECT_EQ(segment_of("again"), a);
  EXPECT_NE(segment_of("b"), a);
  // Of one that is not known nobody else is there.
  EXPECT_NE(segment_of("x", 1), segment_of("x", 2));
  EXPECT_NE(segment_of("x"), SegmentId::kBuiltIn);
}

std::shared_ptr<inventory::View> view_of(const model::Network& network) {
  auto view = std::make_shared<inventory::View>();
  view->documents["cluster"] = "{}";
  view->network = network;
  return view;
}

TEST_F(HostNetworkTest, FollowsTheClusterAndKeepsWhatItHad) {
  make_lan();
  const model::Network theirs{.switches = {{"dmz", {.name = "dmz", .hosts = {{"host1", "eth2"}}}}},
                              .port_groups = {{"a", {.name = "a", .vds = "dmz", .vlan = 30}}}};
  EXPECT_TRUE(network_->follow("host1", view_of(theirs)));
  EXPECT_EQ(network_->host(), "host1");
  ASSERT_EQ(maker_.last.switches.size(), 1u);
  EXPECT_EQ(maker_.last.switches[0].name, "dmz");
  const int times = maker_.times;
  EXPECT_FALSE(network_->follow("host1", view_of(theirs)));  // no news
  EXPECT_EQ(maker_.times, times);
  EXPECT_FALSE(network_->follow("host1", std::make_shared<inventory::View>()));  // an empty etcd
  EXPECT_EQ(network_->network(), theirs);
  start();
  EXPECT_EQ(network_->network(), theirs);
  EXPECT_FALSE(network_->follow("", nullptr));
  EXPECT_EQ(network_->host(), "h1");
}

TEST_F(HostNetworkTest, AHostThatLeavesItsClusterStaysInItsSwitchesUnderItsOwnName) {
  const model::Network theirs{
      .switches = {{"lan", {.name = "lan", .hosts = {{"h1", "of another"}, {"host1", "eth2"}}}}},
      .port_groups = {{"a", {.name = "a", .vds = "lan", .vlan = 30}}}};
  uses_ = {{.adapter = {"db1", 1}, .port_group = "a"}};
  network_->follow("host1", view_of(theirs));
  network_->follow("", nullptr);
  ASSERT_EQ(maker_.last.switches.size(), 1u);
  EXPECT_EQ(maker_.last.switches[0].uplink, "eth2");
  EXPECT_EQ(maker_.last.taps.size(), 1u);
  start();
  EXPECT_EQ(network_->network().switches.at("lan").hosts,
            (std::map<std::string, std::string>{{"h1", "eth2"}}));
}

TEST_F(HostNetworkTest, ADraftChangesNothing) {
  make_lan();
  const model::Network before = network_->network();
  const int times = maker_.times;
  const auto change = network_->draft(
      [](model::NetworkManagement& network) { return network.delete_port_group("a"); });
  ASSERT_TRUE(change);
  ASSERT_TRUE(*change);
  EXPECT_EQ((*change)->document, "portgroups/a");
  EXPECT_FALSE((*change)->json);
  EXPECT_EQ(network_->network(), before);
  EXPECT_EQ(maker_.times, times);
  const auto refused = network_->draft(
      [](model::NetworkManagement& network) { return network.delete_switch("lan"); });
  EXPECT_EQ(refused.error().code, model::ApiErrorCode::kInUse);
  const auto as_it_is = network_->draft([](model::NetworkManagement& network) {
    EXPECT_TRUE(network.change_port_group("a", {.native_roce = false}));
    return model::ApiResult<void>();
  });
  ASSERT_TRUE(as_it_is);
  EXPECT_FALSE(*as_it_is);
}

TEST_F(HostNetworkTest, WhatAnotherHostUsesStays) {
  make_lan();
  auto view = view_of(network_->network());
  view->network.switches.at("lan").hosts["h2"] = "";
  view->hosts["h2"].adapters[{.vm = "db1", .number = 2}] = {.mac = {}, .port_group = "a"};
  EXPECT_TRUE(network_->follow("h1", view));
  EXPECT_THAT(network_->delete_port_group("a").error().message, HasSubstr("db1/2 of host h2"));
  EXPECT_THAT(network_->remove_switch_host("lan", "h2").error().message,
              HasSubstr("db1/2 (port group a) is on switch lan at host h2"));
  EXPECT_TRUE(network_->delete_port_group("b"));
}

TEST_F(HostNetworkTest, AQuestionMakesNothing) {
  make_lan();
  const int times = maker_.times;
  ASSERT_TRUE(network_->list_switches());
  ASSERT_TRUE(network_->find_switch("lan"));
  EXPECT_EQ(maker_.times, times);
  maker_.report.mended = {{.vds = "lan", .interface = "pvs-lan", .text = "it was down"}};
  EXPECT_EQ(network_->repair_switches()->mended, maker_.report.mended);
  EXPECT_EQ(maker_.times, times + 1);
}

TEST_F(HostNetworkTest, HearsHowItsSwitchesAreWithoutAsking) {
  make_lan();
  const privsep::SwitchReport report{.switches = {{.name = "lan", .problems = {"eth1: gone"}}}};
  const std::vector<model::MendedLink> mended = {
      {.vds = "lan", .interface = "pvs-lan", .text = "it was down"}};
  network_->on_news({.mended = mended, .report = report});
  EXPECT_THAT(network_->find_switch("lan")->problems, ElementsAre("eth1: gone"));
  EXPECT_THAT(network_->metrics(),
              ElementsAre(metrics::SwitchMetrics{.name = "lan", .mended = 1, .problems = 1}));
  // Of a plan that another has taken the place of: what was done counts, how it was does not.
  network_->on_news({.mended = mended, .report = {}});
  EXPECT_THAT(network_->metrics(),
              ElementsAre(metrics::SwitchMetrics{.name = "lan", .mended = 2, .problems = 1}));
}

TEST_F(HostNetworkTest, WhatIsDamagedHereComesFromTheCluster) {
  make_lan();
  ASSERT_TRUE(network_->create_switch({.name = "gone"}));
  auto shared = network_->network();
  shared.switches.erase("gone");
  for (const char* name : {"lan", "gone"}) {
    DamagedRows(dir_ / "paravane.db").write("vds", "spec", name, "{");
  }
  start();
  EXPECT_EQ(network_->network(), model::Network{});
  EXPECT_EQ(store_->left_out().size(), 4U);
  EXPECT_FALSE(network_->follow("h1", nullptr));  // nothing is known of it yet
  EXPECT_EQ(store_->left_out().size(), 4U);
  EXPECT_TRUE(network_->follow("h1", view_of(shared)));
  EXPECT_EQ(network_->network(), shared);
  EXPECT_THAT(store_->left_out(), IsEmpty());
  start();
  EXPECT_EQ(network_->network(), shared);
  EXPECT_THAT(store_->left_out(), IsEmpty());
}

TEST_F(HostNetworkTest, ShowsWhatCouldNotBeMade) {
  make_lan();
  uses_ = {{.adapter = {"db1", 1}, .port_group = "a"}};
  maker_.report = {.switches = {{.name = "lan",
                                 .form = model::SwitchForm::kPlain,
                                 .bridges = {"pvs-lan"},
                                 .problems = {"eth1: no such NIC"}}},
                   .taps = {{.vm = "db1",
                             .adapter = 1,
                             .problem = "pv-db1: x",
                             .fault = model::LinkFault::kForeign}}};
  network_->apply();
  const auto list = network_->list_switches();
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ((*list)[0].host, "h1");
  EXPECT_EQ((*list)[0].form, model::SwitchForm::kPlain);
  EXPECT_THAT((*list)[0].port_groups, ElementsAre("a", "b"));
  EXPECT_THAT((*list)[0].problems, ElementsAre("eth1: no such NIC"));
  EXPECT_EQ(network_->tap_problem(uses_[0]).text, "pv-db1: x");
  EXPECT_EQ(network_->tap_problem(uses_[0]).fault, model::LinkFault::kForeign);
  EXPECT_EQ(network_->tap_problem({.adapter = {"db2", 1}, .port_group = "a"}).text, "");
  EXPECT_THAT(network_->find_port_group("a")->adapters, ElementsAre("db1"));
  maker_.report = {.problem = "cannot create a bridge: Operation not permitted"};
  network_->apply();
  EXPECT_THAT(network_->find_switch("lan")->problems, ElementsAre(HasSubstr("not permitted")));
  EXPECT_THAT(network_->tap_problem(uses_[0]).text, HasSubstr("not permitted"));
}

TEST_F(HostNetworkTest, PlansAnIpoibUplinkThatASwitchOfThisHostHas) {
  make_lan();
  ipoib_ = {{.name = "vmnic32", .making = 4}, {.name = "vmnic33", .making = 1}};
  ASSERT_TRUE(network_->apply().empty());
  EXPECT_THAT(maker_.last.ipoib_uplinks, IsEmpty());
  EXPECT_EQ(network_->switch_of_uplink("vmnic32"), "");
  ASSERT_TRUE(network_->set_switch_uplink("lan", {.host = "h1", .uplink = "vmnic32"}));
  EXPECT_EQ(maker_.last.switches[0].uplink, "vmnic32");
  EXPECT_THAT(maker_.last.ipoib_uplinks,
              ElementsAre(privsep::SwitchPlan::IpoibUplink{.name = "vmnic32", .making = 4}));
  EXPECT_EQ(network_->switch_of_uplink("vmnic32"), "lan");
  const auto refused = network_->set_switch_uplink("lan", {.host = "h1", .uplink = "vmnic33"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "vmnic33 may not be used by switches on this host");
  EXPECT_EQ(refused.error().remedy,
            "Add vmnic33 to [network] uplinks in paravaned.toml, and restart the daemon.");
}

TEST_F(HostNetworkTest, PlansATeamOfUplinksAndKeepsIt) {
  make_lan();
  ipoib_ = {{.name = "vmnic32", .making = 4}};
  ASSERT_TRUE(network_->set_switch_uplink(
      "lan", {.host = "h1", .uplink = "eth2", .standby = {"vmnic32", "eth1"}}));
  start();
  network_->apply();
  EXPECT_EQ(maker_.last.switches[0].uplink, "eth2");
  EXPECT_THAT(maker_.last.switches[0].standby, ElementsAre("vmnic32", "eth1"));
  EXPECT_EQ(maker_.last.ipoib_uplinks.size(), 1u);
  EXPECT_EQ(network_->switch_of_uplink("vmnic32"), "lan");
  const auto refused =
      network_->set_switch_uplink("lan", {.host = "h1", .uplink = "eth1", .standby = {"eth9"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "eth9 may not be used by switches on this host");
  ASSERT_TRUE(network_->create_switch({.name = "dmz"}));
  const auto taken = network_->add_switch_host("dmz", {.host = "h1", .uplink = "eth1"});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ApiErrorCode::kInUse);
  maker_.report.switches = {{.name = "lan", .active = "eth1"}};
  network_->apply();
  EXPECT_EQ(network_->find_switch("lan")->active, "eth1");
  ASSERT_TRUE(network_->set_switch_uplink("lan", {.host = "h1", .uplink = "eth1"}));
  EXPECT_THAT(maker_.last.switches[0].standby, IsEmpty());
}

TEST_F(HostNetworkTest, TakesTheTapsOfItsLastPlanOnly) {
  make_lan();
  ipoib_ = {{.name = "vmnic32", .making = 4}};
  ASSERT_TRUE(network_->set_switch_uplink("lan", {.host = "h1", .uplink = "vmnic32"}));
  const privsep::UplinkNote tap{.uplink = "vmnic32", .vlan = 10, .making = 4, .mtu = 1500};
  EXPECT_TRUE(network_->wants_uplink(tap));
  for (const auto& change :
       {std::function<void(privsep::UplinkNote&)>([](auto& note) { note.uplink = "vmnic33"; }),
        {[](auto& note) { note.vlan = 20; }},
        {[](auto& note) { note.making = 3; }},
        {[](auto& note) { note.mtu = 9000; }}}) {
    privsep::UplinkNote other = tap;
    change(other);
    EXPECT_FALSE(network_->wants_uplink(other)) << print(other);
  }
  const privsep::UplinkNote all{.uplink = "vmnic32", .tagged = true, .making = 4, .mtu = 1500};
  EXPECT_TRUE(network_->wants_uplink(all));
}

TEST_F(HostNetworkTest, ClosesTapsBeforeThePlanThatHasThemOtherwise) {
  make_lan();
  ipoib_ = {{.name = "vmnic32", .making = 4}};
  ASSERT_TRUE(network_->set_switch_uplink("lan", {.host = "h1", .uplink = "vmnic32"}));
  network_->apply();
  EXPECT_THAT(gone_, IsEmpty());
  ASSERT_TRUE(network_->create_port_group({.name = "c", .vds = "lan", .vlan = 20}));
  EXPECT_THAT(gone_, IsEmpty());  // the others' frames go on
  ASSERT_TRUE(network_->delete_port_group("a"));
  ASSERT_TRUE(network_->set_switch_mtu("lan", 2044));
  ++ipoib_[0].making;
  network_->apply();
  ASSERT_TRUE(network_->set_switch_uplink("lan", {.host = "h1"}));
  EXPECT_THAT(gone_, ElementsAre("vmnic32 10, 7 plans before", "vmnic32, 8 plans before",
                                 "vmnic32, 9 plans before", "vmnic32, 10 plans before"));
  EXPECT_FALSE(
      network_->wants_uplink({.uplink = "vmnic32", .tagged = true, .making = 5, .mtu = 2044}));
}

// In a cluster both changes may come at once: between the plans the keeper could not open the tap.
TEST_F(HostNetworkTest, ClosesTheTapsOfAnUplinkThatMovesToAnotherSwitch) {
  make_lan();
  ASSERT_TRUE(network_->create_switch({.name = "wan"}));
  ASSERT_TRUE(network_->create_port_group({.name = "c", .vds = "wan", .vlan = 10}));
  ASSERT_TRUE(network_->create_port_group({.name = "d", .vds = "wan"}));
  ipoib_ = {{.name = "vmnic32", .making = 4}};
  const auto follow = [this](const std::string& lan, const std::string& wan) {
    auto view = view_of(network_->network());
    view->network.switches.at("lan").hosts["h1"] = lan;
    view->network.switches.at("wan").hosts["h1"] = wan;
    EXPECT_TRUE(network_->follow("h1", view));
    network_->apply();
  };
  follow("vmnic32", "");
  EXPECT_THAT(gone_, IsEmpty());
  follow("", "vmnic32");
  EXPECT_THAT(gone_, ElementsAre(HasSubstr("vmnic32, ")));
}

TEST_F(HostNetworkTest, ADraftClosesNothing) {
  make_lan();
  ipoib_ = {{.name = "vmnic32", .making = 4}};
  ASSERT_TRUE(network_->set_switch_uplink("lan", {.host = "h1", .uplink = "vmnic32"}));
  ASSERT_TRUE(network_->draft([](model::NetworkManagement& draft) -> model::ApiResult<void> {
    if (auto set = draft.set_switch_uplink("lan", {.host = "h1"}); !set)
      return std::unexpected(set.error());
    return {};
  }));
  EXPECT_THAT(gone_, IsEmpty());
}

// Another host's are called so on each host, unlike its NICs.
TEST_F(HostNetworkTest, TheIpoibUplinkOfAnotherHostIsTakenAsItIs) {
  make_lan();
  EXPECT_TRUE(network_->add_switch_host("lan", {.host = "h2", .uplink = "vmnic40"}));
  EXPECT_FALSE(network_->add_switch_host("lan", {.host = "h3", .uplink = "vmnic4"}));
}

}  // namespace
}  // namespace paravane::host
