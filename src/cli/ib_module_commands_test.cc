// The commands about driver modules, under all of their names, with a daemon that keeps what it is
// told.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/api_handler.h"
#include "cli/command_line.h"
#include "cli/ib_nics.h"
#include "http/http_door.h"
#include "json/json_text.h"
#include "testing/bound_socket.h"
#include "testing/fake_management.h"
#include "testing/temp_dir.h"

namespace paravane::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class IbModuleCommandsTest : public testing::Test {
 protected:
  IbModuleCommandsTest() {
    UniqueFd listener = bound_socket(socket_);
    EXPECT_EQ(::fcntl(listener.get(), F_SETFL, O_NONBLOCK), 0);
    EXPECT_EQ(::listen(listener.get(), 8), 0);
    door_ = *http::HttpDoor::open({.name = "door"}, std::move(listener), handler_);
    management_.ib_modules = {{.name = "vmkernel"},
                              {.name = "mlx4_en"},
                              {.name = "ib_basic"},
                              {.name = "ib_ipoib", .summary = "2 uplinks"},
                              {.name = "ib_srp"}};
  }

  ExitStatus run_as(std::string_view program, std::vector<const char*> words,
                    const std::string& input = {}) {
    words.insert(words.begin(), {"--socket", socket_.c_str()});
    std::istringstream typed(input);
    std::streambuf* before = std::cin.rdbuf(typed.rdbuf());
    std::cin.clear();
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const ExitStatus status = run_command_line(words, program);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    std::cin.rdbuf(before);
    return status;
  }
  ExitStatus run(std::vector<const char*> words) {
    words.insert(words.begin(), "infiniband");
    return run_as(kParavane, std::move(words));
  }
  const model::IbModuleSetting& setting(std::string_view name) {
    return std::ranges::find(management_.ib_modules, name, &model::IbModuleStatus::name)->setting;
  }
  void add_adapter(const std::string& name, std::uint32_t bus, std::string device = "MT26428") {
    ASSERT_TRUE(
        management_.add_ib_adapter({.name = name, .device = std::move(device), .bus = bus}));
  }

  TempDir directory_;
  std::string socket_ = (directory_ / "api.sock").string();
  FakeManagement management_;
  api::ApiHandler handler_{management_};
  std::unique_ptr<http::HttpDoor> door_;
  std::string out_;
  std::string err_;
};

TEST_F(IbModuleCommandsTest, ModulesAreListedSetAndShown) {
  EXPECT_EQ(run({"module", "set", "ib_ipoib", "NetQueue=1", "UplinkNum=4,6"}), ExitStatus::kOk);
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_THAT(err_, HasSubstr("paravane infiniband restart"));
  EXPECT_EQ(setting("ib_ipoib").options, "NetQueue=1 UplinkNum=4,6");
  EXPECT_EQ(run({"module", "get", "ib_ipoib"}), ExitStatus::kOk);
  EXPECT_EQ(out_, "ib_ipoib enabled = 1 options = 'NetQueue=1 UplinkNum=4,6'\n");
  EXPECT_EQ(run({"module", "disable", "ib_ipoib"}), ExitStatus::kOk);
  EXPECT_FALSE(setting("ib_ipoib").is_enabled);
  EXPECT_EQ(setting("ib_ipoib").options, "NetQueue=1 UplinkNum=4,6");
  EXPECT_EQ(run({"module", "list", "--formatter=csv"}), ExitStatus::kOk);
  EXPECT_THAT(out_, AllOf(StartsWith("Module,Enabled,Loaded,Options,Problem\n"),
                          HasSubstr("\nib_ipoib,false,true,\"NetQueue=1 UplinkNum=4,6\",")));
  EXPECT_EQ(run({"module", "enable", "ib_ipoib"}), ExitStatus::kOk);
  EXPECT_EQ(run({"module", "set", "ib_ipoib"}), ExitStatus::kOk);
  EXPECT_EQ(setting("ib_ipoib"), model::IbModuleSetting());
  EXPECT_THAT(err_, IsEmpty()) << "it is what is in effect";
  EXPECT_EQ(run({"module", "get", "ib_ipoib", "--json"}), ExitStatus::kOk);
  EXPECT_EQ(parse_json(out_)->at("name"), "ib_ipoib");
  EXPECT_EQ(run({"module", "get", "ib_ipob"}), ExitStatus::kFailed);
  EXPECT_THAT(err_, HasSubstr("do you mean ib_ipoib?"));
}

