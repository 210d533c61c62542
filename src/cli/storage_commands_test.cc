// The commands about storage adapters, under all of their names, with a daemon that keeps what it
// is told.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/api_handler.h"
#include "api/storage_json.h"
#include "cli/command_line.h"
#include "http/http_door.h"
#include "json/json_text.h"
#include "testing/bound_socket.h"
#include "testing/fake_management.h"
#include "testing/temp_dir.h"

namespace paravane::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

class StorageCommandsTest : public testing::Test {
 protected:
  StorageCommandsTest() {
    UniqueFd listener = bound_socket(socket_);
    EXPECT_EQ(::fcntl(listener.get(), F_SETFL, O_NONBLOCK), 0);
    EXPECT_EQ(::listen(listener.get(), 8), 0);
    door_ = *http::HttpDoor::open({.name = "door"}, std::move(listener), handler_);
    management_.vmhbas = {{.name = "vmhba32",
                           .adapter = "mlx4_0",
                           .device = "MT26428",
                           .port = 1,
                           .port_guid = 0x0250560001a2b301,
                           .initiator = "0xfe800000000000000250560001a2b301",
                           .is_up = true}};
    management_.lun_paths = {{.name = "vmhba32:C0:T0:L0",
                              .vmhba = "vmhba32",
                              .device = "naa.1",
                              .adapter_identifier = "srp.0250560001a2b301",
                              .target_identifier = "srp.1:2",
                              .state = model::PathState::kActive},
                             {.name = "vmhba32:C0:T0:L1",
                              .vmhba = "vmhba32",
                              .lun = 1,
                              .device = "naa.2",
                              .state = model::PathState::kDead}};
    management_.scsi_devices = {{.name = "naa.1",
                                 .display_name = "one",
                                 .working_path = "vmhba32:C0:T0:L0",
                                 .paths = {management_.lun_paths[0]}},
                                {.name = "naa.2", .display_name = "two"}};
  }

  ExitStatus run_as(std::string_view program, std::vector<const char*> words) {
    words.insert(words.begin(), {"--socket", socket_.c_str()});
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const ExitStatus status = run_command_line(words, program);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return status;
  }
  ExitStatus run(std::vector<const char*> words) { return run_as(kParavane, std::move(words)); }

  TempDir directory_;
  std::string socket_ = (directory_ / "api.sock").string();
  FakeManagement management_;
  api::ApiHandler handler_{management_};
  std::unique_ptr<http::HttpDoor> door_;
  std::string out_;
  std::string err_;
};

TEST_F(StorageCommandsTest, ListsVmhbas) {
  EXPECT_EQ(run({"infiniband", "vmhba", "list"}), ExitStatus::kOk);
  EXPECT_THAT(out_, AllOf(StartsWith("Name     Adapter  Port  State "),
                          HasSubstr("\nvmhba32  mlx4_0   1     Active  -  ")));
  EXPECT_EQ(run({"infiniband", "vmhba", "list", "--json"}), ExitStatus::kOk);
  EXPECT_EQ(*api::vmhba_from_json(parse_json(out_)->at(0)), management_.vmhbas[0]);
  EXPECT_EQ(run_as(kEsxcli, {"storage", "core", "adapter", "list"}), ExitStatus::kOk);
  EXPECT_THAT(out_, HasSubstr("\nvmhba32   ib_srp  link-up     srp.0250560001a2b301"));
  EXPECT_EQ(run_as(kEsxcfgScsidevs, {"-a"}), ExitStatus::kOk);
  EXPECT_THAT(out_, StartsWith("vmhba32  ib_srp  link-up"));
  EXPECT_EQ(run_as(kIbstat, {"-vmhba"}), ExitStatus::kOk);
  EXPECT_EQ(out_, "vmhba32  mlx4_0 port 1  0x0250560001a2b301  Active\n");
}

TEST_F(StorageCommandsTest, SaysWhyThereAreNone) {
  management_.vmhbas.clear();
  EXPECT_EQ(run({"infiniband", "vmhba", "list"}), ExitStatus::kOk);
  EXPECT_THAT(err_, HasSubstr("without an InfiniBand adapter"));
  ASSERT_TRUE(management_.add_ib_adapter({.name = "mlx4_0", .device = "MT26428", .bus = 13}));
  management_.ib_modules = {{.name = "ib_srp", .is_loaded = false}};
  EXPECT_EQ(run({"storage", "core", "adapter", "list"}), ExitStatus::kOk);
  EXPECT_THAT(err_, HasSubstr("ib_srp"));
  management_.ib_modules[0].is_loaded = true;
  EXPECT_EQ(run_as(kIbstat, {"-vmhba"}), ExitStatus::kOk);
  EXPECT_THAT(err_, HasSubstr("of type InfiniBand"));
  EXPECT_EQ(run({"infiniband", "target", "list"}), ExitStatus::kOk);
  EXPECT_THAT(err_, HasSubstr("of type InfiniBand"));
}

