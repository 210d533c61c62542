// The driver modules of a host, and what their options make.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "subnet_host/host_infiniband.h"
#include "testing/temp_dir.h"

namespace paravane::subnet_host {
namespace {

using model::ApiErrorCode;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class HostInfinibandModulesTest : public testing::Test {
 protected:
  HostInfinibandModulesTest() { begin_anew(); }

  void begin_anew() {
    infiniband_.reset();
    store_.reset();
    auto store = store::Store::open(dir_ / "paravane.db");
    ASSERT_TRUE(store);
    store_ = std::move(*store);
    infiniband_ = std::make_unique<HostInfiniband>(
        HostInfinibandConfig{.host = "h1",
                             .address_seed = "seed",
                             .umad_socket = dir_ / "umad.sock",
                             .umad_access = {.mode = 0600, .group = {}},
                             .tell =
                                 [this](const model::Event& event) {
                                   events_.push_back(event.type + ": " + event.text);
                                 },
                             .use_of =
                                 [this](const std::string& uplink) {
                                   return HostInfinibandConfig::Use{.vds = uplink == used_ ? "lan"
                                                                                           : ""};
                                 }},
        *store_);
    ASSERT_TRUE(infiniband_->load());
    infiniband_->begin(/*follows=*/false);
  }
  void add(const std::string& name, std::uint32_t bus, std::string device = "MT26428") {
    ASSERT_TRUE(
        infiniband_->add_ib_adapter({.name = name, .device = std::move(device), .bus = bus}));
  }
  std::string set(const std::string& module, std::string options) {
    const auto changed = infiniband_->change_ib_module(module, {.options = std::move(options)});
    return changed ? "taken" : changed.error().message;
  }
  model::IbModuleStatus module_named(const std::string& name) {
    const auto modules = infiniband_->list_ib_modules();
    EXPECT_TRUE(modules);
    const auto found = std::ranges::find(*modules, name, &model::IbModuleStatus::name);
    EXPECT_NE(found, modules->end());
    return found == modules->end() ? model::IbModuleStatus{} : *found;
  }
  void restart() { ASSERT_TRUE(infiniband_->restart_infiniband()); }
  std::vector<std::uint32_t> ports_of_uplinks() {
    std::vector<std::uint32_t> ports;
    const auto uplinks = infiniband_->list_ib_uplinks();
    EXPECT_TRUE(uplinks);
    for (const model::IbUplink& uplink : *uplinks) ports.push_back(uplink.port);
    return ports;
  }
  std::string net_queue_of(const std::string& uplink) const {
    std::ifstream file(dir_ / "net" / "ipoib" / uplink / "NetQueue");
    std::string line;
    std::getline(file, line);
    return line;
  }

  TempDir dir_;
  std::string used_;  // the uplink of switch lan
  std::vector<std::string> events_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<HostInfiniband> infiniband_;
};

TEST_F(HostInfinibandModulesTest, AllAreLoadedAtFirst) {
  const auto modules = infiniband_->list_ib_modules();
  ASSERT_TRUE(modules);
  ASSERT_THAT(*modules, SizeIs(5));
  for (const model::IbModuleStatus& status : *modules) {
    EXPECT_TRUE(status.is_loaded) << status.name;
    EXPECT_THAT(status.problems, IsEmpty());
  }
  add("mlx4_0", 13);
  EXPECT_EQ(module_named("mlx4_en").summary, "mlx4_0: ib ib");
  EXPECT_EQ(module_named("ib_ipoib").summary, "2 uplinks");
}

TEST_F(HostInfinibandModulesTest, OptionsTakeEffectWithARestartAndStay) {
  add("mlx4_0", 13);
  EXPECT_EQ(set("ib_ipoib", "UplinkNum=4,6"), "taken");
  EXPECT_THAT(events_, Contains(HasSubstr("module ib_ipoib was set: enabled, options "
                                          "'UplinkNum=4,6'")));
  EXPECT_THAT(infiniband_->uplinks(), SizeIs(2));
  EXPECT_EQ(module_named("ib_ipoib").in_effect.options, "");
  restart();
  EXPECT_THAT(ports_of_uplinks(), ElementsAre(1, 1, 1, 1, 2, 2, 2, 2, 2, 2));
  const std::vector<std::string> names = infiniband_->uplinks();
  EXPECT_EQ(names.front(), "vmnic32");
  EXPECT_EQ(names[4], "vmnic33") << "a port's first keeps its number";
  begin_anew();
  EXPECT_EQ(infiniband_->uplinks(), names);
  EXPECT_EQ(module_named("ib_ipoib").in_effect.options, "UplinkNum=4,6");
  EXPECT_EQ(set("ib_ipoib", ""), "taken");
  restart();
  EXPECT_THAT(infiniband_->uplinks(), ElementsAre("vmnic32", "vmnic33"));
}

// Taken, as the guide's order of steps may have it so, and not without a word.
TEST_F(HostInfinibandModulesTest, AChangeThatTakesASwitchsUplinkAwaySaysSo) {
  add("mlx4_0", 13);
  used_ = "vmnic33";
  const auto warnings = [this](const std::string& module, const model::IbModuleChange& change) {
    const auto changed = infiniband_->change_ib_module(module, change);
    return changed ? changed->warnings : std::vector<std::string>{changed.error().message};
  };
  EXPECT_THAT(warnings("mlx4_en", {.options = "port_types=13,1,2,13,2,2"}),
              ElementsAre("the restart takes vmnic33, which mlx4_0 makes of its port 2, away from "
                          "switch lan. Give the switch another uplink first: paravane vds uplink "
                          "lan NIC --host h1 (in a cluster: on the authority's host)"));
  EXPECT_THAT(module_named("mlx4_en").warnings, SizeIs(1));
  EXPECT_THAT(warnings("mlx4_en", {.options = "port_types=13,1,1,13,2,1"}), IsEmpty());
  EXPECT_THAT(warnings("ib_ipoib", {.is_enabled = false}), SizeIs(1));
  EXPECT_THAT(warnings("ib_ipoib", {.is_enabled = true}), IsEmpty());
  EXPECT_THAT(warnings("ib_ipoib", {.options = "UplinkNum=4"}), IsEmpty());
  EXPECT_THAT(warnings("ib_srp", {.is_enabled = false}), IsEmpty());
  used_ = "";
  EXPECT_THAT(warnings("ib_basic", {.is_enabled = false}), IsEmpty());
}

TEST_F(HostInfinibandModulesTest, APortHasEightUplinksAndAHostSixteen) {
  add("mlx4_0", 13);
  EXPECT_EQ(set("ib_ipoib", "UplinkNum=9,16"), "taken");
  restart();
  EXPECT_THAT(infiniband_->uplinks(), SizeIs(16));
  const auto problems = module_named("ib_ipoib").problems;
  EXPECT_THAT(problems, ElementsAre("mlx4_0 port 1: 8 of the 9 uplinks that are set are made: a "
                                    "port has at most 8",
                                    "mlx4_0 port 2: 8 of the 16 uplinks that are set are made: a "
                                    "port has at most 8"));
  add("mlx4_1", 14);
  EXPECT_THAT(infiniband_->uplinks(), SizeIs(16));
  EXPECT_THAT(module_named("ib_ipoib").problems,
              Contains("16 of the 18 uplinks of this host are made: a host has at most 16"));
}

TEST_F(HostInfinibandModulesTest, AWrongWordChangesNothing) {
  add("mlx4_0", 13);
  ASSERT_EQ(set("ib_ipoib", "ipoib_uplink_num=2"), "taken");
  EXPECT_THAT(set("ib_ipoib", "NetQueue=1 ipoib_uplink_nun=3"), HasSubstr("ipoib_uplink_num?"));
  EXPECT_THAT(set("ib_ipoib", "ipoib_uplink_num=1,2,3"), HasSubstr("3 numbers"));
  EXPECT_THAT(set("mlx4_en", "port_types=14,1,1"), HasSubstr("PCI bus 14"));
  EXPECT_THAT(set("mlx4_en", "port_types=13,1,2"), HasSubstr("is not allowed"));
  EXPECT_EQ(module_named("ib_ipoib").setting.options, "ipoib_uplink_num=2");
  EXPECT_EQ(module_named("mlx4_en").setting.options, "");
  const auto unknown = infiniband_->change_ib_module("ib_ipob", {.is_enabled = false});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ApiErrorCode::kNotFound);
  const auto kernel = infiniband_->change_ib_module("vmkernel", {.is_enabled = false});
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code, ApiErrorCode::kInvalidRequest);
  // A wrong half takes the other with it.
  EXPECT_FALSE(infiniband_->change_ib_module("ib_ipoib", {.is_enabled = false, .options = "x"}));
  EXPECT_TRUE(module_named("ib_ipoib").setting.is_enabled);
  begin_anew();
  EXPECT_EQ(module_named("ib_ipoib").setting.options, "ipoib_uplink_num=2");
}