TEST_F(IbModuleCommandsTest, WhatARestartTakesAwayIsSaidWithTheChange) {
  management_.ib_modules[3].warnings = {"the restart takes vmnic32 away from switch lan"};
  EXPECT_EQ(run({"module", "disable", "ib_ipoib"}), ExitStatus::kOk);
  EXPECT_EQ(err_,
            "paravane: the change takes effect with: paravane infiniband restart\n"
            "paravane: warning: the restart takes vmnic32 away from switch lan\n");
  EXPECT_EQ(run({"module", "list", "--formatter=csv"}), ExitStatus::kOk);
  EXPECT_THAT(out_, HasSubstr("; the restart takes vmnic32 away from switch lan\n"));
}

TEST_F(IbModuleCommandsTest, ParametersAreListedWithWhatIsSet) {
  ASSERT_EQ(run({"module", "set", "ib_ipoib", "UplinkNum=4,6"}), ExitStatus::kOk);
  EXPECT_EQ(run({"module", "parameters", "ib_ipoib", "--formatter=csv"}), ExitStatus::kOk);
  EXPECT_THAT(out_, AllOf(StartsWith("Name,Type,Values,Default,Set,Description\n"),
                          HasSubstr("\nipoib_uplink_num,array of int,1-16,1,\"4,6\",")));
  EXPECT_EQ(run({"module", "parameters", "ib_ipoib", "--formatter=json"}), ExitStatus::kOk);
  const auto first = parse_json(out_)->at(0);
  EXPECT_EQ(first.at("name"), "ipoib_uplink_num");
  EXPECT_EQ(first.at("set"), "4,6");
  for (const char* key : {"type", "values", "default", "description"})
    EXPECT_TRUE(first.contains(key)) << key;
  EXPECT_EQ(run({"module", "parameters", "ib"}), ExitStatus::kFailed);
}

TEST_F(IbModuleCommandsTest, TheStatusNamesTheSubnetManager) {
  EXPECT_EQ(run({"status", "--formatter=csv"}), ExitStatus::kOk);
  EXPECT_THAT(out_, AllOf(HasSubstr("ib_ipoib,loaded,2 uplinks,"),
                          HasSubstr("SM,none,,this host has no InfiniBand adapter")));
  add_adapter("mlx4_0", 13);
  EXPECT_EQ(run({"status", "--formatter=csv"}), ExitStatus::kOk);
  EXPECT_THAT(out_, HasSubstr("SM,none,,no subnet manager\n"));
  auto& ports = management_.ib_adapters.at("mlx4_0").ports;
  ports[1].sm_lid = 7;
  EXPECT_EQ(run({"status", "--formatter=csv"}), ExitStatus::kOk);
  EXPECT_THAT(out_, HasSubstr("SM,master,LID 7,\n")) << "of another host";
  ports[0].lid = 7;
  EXPECT_EQ(run({"status", "--formatter=csv"}), ExitStatus::kOk);
  EXPECT_THAT(out_, AllOf(HasSubstr("SM,ended,\"LID 7, 0x"), HasSubstr("Start opensm again")));
  ports[0].is_sm = true;
  EXPECT_EQ(run_as(kMgmtMlx, {"status", "--formatter=csv"}), ExitStatus::kOk);
  EXPECT_THAT(out_, HasSubstr("\"LID 7, 0x"));
  management_.ib_modules[3].in_effect.is_enabled = false;
  management_.ib_modules[4].is_loaded = false;
  management_.ib_modules[4].problems = {"it lacks another"};
  EXPECT_EQ(run({"status", "--formatter=csv"}), ExitStatus::kOk);
  EXPECT_THAT(out_, AllOf(HasSubstr("ib_ipoib,disabled,2 uplinks,it was changed: apply it with"),
                          HasSubstr("ib_srp,not loaded,,it lacks another\n")));
  EXPECT_EQ(run({"status", "--formatter=json"}), ExitStatus::kOk);
  const auto last = parse_json(out_)->back();
  EXPECT_EQ(last.at("module"), "SM");
  EXPECT_EQ(last.at("state"), "master");
  EXPECT_EQ(last.at("problem"), "");
  EXPECT_TRUE(last.contains("detail"));
}

