#include "worker/port_watch.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "model/vm.h"

namespace paravane::worker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using Way = verbs::PathUse::Way;

class PortWatchTest : public testing::Test {
 protected:
  std::vector<std::string> look(const PortWatch::Sight& sight) {
    events_.clear();
    watch_.look(sight, paths_, now_);
    std::vector<std::string> types;
    for (const model::Event& event : events_) types.push_back(event.type);
    return types;
  }

  Instant now_ = Instant{} + 1h;
  verbs::PathUse paths_;
  std::vector<model::Event> events_;
  std::vector<PortWatch::ProbedWay> ways_;
  std::uint64_t probe_changes_ = 0;
  PortWatch watch_{{"db1", 2},
                   {.tell = [this](model::Event event) { events_.push_back(std::move(event)); },
                    .name =
                        [](const Way& way) {
                          return way.host == verbs::HostId{}
                                     ? PortWatch::WayName{.name = {"local"}, .why = "same host"}
                                     : PortWatch::WayName{.name = {"tcp", "h2"},
                                                          .why = "no adapter"};
                        },
                    .why_none =
                        [](const model::AdapterName& adapter, const verbs::PathUse::Ends& ends) {
                          return fmt::format("{} to {}", to_string(adapter), ends.peer.raw[0]);
                        },
                    .probed_ways = [this](const auto&) { return ways_; }}};
};

TEST_F(PortWatchTest, SeesAVmmComeAndGo) {
  EXPECT_THAT(look({}), IsEmpty());
  EXPECT_THAT(look({.attached = true, .pid = 7}), ElementsAre("vm.attached"));
  EXPECT_EQ(events_[0].fields,
            (std::map<std::string, std::string>{{"vm", "db1"}, {"adapter", "2"}, {"pid", "7"}}));
  EXPECT_THAT(look({.attached = true, .pid = 7}), IsEmpty());
  EXPECT_THAT(look({.attached = true, .pid = 8}), ElementsAre("vm.detached", "vm.attached"));
  EXPECT_THAT(look({}), ElementsAre("vm.detached"));
  EXPECT_EQ(events_[0].fields.at("pid"), "8");
}

TEST_F(PortWatchTest, APortIsUpWhileTheDriverRunsAndTheLinkIsThere) {
  look({.attached = true, .pid = 7});
  EXPECT_THAT(look({.attached = true, .pid = 7, .active = true}), ElementsAre("port.up"));
  EXPECT_THAT(look({.attached = true, .pid = 7, .active = true, .linked = false}),
              ElementsAre("port.down"));
  EXPECT_EQ(events_[0].fields.at("reason"), "it was disconnected from its switch");
  EXPECT_THAT(look({.attached = true, .pid = 7, .active = false, .linked = false}), IsEmpty());
}

TEST_F(PortWatchTest, TellsOfErrorsOnceInAWhileWithTheirNumber) {
  EXPECT_THAT(look({.errors = 3}), ElementsAre("qp.errors"));
  EXPECT_EQ(events_[0].fields.at("count"), "3");
  EXPECT_THAT(look({.errors = 4}), IsEmpty());
  EXPECT_THAT(look({.errors = 9}), IsEmpty());
  EXPECT_EQ(watch_.next_look(), now_ + 10s);
  now_ += 10s;
  EXPECT_THAT(look({.errors = 9}), ElementsAre("qp.errors"));
  EXPECT_EQ(events_[0].fields.at("count"), "6");
  EXPECT_EQ(watch_.next_look(), kNever);
  EXPECT_THAT(look({.errors = 9, .refusals = 1}), ElementsAre("quota.reached"));
}

TEST_F(PortWatchTest, AFlappingVmmIsKeptBackButTheLastWordIsTrue) {
  std::size_t told = 0;
  for (int i = 0; i < 1000; ++i) {
    told += look({.attached = i % 2 == 0, .pid = 7}).size();
  }
  EXPECT_EQ(told, 20u);
  EXPECT_GT(watch_.counters().kept_back.value(), 400u);
  const bool told_attached = told % 2 == 1;
  now_ += 10s;
  EXPECT_THAT(look({.attached = !told_attached, .pid = 7}),
              ElementsAre(told_attached ? "vm.detached" : "vm.attached"));
  EXPECT_NE(events_[0].fields.at("kept_back"), "0");
}

TEST_F(PortWatchTest, TellsWhichPathsConnectionsTake) {
  paths_.move(std::nullopt, Way{});
  paths_.move(std::nullopt, Way{});
  EXPECT_THAT(look({}), ElementsAre("path.made"));
  EXPECT_EQ(events_[0].text, "connections of db1/2 use path local: same host");
  paths_.move(std::nullopt, Way{.host = verbs::HostId{1}});
  EXPECT_THAT(look({}), ElementsAre("path.made"));
  EXPECT_EQ(events_[0].fields.at("peer_host"), "h2");
  paths_.move(Way{}, std::nullopt);
  EXPECT_THAT(look({}), IsEmpty());
  paths_.move(Way{}, std::nullopt);
  EXPECT_THAT(look({}), ElementsAre("path.ended"));
  EXPECT_EQ(events_[0].fields.at("reason"), "its last connection ended");
  paths_.move(Way{.host = verbs::HostId{1}}, Way{});
  EXPECT_THAT(look({}), ElementsAre("path.changed"));
  EXPECT_EQ(events_[0].text,
            "connections of db1/2 now use path local instead of tcp to host h2: same host");
}

