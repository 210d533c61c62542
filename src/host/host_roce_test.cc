#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "host/host.h"
#include "host/recording_maker_test.h"
#include "testing/temp_dir.h"
#include "testing/wait_until.h"

namespace paravane::host {
namespace {

using testing::HasSubstr;

// A host whose keeper is played by the test. Sockets stand for RoCE ports.
class HostRoceTest : public testing::Test {
 protected:
  HostRoceTest() {
    std::filesystem::create_directory(dir_ / "state");
    std::filesystem::create_directory(dir_ / "vms");
    HostConfig config;
    config.config.state_dir = dir_ / "state";
    config.config.vfio_user.socket_dir = dir_ / "vms";
    config.config.host.name = "h1";
    config.config.network.uplinks = {"eth1"};
    config.switches = &maker_;
    config.post = [this](std::function<void()> work) {
      const std::lock_guard guard(mutex_);
      posted_.push_back(std::move(work));
    };
    auto host = Host::start(std::move(config), [] {});
    EXPECT_TRUE(host) << host.error().message;
    host_ = std::move(*host);
    EXPECT_TRUE(host_->create_switch({.name = "lan"}));
    EXPECT_TRUE(host_->add_switch_host("lan", {.host = "h1", .uplink = "eth1"}));
    EXPECT_TRUE(host_->create_port_group({.name = "a", .vds = "lan", .native_roce = true}));
    model::VmSpec spec;
    spec.name = "db1";
    spec.adapters[0].port_group = "a";
    EXPECT_TRUE(host_->add_vm(spec));
    EXPECT_EQ(maker_.last.roce_ports.size(), 1u);
  }
  // As the keeper has opened it for the last plan.
  privsep::RocePortNote wanted() const {
    return {.adapter = {"db1", 1}, .making = maker_.last.roce_ports.at(0).making};
  }
  // Returns the other end of the port.
  UniqueFd open(const privsep::RocePortNote& note) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()),
              0);
    host_->open_roce(note, UniqueFd(ends[0]));
    return UniqueFd(ends[1]);
  }
  // What the worker's thread has posted.
  void run_posted() {
    std::vector<std::function<void()>> work;
    {
      const std::lock_guard guard(mutex_);
      work = std::exchange(posted_, {});
    }
    for (const auto& one : work) one();
  }
  model::RoceStatus status() { return host_->find_vm("db1")->adapters[0].roce; }
  bool is_open() {
    run_posted();
    return status().open;
  }
  static bool is_closed(const UniqueFd& end) {
    char byte = 0;
    return ::send(end.get(), &byte, 1, MSG_NOSIGNAL) < 0;
  }

  TempDir dir_;
  RecordingMaker maker_;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
  std::unique_ptr<Host> host_;
};

TEST_F(HostRoceTest, APortIsOpenWhenTheWorkerHasIt) {
  EXPECT_EQ(status(), model::RoceStatus{});
  const UniqueFd end = open(wanted());
  EXPECT_FALSE(status().open);
  wait_until([&] { return is_open(); });
  maker_.report.taps = {{.vm = "db1", .adapter = 1, .problem = "pv-db1: a rule of others"}};
  ASSERT_TRUE(host_->repair_switches());
  EXPECT_FALSE(status().open);
  EXPECT_THAT(status().closed, HasSubstr("a rule of others"));
}

TEST_F(HostRoceTest, SaysWhyPacketsAreNotMerged) {
  maker_.report.unmerged = {{.vm = "db1", .adapter = 2, .why = "another's"},
                            {.vm = "db1", .adapter = 1, .why = "this kernel lacks an action"}};
  ASSERT_TRUE(host_->repair_switches());
  EXPECT_EQ(status().unmerged, "") << "of a port that is not open";
  const UniqueFd end = open(wanted());
  wait_until([&] { return is_open(); });
  EXPECT_EQ(status().unmerged, "this kernel lacks an action");
  maker_.report.unmerged.clear();
  ASSERT_TRUE(host_->repair_switches());
  EXPECT_TRUE(status().open);
  EXPECT_EQ(status().unmerged, "");
}

TEST_F(HostRoceTest, APortOfAnEarlierPlanIsDropped) {
  privsep::RocePortNote early = wanted();
  early.mtu = 9000;
  EXPECT_TRUE(is_closed(open(early)));
  early = wanted();
  --early.making;
  EXPECT_TRUE(is_closed(open(early)));
  EXPECT_FALSE(is_open());
}

TEST_F(HostRoceTest, APortThatIsDeletedIsAskedForAgain) {
  UniqueFd end = open(wanted());
  wait_until([&] { return is_open(); });
  const std::uint32_t before = wanted().making;
  end.reset();
  wait_until([&] { return !is_open(); });
  EXPECT_NE(wanted().making, before);
  end = open(wanted());
  wait_until([&] { return is_open(); });
}

TEST_F(HostRoceTest, APortIsClosedBeforeThePlanWithoutItIsMade) {
  const UniqueFd end = open(wanted());
  wait_until([&] { return is_open(); });
  ASSERT_TRUE(host_->change_port_group("a", {.native_roce = false}));
  EXPECT_TRUE(is_closed(end));
  EXPECT_EQ(status().closed, "port group a has RoCE off");
}

TEST_F(HostRoceTest, APortThatTheWorkerCannotTakeSaysSoAndIsAskedForAgain) {
  const privsep::RocePortNote note = wanted();
  host_->open_roce(note, UniqueFd());  // no descriptor: it cannot be watched
  wait_until([&] {
    run_posted();
    return !status().closed.empty();
  });
  EXPECT_THAT(status().closed, HasSubstr("the worker cannot take its RoCE port"));
  ASSERT_TRUE(host_->repair_switches());
  EXPECT_NE(wanted().making, note.making);
}

}  // namespace
}  // namespace paravane::host
