// The commands about InfiniBand adapters, with a daemon that keeps them in a map.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/api_handler.h"
#include "api/infiniband_json.h"
#include "cli/command_line.h"
#include "http/http_door.h"
#include "json/json_text.h"
#include "testing/bound_socket.h"
#include "testing/fake_management.h"
#include "testing/temp_dir.h"

namespace paravane::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class InfinibandCommandsTest : public testing::Test {
 protected:
  InfinibandCommandsTest() {
    UniqueFd listener = bound_socket(socket_);
    EXPECT_EQ(::fcntl(listener.get(), F_SETFL, O_NONBLOCK), 0);
    EXPECT_EQ(::listen(listener.get(), 8), 0);
    door_ = *http::HttpDoor::open({.name = "door"}, std::move(listener), handler_);
  }

  ExitStatus run(std::vector<const char*> words) {
    words.insert(words.begin(), {"--socket", socket_.c_str(), "infiniband"});
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const ExitStatus status = run_command_line(words);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return status;
  }

  TempDir directory_;
  std::string socket_ = (directory_ / "api.sock").string();
  FakeManagement management_;
  api::ApiHandler handler_{management_};
  std::unique_ptr<http::HttpDoor> door_;
  std::string out_;
  std::string err_;
};

TEST_F(InfinibandCommandsTest, AddsAnAdapterAndShowsIt) {
  EXPECT_EQ(run({"adapter", "add", "mlx4_0", "--device", "MT26428", "--bus", "4"}),
            ExitStatus::kOk);
  EXPECT_THAT(out_, AllOf(StartsWith("Name    Device   Bus  Port  State "),
                          HasSubstr("\nmlx4_0  MT26428  4    1     Initializing ")));
  EXPECT_EQ(management_.ib_adapters.at("mlx4_0").adapter,
            (model::IbAdapter{.name = "mlx4_0", .device = "MT26428", .bus = 4}));
  EXPECT_EQ(run({"adapter", "add", "mlx4_0", "--device", "MT26428"}), ExitStatus::kFailed);
  EXPECT_THAT(err_, StartsWith("paravane: InfiniBand adapter mlx4_0 "));
}

TEST_F(InfinibandCommandsTest, TheBusIsTheLowestFreeOne) {
  for (const auto& [name, bus] :
       std::vector<std::pair<const char*, const char*>>{{"a", "0"}, {"b", "13"}, {"c", "15"}}) {
    ASSERT_EQ(run({"adapter", "add", name, "--device", "MT25204", "--bus", bus}), ExitStatus::kOk);
  }
  for (const auto& [name, bus] :
       std::vector<std::pair<const char*, std::uint32_t>>{{"d", 14}, {"e", 16}}) {
    ASSERT_EQ(run({"adapter", "add", name, "--device", "MT25204"}), ExitStatus::kOk);
    EXPECT_EQ(management_.ib_adapters.at(name).adapter.bus, bus);
  }
}

TEST_F(InfinibandCommandsTest, ListsAdaptersAsTheApiHasThem) {
  EXPECT_EQ(run({"adapter", "list"}), ExitStatus::kOk);
  EXPECT_THAT(err_, HasSubstr("there are no InfiniBand adapters"));
  ASSERT_EQ(run({"adapter", "add", "mlx4_0", "--device", "MT26428", "--json"}), ExitStatus::kOk);
  const auto added = parse_json(out_);
  ASSERT_TRUE(added);
  EXPECT_EQ(*api::ib_adapter_status_from_json(*added), management_.ib_adapters.at("mlx4_0"));
  ASSERT_EQ(run({"adapter", "list", "--json"}), ExitStatus::kOk);
  EXPECT_EQ(*parse_json(out_), nlohmann::json::array({*added}));
  ASSERT_EQ(run({"adapter", "list", "--formatter=csv"}), ExitStatus::kOk);
  EXPECT_THAT(out_, HasSubstr("\nmlx4_0,MT26428,13,2,Initializing,40 Gbps,-,-,0x"));
}

TEST_F(InfinibandCommandsTest, RemovesAnAdapter) {
  ASSERT_EQ(run({"adapter", "add", "mlx4_0", "--device", "MT26428"}), ExitStatus::kOk);
  EXPECT_EQ(run({"adapter", "remove", "mlx4_0"}), ExitStatus::kOk);
  EXPECT_TRUE(management_.ib_adapters.empty());
  EXPECT_EQ(run({"adapter", "remove", "mlx4_0"}), ExitStatus::kFailed);
  EXPECT_THAT(err_, HasSubstr("mlx4_0 does not exist"));
}

TEST_F(InfinibandCommandsTest, ShowsTheSwitchAboveItsLinks) {
  EXPECT_EQ(run({"fabric", "list"}), ExitStatus::kOk);
  EXPECT_THAT(err_, HasSubstr("there is no switch"));
  management_.fabric = {
      .host = "h1",
      .switch_guid = 0x0250560001000000,
      .switch_lid = 3,
      .links = {{.port = 1, .peer = "mlx4_0 port 1", .state = model::IbPortState::kArmed}}};
  EXPECT_EQ(run({"fabric", "list"}), ExitStatus::kOk);
  EXPECT_THAT(out_, StartsWith("Switch 0x0250560001000000 of host h1: LID 3, no subnet manager\n"
                               "\nPort  Peer           State  "));
  EXPECT_EQ(err_, "");
  EXPECT_EQ(run({"fabric", "list", "--formatter=csv"}), ExitStatus::kOk);
  EXPECT_THAT(out_, StartsWith("Port,Peer,"));
  EXPECT_EQ(run({"fabric", "list", "--json"}), ExitStatus::kOk);
  EXPECT_EQ(*api::ib_fabric_from_json(*parse_json(out_)), management_.fabric);
}