TEST_F(HostInfinibandModulesTest, WithoutWhatItNeedsAModuleDoesNotLoad) {
  add("mlx4_0", 13);
  ASSERT_TRUE(infiniband_->change_ib_module("ib_basic", {.is_enabled = false}));
  EXPECT_TRUE(module_named("ib_ipoib").is_loaded) << "until the restart";
  restart();
  EXPECT_THAT(infiniband_->uplinks(), IsEmpty());
  const model::IbModuleStatus ipoib = module_named("ib_ipoib");
  EXPECT_FALSE(ipoib.is_loaded);
  EXPECT_TRUE(ipoib.in_effect.is_enabled);
  ASSERT_THAT(ipoib.problems, SizeIs(1));
  EXPECT_THAT(ipoib.problems[0], HasSubstr("module ib_basic is not loaded, which ib_ipoib needs"));
  ASSERT_TRUE(infiniband_->change_ib_module("ib_basic", {.is_enabled = true}));
  restart();
  EXPECT_THAT(infiniband_->uplinks(), ElementsAre("vmnic32", "vmnic33"));
}

TEST_F(HostInfinibandModulesTest, ADisabledIpoibMakesNoUplinks) {
  add("mlx4_0", 13);
  ASSERT_TRUE(infiniband_->change_ib_module("ib_ipoib", {.is_enabled = false}));
  restart();
  EXPECT_THAT(infiniband_->uplinks(), IsEmpty());
  EXPECT_EQ(net_queue_of("vmnic32"), "");
  const auto adapters = infiniband_->list_ib_adapters();
  ASSERT_TRUE(adapters);
  EXPECT_THAT(adapters->front().ports, SizeIs(2)) << "the ports stay";
}