TEST_F(StorageCommandsTest, SetsWhatIsGivenAndLeavesTheRest) {
  EXPECT_EQ(run({"infiniband", "vmhba", "set", "vmhba32", "--port-group", "storage", "--ipv4",
                 "192.0.2.9/24"}),
            ExitStatus::kOk);
  EXPECT_EQ(management_.vmhbas[0].setting,
            (model::VmhbaSetting{.port_group = "storage", .ipv4 = "192.0.2.9/24"}));
  EXPECT_EQ(run({"infiniband", "vmhba", "set", "vmhba32", "--gateway", "192.0.2.1", "--json"}),
            ExitStatus::kOk);
  EXPECT_EQ(parse_json(out_)->at("gateway"), "192.0.2.1");
  EXPECT_EQ(management_.vmhbas[0].setting.ipv4, "192.0.2.9/24");
  EXPECT_EQ(run({"infiniband", "vmhba", "set", "vmhba32", "--ipv4", "none"}), ExitStatus::kUsage);
  EXPECT_THAT(err_, HasSubstr("vmhba32: a gateway needs an IPv4 address"));
  EXPECT_EQ(run({"infiniband", "vmhba", "set", "vmhba32", "--ipv4", "none", "--gateway", "none",
                 "--port-group", "none"}),
            ExitStatus::kOk);
  EXPECT_EQ(management_.vmhbas[0].setting, model::VmhbaSetting());
  EXPECT_EQ(run({"infiniband", "vmhba", "set", "vmhba32"}), ExitStatus::kUsage);
  EXPECT_EQ(run({"infiniband", "vmhba", "set", "vmhba1", "--ipv4", "none"}), ExitStatus::kUsage);
  EXPECT_EQ(run({"infiniband", "vmhba", "set", "vmhba33", "--ipv4", "none"}), ExitStatus::kFailed);
  EXPECT_THAT(err_, AllOf(HasSubstr("no storage adapter vmhba33"), HasSubstr("vmhba list")));
}

TEST_F(StorageCommandsTest, NamesAndRemovesTargets) {
  EXPECT_EQ(run({"infiniband", "target", "list"}), ExitStatus::kOk);
  EXPECT_THAT(err_, HasSubstr("no target was found or named"));
  EXPECT_EQ(run({"infiniband", "target", "add", "vmhba32", "fe80::1", "--id-ext",
                 "0x5254000000770001", "--ioc-guid", "2a"}),
            ExitStatus::kOk);
  ASSERT_THAT(management_.srp_targets, SizeIs(1));
  EXPECT_EQ(management_.srp_targets[0].target, (model::SrpTarget{.vmhba = "vmhba32",
                                                                 .address = "fe80::1",
                                                                 .service = 0x2a,
                                                                 .id_ext = 0x5254000000770001,
                                                                 .ioc_guid = 0x2a}));
  EXPECT_EQ(run({"infiniband", "target", "add", "vmhba32", "192.0.2.7", "--id-ext", "1",
                 "--ioc-guid", "2", "--port", "5555"}),
            ExitStatus::kOk);
  EXPECT_EQ(management_.srp_targets[1].target.port, 5555);
  EXPECT_EQ(run({"infiniband", "target", "list", "--formatter=csv"}), ExitStatus::kOk);
  EXPECT_THAT(out_, HasSubstr("\nvmhba32,1,192.0.2.7,port 5555,"));
  EXPECT_EQ(run({"infiniband", "target", "list", "--json"}), ExitStatus::kOk);
  EXPECT_EQ(*api::srp_target_status_from_json(parse_json(out_)->at(1)), management_.srp_targets[1]);
  management_.srp_targets[0].luns = 1;
  EXPECT_EQ(run({"infiniband", "target", "remove", "vmhba32", "0"}), ExitStatus::kFailed);
  EXPECT_EQ(run({"infiniband", "target", "remove", "vmhba32", "0", "--force"}), ExitStatus::kOk);
  EXPECT_EQ(run({"infiniband", "target", "remove", "vmhba32", "7"}), ExitStatus::kFailed);
  EXPECT_THAT(management_.srp_targets, SizeIs(1));
}

