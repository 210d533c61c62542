// The keeper's etcd, played by a program that only waits: what engines ask for restarts it or not.

#include "keeper/etcd_service.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "settings/cluster_paths.h"
#include "testing/log_capture.h"
#include "testing/temp_dir.h"

namespace paravane::keeper {
namespace {

using privsep::EtcdReach;

class EtcdServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string program = dir_.path() / "etcd";
    std::ofstream(program) << "#!/bin/sh\nexec sleep 1000\n";
    std::filesystem::permissions(program, std::filesystem::perms::all);
    config_.state_dir = dir_.path();
    config_.cluster.address = "127.0.0.1";
    config_.cluster.etcd_program = program;
    std::filesystem::create_directories(settings::ClusterPaths(config_.state_dir).directory());
    etcd_.emplace(config_, settings::EngineAccount{});
  }
  // Later than all pauses.
  void want(EtcdReach reach) {
    now_ += std::chrono::minutes(2);
    etcd_->want(reach, now_);
    etcd_->step(now_);
  }
  std::size_t starts() const {
    constexpr std::string_view kStarted = "etcd started";
    const std::string text = log_.text();
    std::size_t count = 0;
    for (std::size_t at = text.find(kStarted); at != std::string::npos;
         at = text.find(kStarted, at + 1)) {
      ++count;
    }
    return count;
  }

  TempDir dir_;
  LogCapture log_;
  settings::Config config_;
  std::optional<EtcdService> etcd_;
  Instant now_{};
};

TEST_F(EtcdServiceTest, ANewEngineDoesNotRestartAnEtcdThatOthersReach) {
  want(EtcdReach::kOwnHost);
  want(EtcdReach::kCluster);
  ASSERT_EQ(starts(), 2u);
  etcd_->on_new_engine();
  want(EtcdReach::kOwnHost);
  want(EtcdReach::kCluster);
  EXPECT_EQ(starts(), 2u);
}

TEST_F(EtcdServiceTest, TheSameEngineDoes) {
  want(EtcdReach::kCluster);
  want(EtcdReach::kOwnHost);
  EXPECT_EQ(starts(), 2u);
}

TEST_F(EtcdServiceTest, ANewEngineThatStopsItFirstDoes) {
  want(EtcdReach::kCluster);
  etcd_->on_new_engine();
  want(EtcdReach::kOff);
  want(EtcdReach::kOwnHost);
  EXPECT_EQ(starts(), 2u);
}

// The next keeper: here in the same process, so that what it takes over must be let go of.
TEST_F(EtcdServiceTest, GoesOnUnderAnotherKeeper) {
  want(EtcdReach::kCluster);
  etcd_->on_new_engine();
  const EtcdService::Saved saved = etcd_->saved();
  EXPECT_EQ(saved.reach, EtcdReach::kCluster);
  EXPECT_TRUE(saved.engine_begins);
  ASSERT_GT(saved.pid, 1);
  EXPECT_EQ(saved.started, now_);
  EXPECT_EQ(saved.log, -1);
  const auto next = std::make_unique<EtcdService>(config_, settings::EngineAccount{});
  next->resume(saved);
  EXPECT_EQ(next->saved(), saved);
  next->want(EtcdReach::kOwnHost, now_);
  next->want(EtcdReach::kCluster, now_);
  next->step(now_ + std::chrono::minutes(2));
  EXPECT_EQ(starts(), 1u) << "a new engine begins with less";
  EXPECT_EQ(next->next_step(), kNever);
  ASSERT_EQ(::kill(saved.pid, SIGKILL), 0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(saved.pid), &ended, WEXITED | WNOWAIT), 0);
  next->look_for_end(now_);
  next->step(now_ + std::chrono::minutes(2));
  EXPECT_EQ(starts(), 2u);
}

TEST_F(EtcdServiceTest, ALesserReachStaysForANewEngine) {
  want(EtcdReach::kOwnHost);
  etcd_->on_new_engine();
  want(EtcdReach::kOwnHost);
  EXPECT_EQ(starts(), 1u);
  want(EtcdReach::kCluster);
  EXPECT_EQ(starts(), 2u);
}

}  // namespace
}  // namespace paravane::keeper