TEST_F(PortWatchTest, TellsWhyAPathIsLost) {
  paths_.move(std::nullopt, Way{});
  look({});
  paths_.lose(Way{}, {.source = {}, .peer = verbs::Gid{{9}}});
  EXPECT_THAT(look({}), ElementsAre("path.ended"));
  EXPECT_EQ(events_[0].fields.at("reason"), "db1/2 to 9");
  EXPECT_EQ(events_[0].text, "db1/2 no longer uses path local: db1/2 to 9");
}

TEST_F(PortWatchTest, ManyChangesOfAPathAreKeptBack) {
  const Way there{.host = verbs::HostId{1}};
  std::size_t told = 0;
  paths_.move(std::nullopt, Way{});
  for (int i = 0; i < 100; ++i) {
    told += look({}).size();
    paths_.move(i % 2 == 0 ? Way{} : there, i % 2 == 0 ? there : Way{});
  }
  EXPECT_EQ(told, 10u);
  now_ += 10s;
  EXPECT_LE(look({}).size(), 1u);
}

TEST_F(PortWatchTest, TellsOfWaysThroughRoutersThatAreNotAnsweredAndAreAgain) {
  const auto look_at = [this](std::vector<PortWatch::ProbedWay> ways) {
    ways_ = std::move(ways);
    return look({.probe_changes = ++probe_changes_});
  };
  PortWatch::ProbedWay way{.own_gid = "::1", .peer_gid = "::2", .gateway = "aa", .why = "silence"};
  EXPECT_THAT(look_at({way}), IsEmpty()) << "it is awaited";
  way.answers = true;
  EXPECT_THAT(look_at({way}), IsEmpty()) << "that is how it should be";
  way.answers = false;
  EXPECT_THAT(look_at({way}), ElementsAre("path.unanswered"));
  EXPECT_EQ(events_[0].text, "db1/2 to ::2: silence");
  EXPECT_EQ(events_[0].severity, model::Severity::kWarning);
  EXPECT_EQ(events_[0].fields, (std::map<std::string, std::string>{{"vm", "db1"},
                                                                   {"adapter", "2"},
                                                                   {"path", "roce"},
                                                                   {"peer_gid", "::2"},
                                                                   {"gateway", "aa"},
                                                                   {"reason", "silence"}}));
  EXPECT_THAT(look_at({way}), IsEmpty());
  way.answers = true;
  EXPECT_THAT(look_at({way}), ElementsAre("path.answered"));
  way.answers = false;
  EXPECT_THAT(look_at({way}), ElementsAre("path.unanswered"));
  EXPECT_THAT(look_at({}), IsEmpty()) << "no connection uses it any more";
  way.answers = true;
  EXPECT_THAT(look_at({way}), IsEmpty()) << "nothing was told of this one";
}

TEST_F(PortWatchTest, WhatAGuestCausesAtRoutersIsKeptBackButTheLastWordIsTrue) {
  std::size_t told = 0;
  ways_ = {{.own_gid = "::1", .peer_gid = "::2", .gateway = "aa", .why = "why"}};
  for (int i = 0; i < 101; ++i) {
    ways_[0].answers = i % 2 == 1;
    told += look({.probe_changes = ++probe_changes_}).size();
  }
  EXPECT_EQ(told, 10u);
  now_ += 10s;
  EXPECT_THAT(look({.probe_changes = probe_changes_}), ElementsAre("path.unanswered"));
}

TEST_F(PortWatchTest, AnAdapterThatIsDeadToItsGuestIsToldOnceAndWhenItLivesAgain) {
  look({.attached = true, .pid = 7});
  EXPECT_THAT(look({.attached = true, .pid = 7, .dead = true}), ElementsAre("adapter.dead"));
  EXPECT_EQ(events_[0].severity, model::Severity::kError);
  EXPECT_EQ(events_[0].fields.at("reason"), model::kDeadAdapter);
  EXPECT_THAT(look({.attached = true, .pid = 7, .dead = true}), IsEmpty());
  EXPECT_THAT(look({.attached = true, .pid = 7}), ElementsAre("adapter.revived"));
  EXPECT_EQ(events_[0].severity, model::Severity::kInfo);
  look({.attached = true, .pid = 7, .dead = true});
  EXPECT_THAT(look({}), ElementsAre("vm.detached")) << "with its VMM";
  EXPECT_THAT(look({.attached = true, .pid = 8}), ElementsAre("vm.attached"));
}

TEST_F(PortWatchTest, AGuestThatDiesAgainAndAgainIsKeptBack) {
  look({.attached = true, .pid = 7});
  std::size_t told = 0;
  for (int i = 0; i < 101; ++i) {
    told += look({.attached = true, .pid = 7, .dead = i % 2 == 0}).size();
  }
  EXPECT_EQ(told, 19u);  // with the attachment, what a guest and its VMM may cause
  now_ += 10s;
  EXPECT_EQ(look({.attached = true, .pid = 7, .dead = false}).size(), 1u);
}

TEST_F(PortWatchTest, AFailureIsToldOnceForEachVmm) {
  look({.attached = true, .pid = 7});
  watch_.failed("memory", now_);
  watch_.failed("memory", now_);
  ASSERT_EQ(events_.size(), 2u);  // with the attachment
  EXPECT_EQ(events_[1].type, "adapter.failed");
  EXPECT_EQ(events_[1].severity, model::Severity::kError);
}

}  // namespace
}  // namespace paravane::worker