TEST_F(StorageCommandsTest, RefusesTargetsThatAreNone) {
  using Words = std::vector<const char*>;
  for (const Words& more :
       {Words{"fe80::1", "--id-ext", "x", "--ioc-guid", "2"},
        Words{"fe80::1", "--id-ext", "11112222333344445", "--ioc-guid", "2"},
        Words{"fe80::1", "--id-ext", "1", "--ioc-guid", "0"},
        Words{"fe80::1", "--id-ext", "1", "--ioc-guid", "2", "--service", "y"},

        Words{"fe80::1", "--id-ext", "1", "--ioc-guid", "2", "--port", "1", "--service", "1"},
        Words{"192.0.2.7", "--id-ext", "1", "--ioc-guid", "2"},
        Words{"192.0.2.7", "--id-ext", "1", "--ioc-guid", "2", "--port", "65536"},
        Words{"fe80::1", "--id-ext", "1"}, Words{"--id-ext", "1", "--ioc-guid", "2"}}) {
    Words words = {"infiniband", "target", "add", "vmhba32"};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(run(words), ExitStatus::kUsage) << testing::PrintToString(more);
  }
  EXPECT_THAT(management_.srp_targets, IsEmpty());
  EXPECT_EQ(run({"infiniband", "target", "remove", "vmhba1", "0"}), ExitStatus::kUsage);
}

TEST_F(StorageCommandsTest, Rescans) {
  EXPECT_EQ(run({"storage", "core", "adapter", "rescan", "-A", "vmhba32"}), ExitStatus::kOk);
  EXPECT_EQ(run_as(kEsxcli, {"storage", "core", "adapter", "rescan", "--all"}), ExitStatus::kOk);
  EXPECT_EQ(run_as(kEsxcfgRescan, {"vmhba32"}), ExitStatus::kOk);
  EXPECT_EQ(run_as(kEsxcfgRescan, {"-A"}), ExitStatus::kOk);
  EXPECT_THAT(management_.rescans, ElementsAre("vmhba32", "all", "vmhba32", "all"));
  EXPECT_EQ(run({"storage", "core", "adapter", "rescan"}), ExitStatus::kUsage);
  EXPECT_EQ(run({"storage", "core", "adapter", "rescan", "-A", "vmhba1"}), ExitStatus::kUsage);
  EXPECT_EQ(run({"storage", "core", "adapter", "rescan", "-A", "vmhba32", "-a"}),
            ExitStatus::kUsage);
  EXPECT_EQ(run_as(kEsxcfgRescan, {}), ExitStatus::kUsage);
  EXPECT_EQ(run_as(kEsxcfgRescan, {"vmhba33"}), ExitStatus::kFailed);
  EXPECT_THAT(err_, HasSubstr("vmhba33"));
}

TEST_F(StorageCommandsTest, ListsLunsAndPaths) {
  for (const char* tree : {"core", "nmp"}) {
    for (const char* what : {"device", "path"}) {
      EXPECT_EQ(run({"storage", tree, what, "list"}), ExitStatus::kOk);
      EXPECT_THAT(out_, AllOf(HasSubstr("naa.1"), HasSubstr("naa.2")));
      EXPECT_EQ(run({"storage", tree, what, "list", "-d", "naa.2"}), ExitStatus::kOk);
      EXPECT_THAT(out_, AllOf(Not(HasSubstr("naa.1")), HasSubstr("naa.2")));
      EXPECT_EQ(run({"storage", tree, what, "list", "-d", "naa.3"}), ExitStatus::kFailed);
      EXPECT_THAT(err_, AllOf(HasSubstr("no LUN naa.3"), HasSubstr("storage core device list")));
      EXPECT_EQ(run({"storage", tree, what, "list", "--json"}), ExitStatus::kOk);
      EXPECT_THAT(*parse_json(out_), SizeIs(2));
    }
    EXPECT_EQ(run({"storage", tree, "path", "list", "-p", "vmhba32:C0:T0:L1"}), ExitStatus::kOk);
    EXPECT_THAT(out_, AllOf(Not(HasSubstr("naa.1")), HasSubstr("naa.2")));
    EXPECT_EQ(
        run({"storage", tree, "path", "list", "-p", "vmhba32-fe80::250:5600:1a2:b301-2-naa.1"}),
        ExitStatus::kOk);
    EXPECT_THAT(out_, AllOf(Not(HasSubstr("naa.2")), HasSubstr("naa.1")));
    EXPECT_EQ(run({"storage", tree, "path", "list", "-p", "vmhba9"}), ExitStatus::kFailed);
    EXPECT_EQ(run({"storage", tree, "path", "list", "-p", "a", "-d", "b"}), ExitStatus::kUsage);
  }
}

