#include "subnet_host/infiniband_cables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "testing/cable_pipe.h"
#include "testing/temp_dir.h"

namespace paravane::subnet_host {
namespace {

using model::ApiErrorCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RecordingMaker final : public InfinibandCables::Maker {
 public:
  void set_cables(bool has_adapters) override { told.push_back(has_adapters ? "on" : "off"); }
  void on_cable_lost(const std::string& host, std::uint64_t number,
                     const std::string& reason) override {
    told.push_back(host + " " + std::to_string(number) + ": " + reason);
  }
  std::vector<std::string> told;
};

class InfinibandCablesTest : public testing::Test {
 protected:
  InfinibandCablesTest() { open(); }
  void open() {
    cables_.reset();
    store_.reset();
    store_ = *store::Store::open(dir_ / "paravane.db");
    cables_.emplace("h1", *store_);
    ASSERT_TRUE(cables_->load());
  }
  std::vector<std::string> managers() {
    std::vector<std::string> hosts;
    for (const model::IbManager& manager : cables_->list_managers()) hosts.push_back(manager.host);
    return hosts;
  }
  std::string problem_of(const std::string& peer, bool refuses_manager = false,
                         model::IbPortState state = model::IbPortState::kUnknown,
                         bool has_manager = false) {
    model::IbFabric fabric;
    fabric.links.push_back({.peer = peer, .state = state, .refuses_manager = refuses_manager});
    cables_->explain(fabric, has_manager);
    return fabric.links[0].problem;
  }