TEST_F(IbModuleCommandsTest, MgmtMlxWithoutWordsShowsItsHelp) {
  EXPECT_EQ(run_as(kMgmtMlx, {}), ExitStatus::kUsage);
  EXPECT_THAT(out_, HasSubstr("mgmt-mlx status"));
  EXPECT_EQ(run_as(kMgmtMlx, {"restart"}), ExitStatus::kOk);
  EXPECT_EQ(management_.ib_restarts, 1u);
}

TEST_F(IbModuleCommandsTest, EsxcfgModuleTakesBothOrdersOfWords) {
  for (const std::string_view program : {kEsxcfgModule, kVicfgModule}) {
    EXPECT_EQ(run_as(program, {"-s", "port_type_default=1", "mlx4_en"}), ExitStatus::kOk);
    EXPECT_EQ(setting("mlx4_en").options, "port_type_default=1");
    EXPECT_EQ(run_as(program, {"mlx4_en", "-s", "port_types=13,1,1,13,2,2"}), ExitStatus::kOk);
    EXPECT_EQ(setting("mlx4_en").options, "port_types=13,1,1,13,2,2");
    EXPECT_EQ(run_as(program, {"ib_ipoib", "-d"}), ExitStatus::kOk);
    EXPECT_FALSE(setting("ib_ipoib").is_enabled);
    EXPECT_EQ(run_as(program, {"-e", "ib_ipoib"}), ExitStatus::kOk);
    EXPECT_TRUE(setting("ib_ipoib").is_enabled);
    EXPECT_EQ(run_as(program, {"mlx4_en", "-g"}), ExitStatus::kOk);
    EXPECT_EQ(out_, "mlx4_en enabled = 1 options = 'port_types=13,1,1,13,2,2'\n");
    EXPECT_EQ(run_as(program, {"-g", "mlx4_en"}), ExitStatus::kOk);
    EXPECT_EQ(run_as(program, {"-s", "", "mlx4_en"}), ExitStatus::kOk);
    EXPECT_EQ(setting("mlx4_en").options, "");
  }
  EXPECT_EQ(run_as(kEsxcfgModule, {"-l"}), ExitStatus::kOk);
  EXPECT_THAT(out_, HasSubstr("ib_srp"));
}

TEST_F(IbModuleCommandsTest, OptionsMayBeginWithDashes) {
  EXPECT_EQ(run_as(kEsxcfgModule, {"ib_basic", "-s", "--export-ksyms=linux mlx4_msi_x=1"}),
            ExitStatus::kOk);
  EXPECT_EQ(setting("ib_basic").options, "--export-ksyms=linux mlx4_msi_x=1");
  EXPECT_EQ(run_as(kEsxcfgModule, {"-s", "--export-ksyms=linux mlx4_msi_x=0", "ib_basic"}),
            ExitStatus::kOk);
  EXPECT_EQ(setting("ib_basic").options, "--export-ksyms=linux mlx4_msi_x=0");
}

TEST_F(IbModuleCommandsTest, EsxcfgModuleRefusesWhatCannotBe) {
  EXPECT_EQ(run_as(kEsxcfgModule, {}), ExitStatus::kUsage);
  EXPECT_THAT(err_, HasSubstr("MODULE is missing"));
  EXPECT_EQ(run_as(kEsxcfgModule, {"-e", "-d", "ib_srp"}), ExitStatus::kUsage);
  EXPECT_EQ(run_as(kEsxcfgModule, {"ib_srp", "-s"}), ExitStatus::kUsage);
  EXPECT_EQ(run_as(kEsxcfgModule, {"e1000", "-d"}), ExitStatus::kFailed);
  EXPECT_EQ(run_as(kVicfgModule, {"--server", "192.0.2.1", "-s", "port_type_default=1", "mlx4_en"}),
            ExitStatus::kUsage);
  EXPECT_THAT(err_, HasSubstr("ssh 192.0.2.1"));
  EXPECT_EQ(setting("mlx4_en").options, "");
}