TEST_F(HostInfinibandModulesTest, AnEthernetPortHasNoLinkAndNoUplink) {
  ASSERT_TRUE(infiniband_->add_ib_adapter(
      {.name = "mlx4_0", .device = "MT26428", .bus = 13, .ethernet = {{2, "eth1"}}}));
  ASSERT_EQ(set("mlx4_en", "port_types=13,1,1,13,2,2"), "taken");
  EXPECT_EQ(infiniband_->nic_of_port("vmnic13.p2"), "") << "until the restart";
  restart();
  EXPECT_THAT(infiniband_->uplinks(), ElementsAre("vmnic32"));
  const auto adapters = infiniband_->list_ib_adapters();
  ASSERT_TRUE(adapters);
  const model::IbPort& port = adapters->front().ports.at(1);
  EXPECT_EQ(port.type, model::IbPortType::kEthernet);
  EXPECT_EQ(port.nic, "eth1");
  EXPECT_EQ(port.problem, "");
  const auto fabric = infiniband_->ib_fabric();
  ASSERT_TRUE(fabric);
  ASSERT_THAT(fabric->links, SizeIs(1));
  EXPECT_EQ(fabric->links[0].peer, "mlx4_0 port 1");
  EXPECT_EQ(module_named("mlx4_en").summary, "mlx4_0: ib eth");
  EXPECT_EQ(infiniband_->nic_of_port("vmnic13.p2"), "eth1");
  for (const char* other : {"vmnic13.p1", "vmnic14.p2", "eth1", ""})
    EXPECT_EQ(infiniband_->nic_of_port(other), "") << other;
  ASSERT_EQ(set("mlx4_en", "port_type_default=2"), "taken");
  restart();
  EXPECT_THAT(infiniband_->uplinks(), IsEmpty());
  EXPECT_THAT(infiniband_->list_ib_adapters()->front().ports.at(0).problem,
              HasSubstr("--ethernet 1=NIC"));
}