TEST_F(InfinibandCommandsTest, Restarts) {
  EXPECT_EQ(run({"restart"}), ExitStatus::kOk);
  EXPECT_EQ(management_.ib_restarts, 1U);
  EXPECT_EQ(out_ + err_, "");
}

TEST_F(InfinibandCommandsTest, PassesOnWhatTheDaemonRefuses) {
  management_.fault =
      model::ApiError{.code = model::ApiErrorCode::kBusy, .message = "no", .remedy = "Wait."};
  for (const std::vector<const char*>& words : std::vector<std::vector<const char*>>{
           {"adapter", "add", "a", "--device", "MT25204"},
           {"adapter", "add", "a", "--device", "MT25204", "--bus", "1"},
           {"adapter", "list"},
           {"adapter", "remove", "a"},
           {"fabric", "list"},
           {"restart"}}) {
    EXPECT_EQ(run(words), ExitStatus::kFailed) << testing::PrintToString(words);
    EXPECT_EQ(err_, "paravane: no\n  Wait.\n");
  }
}

// The program that runs is this test, which has no library beside it.
TEST_F(InfinibandCommandsTest, RunNeedsTheLibrary) {
  EXPECT_EQ(run({"run", "--", "ibstat", "-l", "--json"}), ExitStatus::kFailed);
  EXPECT_THAT(err_, AllOf(StartsWith("paravane: there is no libibumad.so.3 in "),
                          HasSubstr("\n  Reinstall the package paravane.\n")));
}

TEST_F(InfinibandCommandsTest, RunTellsOptionsOfTheProgramFromItsOwn) {
  EXPECT_EQ(run({"run", "ibstat", "-p"}), ExitStatus::kUsage);
  EXPECT_THAT(err_, AllOf(HasSubstr("there is no option -p"),
                          HasSubstr("paravane infiniband run -- ibstat -l\n")));
}

TEST_F(InfinibandCommandsTest, AnEmptyListOfUplinksHasItsCause) {
  EXPECT_EQ(run({"uplink", "list"}), ExitStatus::kOk);
  EXPECT_THAT(err_, HasSubstr("no uplinks without an InfiniBand adapter"));
  ASSERT_EQ(run({"adapter", "add", "mlx4_0", "--device", "MT26428"}), ExitStatus::kOk);
  management_.ib_modules = {{.name = "ib_ipoib"}};
  EXPECT_EQ(run({"uplink", "list"}), ExitStatus::kOk);
  EXPECT_EQ(err_,
            "paravane: no port of an InfiniBand adapter is of type InfiniBand; see: paravane "
            "infiniband status\n");
  management_.ib_modules[0].is_loaded = false;
  EXPECT_EQ(run({"uplink", "list"}), ExitStatus::kOk);
  EXPECT_EQ(
      err_,
      "paravane: module ib_ipoib, which makes uplinks, is not loaded; see: paravane infiniband "
      "status\n");
  EXPECT_EQ(run({"uplink", "list", "--json"}), ExitStatus::kOk);
  EXPECT_EQ(err_, "");
}

TEST_F(InfinibandCommandsTest, AHostFromWhichNothingComesIsNamedWithAWord) {
  EXPECT_EQ(run({"sm", "add", "h2"}), ExitStatus::kOk);
  EXPECT_EQ(err_, "");
  management_.ib_manager_problem = "the cluster has no host of this name";
  EXPECT_EQ(run({"sm", "add", "nosuch"}), ExitStatus::kOk);
  EXPECT_EQ(management_.ib_managers.back().host, "nosuch");
  EXPECT_EQ(err_,
            "paravane: host nosuch is named; nothing comes from it now: the cluster has no host of "
            "this name\n");
}

TEST_F(InfinibandCommandsTest, AreCompleted) {
  testing::internal::CaptureStdout();
  run_command_line(std::vector<const char*>{"completion", "bash"});
  const std::string bash = testing::internal::GetCapturedStdout();
  EXPECT_THAT(bash,
              AllOf(HasSubstr(R"("infiniband adapter add:--device") words="MT25408 MT25418 )"),
                    HasSubstr(R"("infiniband adapter add:0") words= ;;)"),
                    HasSubstr(R"("infiniband adapter remove:0") words="$(paravane --formatter=csv )"
                              R"(infiniband adapter list )"),
                    HasSubstr(R"("infiniband run:0") words="dump_fts ibaddr )"),
                    HasSubstr(R"("infiniband vmhba set:0") words="$(paravane --formatter=csv )"
                              R"(infiniband vmhba list )"),
                    HasSubstr(R"("infiniband target remove:1") words= ;;)"),
                    HasSubstr(R"("storage core adapter rescan:--adapter") words="$(paravane )"
                              R"(--formatter=csv infiniband vmhba list )"),
                    HasSubstr(R"("storage nmp path list:--device") words="$(paravane )"
                              R"(--formatter=csv storage core device list )")));
  testing::internal::CaptureStdout();
  run_command_line(std::vector<const char*>{"completion", "fish"});
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              AllOf(HasSubstr("-l device -x -a 'MT25408 "),
                    HasSubstr("-a '(paravane --formatter=csv infiniband adapter list ")));
}

}  // namespace
}  // namespace paravane::cli