TEST_F(IbModuleCommandsTest, VmkloadModDescribesParameters) {
  EXPECT_EQ(run_as(kVmkloadMod, {"ib_ipoib", "-s"}), ExitStatus::kOk);
  EXPECT_THAT(out_, AllOf(StartsWith("vmkload_mod module information\n input file: "),
                          HasSubstr("\n Parameters:\n  ipoib_uplink_num: array of int\n    "),
                          HasSubstr("\n  UplinkNum: array of int\n")));
  EXPECT_EQ(run_as(kVmkloadMod, {"-s", "mlx4_en"}), ExitStatus::kOk);
  EXPECT_THAT(out_, HasSubstr("port_types: string"));
  EXPECT_EQ(run_as(kVmkloadMod, {"ib_ipob", "-s"}), ExitStatus::kFailed);
  EXPECT_THAT(err_, HasSubstr("do you mean ib_ipoib?"));
  EXPECT_EQ(run_as(kVmkloadMod, {}), ExitStatus::kUsage);
  EXPECT_EQ(run_as(kVmkloadMod, {"-l"}), ExitStatus::kOk);
}

TEST_F(IbModuleCommandsTest, EsxcfgAdvcfgSetsNetQueueOfTheKernel) {
  EXPECT_EQ(run_as(kEsxcfgAdvcfg, {"-k", "FALSE", "netNetqueueEnabled"}), ExitStatus::kOk);
  EXPECT_EQ(setting("vmkernel").options, "netNetqueueEnabled=FALSE");
  EXPECT_EQ(run_as(kEsxcfgAdvcfg, {"-j", "netNetqueueEnabled"}), ExitStatus::kOk);
  EXPECT_EQ(out_, "netNetqueueEnabled = FALSE\n");
  EXPECT_EQ(run_as(kEsxcfgAdvcfg, {"-k", "TRUE", "netNetqueueEnabled"}), ExitStatus::kOk);
  EXPECT_EQ(setting("vmkernel").options, "netNetqueueEnabled=TRUE");
  EXPECT_EQ(run_as(kEsxcfgAdvcfg, {"-k", "TRUE", "iovDisableIR"}), ExitStatus::kUsage);
  EXPECT_THAT(err_, HasSubstr("there is no kernel option iovDisableIR"));
}

TEST_F(IbModuleCommandsTest, ConnectxPortConfigShowsTakesAndAsks) {
  EXPECT_EQ(run_as(kConnectxPortConfig, {"-s"}), ExitStatus::kFailed);
  add_adapter("mlx4_0", 13);
  EXPECT_EQ(run_as(kConnectxPortConfig, {"-s"}), ExitStatus::kOk);
  EXPECT_EQ(out_,
            "mlx4_0 (bus 13)  port 1: ib  port 2: ib   allowed: (ib,ib) (ib,eth) (eth,eth)\n");
  EXPECT_EQ(run_as(kConnectxPortConfig, {"-c", "ib,eth"}), ExitStatus::kOk);
  EXPECT_EQ(setting("mlx4_en").options, "port_types=13,1,1,13,2,2");
  // Asked, with a wrong answer in between.
  EXPECT_EQ(run_as(kConnectxPortConfig, {}, "1\n3\n 1 \n"), ExitStatus::kOk);
  EXPECT_THAT(out_, AllOf(HasSubstr("port 2: eth"), HasSubstr("Select the type of port 2 (1,2): "),
                          HasSubstr("'3' is neither 1 nor 2.")));
  EXPECT_EQ(setting("mlx4_en").options, "port_types=13,1,1,13,2,1");
  EXPECT_EQ(run_as(kConnectxPortConfig, {}, "2\n"), ExitStatus::kFailed);
  EXPECT_THAT(err_, HasSubstr("nothing was changed"));
  EXPECT_EQ(setting("mlx4_en").options, "port_types=13,1,1,13,2,1");
  for (const char* wrong : {"ib", "ib,ib,ib", "ib,auto", ""})
    EXPECT_NE(run_as(kConnectxPortConfig, {"-c", wrong}), ExitStatus::kOk) << wrong;
}