TEST_F(HostInfinibandModulesTest, ListsOfNumbersSkipEthernetPorts) {
  add("mlx4_0", 13);
  add("mlx4_1", 14);
  ASSERT_EQ(set("mlx4_en", "port_types=13,2,2"), "taken");
  ASSERT_EQ(set("ib_ipoib", "UplinkNum=1,2,3"), "taken");
  restart();
  EXPECT_THAT(ports_of_uplinks(), ElementsAre(1, 1, 1, 2, 2, 2));
}

TEST_F(HostInfinibandModulesTest, AnAdapterWithoutVpiIsToldAtEachStart) {
  add("old", 3, "MT25204");
  ASSERT_EQ(set("mlx4_en", "port_type_default=2"), "taken");
  restart();
  EXPECT_THAT(infiniband_->uplinks(), ElementsAre("vmnic32"));
  const std::string told =
      "infiniband.port_types: adapter old (MT25204) is not capable of VPI: its ports start as "
      "InfiniBand, not as the options of module mlx4_en say";
  EXPECT_THAT(events_, Contains(told));
  EXPECT_THAT(module_named("mlx4_en").problems, ElementsAre(HasSubstr("not capable of VPI")));
  events_.clear();
  begin_anew();
  EXPECT_THAT(events_, Contains(told));
  events_.clear();
  add("other", 4, "MT25408");
  EXPECT_THAT(events_, Contains(HasSubstr("adapter other (MT25408) is not capable of VPI")));
  EXPECT_THAT(events_, Not(Contains(told)));
}

TEST_F(HostInfinibandModulesTest, TripletsOfAnAdapterThatIsGoneAreNamed) {
  add("mlx4_0", 13);
  add("mlx4_1", 14);
  ASSERT_EQ(set("mlx4_en", "port_types=14,2,2"), "taken");
  restart();
  ASSERT_TRUE(infiniband_->remove_ib_adapter("mlx4_1"));
  EXPECT_THAT(module_named("mlx4_en").problems,
              ElementsAre("port_types: PCI bus 14 has no InfiniBand adapter any more"));
}

TEST_F(HostInfinibandModulesTest, NetQueueIsOfConnectxAndNeedsAllThree) {
  add("mlx4_0", 13);
  add("old", 14, "MT25204");
  EXPECT_EQ(net_queue_of("vmnic32"), "1");
  EXPECT_EQ(net_queue_of("vmnic34"), "0") << "InfiniHost III";
  EXPECT_TRUE(infiniband_->list_ib_uplinks()->front().has_net_queue);
  const auto with = [this](const std::string& module, const std::string& options) {
    EXPECT_EQ(set(module, options), "taken");
    restart();
    std::string shown = net_queue_of("vmnic32") + net_queue_of("vmnic33");
    EXPECT_EQ(set(module, ""), "taken");
    return shown;
  };
  EXPECT_EQ(with("ib_ipoib", "NetQueue=1,0"), "10");
  EXPECT_EQ(with("ib_basic", "--export-ksyms=linux mlx4_msi_x=0"), "00");
  EXPECT_EQ(with("vmkernel", "netNetqueueEnabled=FALSE"), "00");
  EXPECT_EQ(with("ib_ipoib", "NetQueue=1,1"), "11");
  ASSERT_TRUE(infiniband_->remove_ib_adapter("old"));
  EXPECT_EQ(net_queue_of("vmnic34"), "") << "it went with its uplink";
}

TEST_F(HostInfinibandModulesTest, ADamagedDocumentIsLeftOut) {
  ASSERT_EQ(set("ib_ipoib", "ipoib_uplink_num=2"), "taken");
  for (const nlohmann::json& bad :
       {nlohmann::json{{"enabled", true}},
        nlohmann::json{{"enabled", true}, {"options", "ipoib_uplink_num=99"}}}) {
    ASSERT_TRUE(store_->put_document("ib_module", "ib_ipoib", bad));
    begin_anew();
    EXPECT_EQ(module_named("ib_ipoib").setting.options, "");
    ASSERT_THAT(store_->left_out(), SizeIs(1));
    EXPECT_EQ(store_->left_out()[0].kind, "InfiniBand module");
    EXPECT_THAT(store_->left_out()[0].remedy, HasSubstr("paravane infiniband module set ib_ipoib"));
  }
  ASSERT_EQ(set("ib_ipoib", ""), "taken");
  begin_anew();
  EXPECT_THAT(store_->left_out(), IsEmpty());
}

}  // namespace
}  // namespace paravane::subnet_host