TEST_F(StorageCommandsTest, EsxcfgMpathHasTheListsOfVsphere) {
  EXPECT_EQ(run_as(kEsxcfgMpath, {"-l"}), ExitStatus::kOk);
  EXPECT_THAT(out_, StartsWith("vmhba32-fe80::250:5600:1a2:b301-2-naa.1\n   Runtime Name: "));
  EXPECT_EQ(run_as(kEsxcfgMpath, {"-l", "-d", "naa.2"}), ExitStatus::kOk);
  EXPECT_THAT(out_, Not(HasSubstr("naa.1")));
  EXPECT_EQ(run_as(kEsxcfgMpath, {"-l", "-P", "vmhba32:C0:T0:L0"}), ExitStatus::kOk);
  EXPECT_THAT(out_, Not(HasSubstr("naa.2")));
  EXPECT_EQ(run_as(kEsxcfgMpath, {"-b"}), ExitStatus::kOk);
  EXPECT_THAT(out_, StartsWith("naa.1 : one\n   vmhba32:C0:T0:L0 LUN:0 state:active srp "));
  EXPECT_EQ(run_as(kEsxcfgMpath, {"-L"}), ExitStatus::kOk);
  EXPECT_THAT(out_, StartsWith("vmhba32:C0:T0:L0 state:active naa.1 vmhba32 0 0 0 NMP active "));
  EXPECT_EQ(run_as(kEsxcfgMpath, {"-L", "--json"}), ExitStatus::kOk);
  EXPECT_THAT(*parse_json(out_), SizeIs(2));
  EXPECT_EQ(run_as(kEsxcfgMpath, {"-l", "-b"}), ExitStatus::kUsage);
  EXPECT_EQ(run_as(kEsxcfgScsidevs, {"-l"}), ExitStatus::kOk);
  EXPECT_THAT(out_, StartsWith("naa.1\n   Device Type: "));
  EXPECT_EQ(run_as(kEsxcfgScsidevs, {"-c"}), ExitStatus::kOk);
  EXPECT_THAT(out_, StartsWith("Device UID  "));
  EXPECT_EQ(run_as(kEsxcfgScsidevs, {"-c", "--json"}), ExitStatus::kOk);
  EXPECT_THAT(*parse_json(out_), SizeIs(2));
}

// The program that runs is this test, which has no library beside it.
TEST_F(StorageCommandsTest, AllElseOfIbstatIsThatOfTheSystem) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_command_line(std::vector{"-l"}, kIbstat), ExitStatus::kFailed);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("there is no libibumad.so.3 in "));
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_command_line(std::vector{"-h"}, kIbstat), ExitStatus::kFailed);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("ibstat -vmhba"));
  testing::internal::GetCapturedStderr();
}

TEST_F(StorageCommandsTest, PassesOnWhatTheDaemonRefuses) {
  management_.fault =
      model::ApiError{.code = model::ApiErrorCode::kBusy, .message = "no", .remedy = "Wait."};
  using Words = std::vector<const char*>;
  for (const Words& words :
       {Words{"infiniband", "vmhba", "list"},
        Words{"infiniband", "vmhba", "set", "vmhba32", "--ipv4", "none"},
        Words{"infiniband", "target", "list"},
        Words{"infiniband", "target", "add", "vmhba32", "fe80::1", "--id-ext", "1", "--ioc-guid",
              "1"},
        Words{"infiniband", "target", "remove", "vmhba32", "0"},
        Words{"storage", "core", "adapter", "list"},
        Words{"storage", "core", "adapter", "rescan", "-a"},
        Words{"storage", "core", "device", "list"}, Words{"storage", "nmp", "path", "list"}}) {
    EXPECT_EQ(run(words), ExitStatus::kFailed) << testing::PrintToString(words);
    EXPECT_EQ(err_, "paravane: no\n  Wait.\n");
  }
}

TEST_F(StorageCommandsTest, AVmsDiskCanBeALun) {
  EXPECT_EQ(run({"vm", "add", "db1", "--disk", "lun:naa.1,readonly"}), ExitStatus::kOk);
  EXPECT_EQ(management_.vms.at("db1").spec.machine.disks,
            (std::vector<model::Disk>{{.read_only = true, .lun = "naa.1"}}));
  EXPECT_EQ(run({"vm", "add", "db2"}), ExitStatus::kOk);
  EXPECT_EQ(run({"vm", "set", "db2", "--disk", "lun:naa.1"}), ExitStatus::kFailed);
  EXPECT_THAT(err_, HasSubstr("LUN naa.1 is a disk of vm db1"));
  EXPECT_EQ(run({"vm", "set", "db2", "--disk", "lun:naa.2"}), ExitStatus::kOk);
  EXPECT_EQ(run({"vm", "set", "db2", "--disk", "lun:sda"}), ExitStatus::kUsage);
  EXPECT_EQ(run({"vm", "libvirt-xml", "db2"}), ExitStatus::kOk);
  EXPECT_THAT(out_, HasSubstr("/naa.2.lun'/>")) << "where it would be";
  EXPECT_EQ(run({"vm", "show", "db1"}), ExitStatus::kOk);
  EXPECT_THAT(out_, HasSubstr("lun:naa.1,readonly"));
}

}  // namespace
}  // namespace paravane::cli