  TempDir dir_;
  std::unique_ptr<store::Store> store_;
  std::optional<InfinibandCables> cables_;
  RecordingMaker maker_;
};

TEST_F(InfinibandCablesTest, NamedHostsAreKept) {
  EXPECT_THAT(managers(), ElementsAre("h1"));
  EXPECT_TRUE(cables_->add_manager("h3"));
  EXPECT_TRUE(cables_->add_manager("h2"));
  EXPECT_TRUE(cables_->add_manager("h2"));
  EXPECT_TRUE(cables_->add_manager("h1"));
  EXPECT_THAT(managers(), ElementsAre("h1", "h2", "h3"));
  open();
  EXPECT_THAT(managers(), ElementsAre("h1", "h2", "h3"));
  EXPECT_TRUE(cables_->remove_manager("h2"));
  open();
  EXPECT_THAT(managers(), ElementsAre("h1", "h3"));
}

TEST_F(InfinibandCablesTest, RefusesWhatIsNotNamedAndMoreThanTheLimit) {
  EXPECT_EQ(cables_->remove_manager("h9").error().code, ApiErrorCode::kNotFound);
  const auto own = cables_->remove_manager("h1");
  EXPECT_EQ(own.error().code, ApiErrorCode::kInvalidRequest);
  EXPECT_THAT(own.error().message, HasSubstr("this host"));
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(cables_->add_manager("m" + std::to_string(i)));
  const auto more = cables_->add_manager("h2");
  EXPECT_EQ(more.error().code, ApiErrorCode::kLimitReached);
  EXPECT_THAT(more.error().remedy, HasSubstr("paravane infiniband sm remove"));
}

TEST_F(InfinibandCablesTest, ADamagedRecordCostsItselfAlone) {
  ASSERT_TRUE(cables_->add_manager("h2"));
  ASSERT_TRUE(store_->put_document("ib_manager", "No Host", nlohmann::json::object()));
  open();
  EXPECT_THAT(managers(), ElementsAre("h1", "h2"));
}

TEST_F(InfinibandCablesTest, TheMakerIsToldOnceWhetherThereAreAdapters) {
  cables_->set_maker(&maker_);
  cables_->set_adapters(true);
  cables_->set_adapters(true);
  cables_->set_adapters(false);
  EXPECT_THAT(maker_.told, ElementsAre("off", "on", "off"));
}

TEST_F(InfinibandCablesTest, ALineThatCannotBeUsedIsLost) {
  cables_->set_maker(&maker_);
  cables_->set_hosts("", {"h2"});
  fake::CablePipe pipe;
  cables_->add("h2", 5, pipe.one());  // the subnet is not there
  EXPECT_THAT(maker_.told, ElementsAre("off", HasSubstr("h2 5: ")));
}

TEST_F(InfinibandCablesTest, TellsWhatIsTheMatterWithACable) {
  cables_->set_hosts("", {"h2"});
  EXPECT_EQ(problem_of("mlx4_0 port 1"), "");
  EXPECT_EQ(problem_of("host h2"),
            "not connected yet. It is tried again and again; how the channel to that host is, and "
            "what helps, is in: paravane cluster status");
  cables_->set_problem("h2", "no route to host");
  EXPECT_THAT(problem_of("host h2"), HasSubstr("no route to host. It is tried again"));
  ASSERT_TRUE(cables_->add_manager("h2"));
  EXPECT_EQ(cables_->list_managers().at(1).problem, "no route to host");
  cables_->set_hosts("", {});
  EXPECT_THAT(cables_->list_managers().at(1).problem, HasSubstr("no host of this name"));
}

class LinesOfCables : public InfinibandCablesTest {
 protected:
  LinesOfCables() {
    thread_ = *SubnetThread::start({.host = "h1", .switch_guid = 0x100});
    cables_->set_maker(&maker_);
    cables_->set_adapters(true);
    cables_->begin(*thread_);
    cables_->set_hosts("", {"h2", "h3"});
    maker_.told.clear();
  }
  ~LinesOfCables() override {
    thread_.reset();
    cables_->end();
  }
  std::unique_ptr<SubnetThread> thread_;
};

TEST_F(LinesOfCables, AHostThatIsNotHeardIsToldWithTheCommand) {
  fake::CablePipe pipe;
  cables_->add("h2", 5, pipe.one());
  EXPECT_EQ(problem_of("host h2"), "");
  EXPECT_THAT(problem_of("host h2", true), HasSubstr("paravane infiniband sm add h2"));
  ASSERT_TRUE(cables_->add_manager("h2"));
  EXPECT_EQ(problem_of("host h2", true), "");
}

// Neither is heard by the other, so each is the master of its own host, with LIDs of its choice.
TEST_F(LinesOfCables, TwoHostsWithAManagerEachAreToldToNameEachOther) {
  fake::CablePipe pipe;
  cables_->add("h2", 5, pipe.one());
  const auto state = model::IbPortState::kActive;
  EXPECT_EQ(problem_of("host h2", false, state, true), "");
  EXPECT_EQ(problem_of("host h2", true, state, true),
            "host h2 has a subnet manager, as this host has, and is not heard here: both may give "
            "the same LIDs. Have each name the other, here with: paravane infiniband sm add h2, "
            "and on h2 with: paravane infiniband sm add h1; then restart opensm on one of them");
  ASSERT_TRUE(cables_->add_manager("h2"));
  EXPECT_EQ(problem_of("host h2", true, state, true), "");
}

TEST_F(LinesOfCables, AnOrderAtAnEndOfTheCableIsAProblemOfAConnectedOne) {
  model::IbFabric fabric;
  fabric.links.push_back({.peer = "host h2", .problem = "the port at host h2 is disabled"});
  cables_->explain(fabric, false);
  EXPECT_THAT(fabric.links[0].problem, HasSubstr("not connected yet"));
  fake::CablePipe pipe;
  cables_->add("h2", 5, pipe.one());
  fabric.links[0].problem = "the port at host h2 is disabled";
  cables_->explain(fabric, false);
  EXPECT_EQ(fabric.links[0].problem, "the port at host h2 is disabled");
}

TEST_F(LinesOfCables, WhatAHeardManagerSendsThroughAnotherHostIsNoProblemOfAnActiveLink) {
  fake::CablePipe pipe;
  cables_->add("h2", 5, pipe.one());
  const std::string told = "paravane infiniband sm add h2";
  EXPECT_THAT(problem_of("host h2", true, model::IbPortState::kActive), HasSubstr(told));
  ASSERT_TRUE(cables_->add_manager("h3"));
  EXPECT_EQ(problem_of("host h2", true, model::IbPortState::kActive), "");
  EXPECT_THAT(problem_of("host h2", true, model::IbPortState::kInitializing), HasSubstr(told));
}

TEST_F(LinesOfCables, NodesTellTheNameThatTheHostHasInItsCluster) {
  cables_->set_hosts("first", {"h2"});
  const auto name = [this] {
    return thread_->ask([this] { return thread_->subnet().the_switch().identity().description; });
  };
  EXPECT_EQ(name(), "first switch");
  EXPECT_THAT(managers(), ElementsAre("first"));
  cables_->set_hosts("", {});
  EXPECT_EQ(name(), "h1 switch");
}

TEST_F(LinesOfCables, ALossIsOfTheLineWithThatNumber) {
  fake::CablePipe pipe;
  cables_->add("h2", 5, pipe.one());
  cables_->on_lost("h2", 4, "an old one");
  EXPECT_EQ(problem_of("host h2"), "");
  cables_->on_lost("h2", 5, "the host is silent");
  EXPECT_THAT(problem_of("host h2"), HasSubstr("the host is silent. It is tried again"));
  EXPECT_THAT(maker_.told, ElementsAre("h2 5: the host is silent"));
}

TEST_F(LinesOfCables, ACableThatIsDownHasTheReasonOfItsLineOrOfItsPort) {
  const std::string of_port = "the port is disabled";
  EXPECT_EQ(cables_->why_down("h2", of_port), "not connected yet");
  fake::CablePipe pipe;
  cables_->add("h2", 5, pipe.one());
  EXPECT_EQ(cables_->why_down("h2", of_port), of_port);
  cables_->on_lost("h2", 5, "the host is silent");
  EXPECT_EQ(cables_->why_down("h2", of_port), "the host is silent");
  const std::string gone = "no InfiniBand adapter of that host is known any more";
  EXPECT_EQ(cables_->why_down("h4", of_port), gone);
  EXPECT_FALSE(cables_->is_apart());
  cables_->set_hosts("h1", {});
  EXPECT_EQ(cables_->why_down("h2", of_port), gone);
  EXPECT_FALSE(cables_->is_apart());
  cables_->set_hosts("", {});
  EXPECT_TRUE(cables_->is_apart());
}

TEST_F(LinesOfCables, AllEndWithTheSubnet) {
  fake::CablePipe pipe;
  fake::CablePipe other;
  cables_->add("h2", 5, pipe.one());
  cables_->add("h3", 6, other.one());
  thread_.reset();
  cables_->end();
  EXPECT_THAT(maker_.told, ElementsAre(HasSubstr("h2 5: "), HasSubstr("h3 6: ")));
}

TEST_F(LinesOfCables, AHostThatIsCutIsLost) {
  fake::CablePipe pipe;
  cables_->add("h2", 5, pipe.one());
  cables_->cut("h3", "it was removed");
  EXPECT_THAT(maker_.told, IsEmpty());
  cables_->cut_all("the channel moves");
  EXPECT_THAT(maker_.told, ElementsAre("h2 5: the channel moves"));
}

}  // namespace
}  // namespace paravane::subnet_host
