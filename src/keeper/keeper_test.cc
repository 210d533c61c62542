// The keeper of an engine that means it no good.

#include "keeper/keeper.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/signals.h"
#include "privsep/switch_line.h"

namespace paravane::keeper {
namespace {

// Makes nothing, and says how often it was asked.
class CountingMaker final : public LocalSwitches {
 public:
  explicit CountingMaker(int& times) : times_(times) {}
  privsep::SwitchReport make(const privsep::SwitchPlan& plan) override {
    ++times_;
    return {.problem = plan.switches.empty() ? "nothing" : plan.switches[0].name};
  }
  std::vector<Ipv4Interface> addresses() const override { return {}; }
  std::vector<OpenedRocePort> take_opened_ports() override { return {}; }
  void take_back(const OpenedRocePort& /*port*/) override {}
  std::vector<OpenedUplinkTap> take_opened_taps() override { return {}; }
  void take_back(const OpenedUplinkTap& /*tap*/) override {}
  void take_back_all() override {}
  ethernet::KnownNics known() const override { return {}; }
  void know(ethernet::KnownNics /*nics*/) override {}
  const ethernet::LinkFilter& about() const override { return about_; }

 private:
  int& times_;
  ethernet::LinkFilter about_;
};

class KeeperTest : public testing::Test {
 protected:
  void SetUp() override {
    block_signals({SIGTERM, SIGINT, SIGHUP, SIGCHLD});
    auto ends = privsep::ProcessLink::make();
    ASSERT_TRUE(ends);
    keepers_.emplace(std::move(ends->first));
    engines_.emplace(std::move(ends->second));
    manager_ = UniqueFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    name_.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(manager_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
  }
  void TearDown() override { std::filesystem::remove(name_); }

  // The engine is this function.
  ExitStatus keep(const std::function<void()>& engine,
                  std::unique_ptr<LocalSwitches> switches = nullptr) {
    const pid_t child = ::fork();
    if (child == 0) {
      engine();
      _exit(0);
    }
    return Keeper(child, std::move(*keepers_), Notifier(name_), {}, std::move(switches)).run();
  }

  int heard() const {
    int count = 0;
    char text[512];
    while (::recv(manager_.get(), text, sizeof text, 0) > 0) ++count;
    return count;
  }

  const std::string name_ = testing::TempDir() + "keeper_test." + std::to_string(::getpid());
  std::optional<privsep::ProcessLink> keepers_;
  std::optional<privsep::ProcessLink> engines_;
  UniqueFd manager_;
};

TEST_F(KeeperTest, TellsTheServiceManagerLessThanAnEngineThatTalksAllTheTime) {
  EXPECT_EQ(keep([this] {
              for (const auto kind : {privsep::Note::Kind::kReady, privsep::Note::Kind::kStatus,
                                      privsep::Note::Kind::kStopping}) {
                for (int i = 0; i < 60; ++i) engines_->send({.kind = kind, .text = "again"});
              }
            }),
            ExitStatus::kOk);
  const int count = heard();
  EXPECT_GE(count, 3);
  EXPECT_LE(count, 8);
}

TEST_F(KeeperTest, EndsWithTheEngineThoughSomebodyElseTalksOn) {
  std::atomic<bool> over{false};
  std::jthread other([&] {
    while (!over) engines_->send({.kind = privsep::Note::Kind::kNone, .text = "still here"});
  });
  EXPECT_EQ(keep([] { ::usleep(50'000); }), ExitStatus::kOk);
  over = true;
}

TEST_F(KeeperTest, KeepsAnEngineThatHasClosedTheLine) {
  EXPECT_EQ(keep([this] {
              ::send(engines_->fd(), "", 0, 0);  // looks like the end of the line
              ::usleep(50'000);
              _exit(3);
            }),
            ExitStatus::kBadConfig);
}

TEST_F(KeeperTest, HasSwitchesMadeAndReports) {
  int times = 0;
  const ExitStatus ended = keep(
      [this] {
        privsep::SwitchLine line(*engines_, [](const privsep::ProcessLink::NoteWithSocket&) {});
        const privsep::SwitchPlan plan{
            .switches = {{.name = "lan", .mtu = 1500, .uplink = "", .vlans = {}}}};
        _exit(line.make(plan).problem == "lan" && line.make({}).problem == "nothing" ? 0 : 3);
      },
      std::make_unique<CountingMaker>(times));
  EXPECT_EQ(ended, ExitStatus::kOk);
  EXPECT_EQ(times, 2);
}

TEST_F(KeeperTest, MakesNothingOfPlansThatBreakARuleHoweverMany) {
  int times = 0;
  const ExitStatus ended = keep(
      [this] {
        for (const char* text :
             {"", "1", "1 paravane-switch-plan 1;switch lan 1500 lo;",
              "1 paravane-switch-plan 1;tap ../../x 1 lan 0;", "1 paravane-switch-plan 9;"}) {
          for (int i = 0; i < 40; ++i) {
            engines_->send({.kind = privsep::Note::Kind::kSwitchPlan, .text = text});
          }
        }
      },
      std::make_unique<CountingMaker>(times));
  EXPECT_EQ(ended, ExitStatus::kOk);
  EXPECT_EQ(times, 0);
}

// The last one counts, as it would if all were made.
TEST_F(KeeperTest, MakesFewOfManyPlans) {
  int times = 0;
  keep(
      [this] {
        for (int i = 0; i < 200; ++i) {
          engines_->send(
              {.kind = privsep::Note::Kind::kSwitchPlan, .text = "1 paravane-switch-plan 1;"});
        }
      },
      std::make_unique<CountingMaker>(times));
  EXPECT_GE(times, 1);
  EXPECT_LE(times, 20);
}

}  // namespace
}  // namespace paravane::keeper