TEST_F(IbModuleCommandsTest, ConnectxPortConfigOfSeveralAdapters) {
  add_adapter("a", 9);
  add_adapter("b", 17);
  ASSERT_EQ(run_as(kEsxcfgModule, {"-s", "port_type_default=2 port_types=9,1,1,9,2,1", "mlx4_en"}),
            ExitStatus::kOk);
  EXPECT_EQ(run_as(kConnectxPortConfig, {"-c", "ib,eth"}), ExitStatus::kUsage);
  EXPECT_EQ(run_as(kConnectxPortConfig, {"-d", "17", "-c", "ib,eth"}), ExitStatus::kOk);
  EXPECT_EQ(setting("mlx4_en").options, "port_type_default=2 port_types=9,1,1,9,2,1,17,1,1,17,2,2");
  EXPECT_EQ(run_as(kConnectxPortConfig, {}, "3\n2\n1\n1\n"), ExitStatus::kOk);
  EXPECT_THAT(out_, AllOf(HasSubstr("  1: a (bus 9)\n  2: b (bus 17)\n"),
                          HasSubstr("The list has no device '3'.")));
  EXPECT_EQ(setting("mlx4_en").options, "port_type_default=2 port_types=9,1,1,9,2,1,17,1,1,17,2,1");
  EXPECT_EQ(run_as(kConnectxPortConfig, {"-d", "c", "-s"}), ExitStatus::kFailed);
}

TEST_F(IbModuleCommandsTest, TheListOfNicsHasUplinksAndEthernetPorts) {
  management_.machine.nics = {{.name = "vmnic1", .linux_name = "eth1", .driver = "veth"}};
  management_.ib_uplinks = {
      {.name = "vmnic32",
       .adapter = "mlx4_0",
       .device = "MT26428",
       .port = 1,
       .rate_gbps = 40,
       .vds = "lan",
       .mtu = 2044},
      {.name = "vmnic33", .adapter = "mlx4_0", .device = "MT26428", .port = 1}};
  add_adapter("mlx4_0", 13);
  auto& port = management_.ib_adapters.at("mlx4_0").ports[1];
  port.type = model::IbPortType::kEthernet;
  port.nic = "eth1";
  EXPECT_EQ(run_as(kEsxcfgNics, {"-l"}), ExitStatus::kOk);
  EXPECT_THAT(out_,
              AllOf(HasSubstr("vmnic32    Pseudo       ib_ipoib    Up   40000Mbps  Full   "),
                    HasSubstr(" 2044   MT26428 [ConnectX IB QDR, PCIe 2.0 5.0GT/s] (vmnic32)\n"),
                    HasSubstr("vmnic33    Pseudo       ib_ipoib    Down 0Mbps      Half   "),
                    HasSubstr(" 1500   MT26428"), HasSubstr("vmnic13.p2 "),
                    HasSubstr("(vmnic1 (eth1))\n")));
  EXPECT_EQ(run_as(kEsxcli, {"network", "nic", "list", "--formatter=csv"}), ExitStatus::kOk);
  EXPECT_THAT(out_, HasSubstr("\nvmnic32,Pseudo,ib_ipoib,Up,Up,40000,Full,"));
}

TEST(IbNics, AnEthernetPortWithoutItsNicIsListedDown) {
  model::IbAdapterStatus adapter{.adapter = {.name = "mlx4_0", .device = "MT26428", .bus = 13}};
  adapter.ports = {{.number = 1, .type = model::IbPortType::kEthernet, .nic = "eth7"},
                   {.number = 2, .type = model::IbPortType::kEthernet}};
  const auto nics = with_ib_nics({{.name = "vmnic0", .linux_name = "eth0"}}, {}, {adapter});
  ASSERT_EQ(nics.size(), 3u);
  EXPECT_EQ(nics[1].name, "vmnic13.p1");
  EXPECT_EQ(nics[2].name, "vmnic13.p2");
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_FALSE(nics[i].carrier);
    EXPECT_THAT(nics[i].description, HasSubstr("stands for no NIC of this host"));
  }
}

}  // namespace
}  // namespace paravane::cli
