// How a host's InfiniBand subnet goes on in the engine that replaces another.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "subnet_host/host_infiniband.h"
#include "subnet_host/subnet_parcel.h"
#include "testing/edited_state.h"
#include "testing/log_capture.h"
#include "testing/temp_dir.h"

namespace paravane::subnet_host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class SubnetTakeOverTest : public testing::Test {
 protected:
  SubnetTakeOverTest() {
    auto store = store::Store::open(dir_ / "paravane.db");
    EXPECT_TRUE(store);
    store_ = std::move(*store);
    begin({});
    // The order of their ports at the switch is not that of their names.
    for (const char* name : {"b", "a"}) {
      EXPECT_TRUE(infiniband_->add_ib_adapter(
          {.name = name, .device = "MT25204", .bus = name[0] == 'b' ? 13U : 14U}));
    }
  }

  // An engine that follows.
  void begin(const StateBytes& inherited) {
    infiniband_.reset();
    infiniband_ = std::make_unique<HostInfiniband>(
        HostInfinibandConfig{.host = "h1",
                             .address_seed = "seed",
                             .umad_socket = dir_ / "umad.sock",
                             .umad_access = {.mode = 0600, .group = {}}},
        *store_);
    ASSERT_TRUE(infiniband_->load());
    infiniband_->begin(/*follows=*/true, inherited);
  }
  std::vector<std::string> peers() {
    std::vector<std::string> peers;
    const auto fabric = infiniband_->ib_fabric();
    if (!fabric) return {"?"};
    for (const auto& link : fabric->links) peers.push_back(link.peer);
    return peers;
  }

  const LogCapture log_;
  TempDir dir_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<HostInfiniband> infiniband_;
};

TEST_F(SubnetTakeOverTest, TheSubnetGoesOn) {
  const StateBytes left = infiniband_->freeze();
  ASSERT_THAT(left, Not(IsEmpty()));
  begin(left);
  EXPECT_THAT(peers(), ElementsAre("b port 1", "a port 1"));
  EXPECT_THAT(log_.text(), Not(HasSubstr("anew")));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "umad.sock"));
}

TEST_F(SubnetTakeOverTest, WithoutItsStateItBeginsAnew) {
  begin({});
  EXPECT_THAT(peers(), ElementsAre("a port 1", "b port 1"));
}

TEST_F(SubnetTakeOverTest, AStateThatIsRefusedCostsItselfAndIsLogged) {
  StateBytes left = infiniband_->freeze();
  ASSERT_THAT(left, Not(IsEmpty()));
  begin(edited(left, std::vector<std::uint16_t>{1}, to_number(7)));
  EXPECT_THAT(peers(), ElementsAre("a port 1", "b port 1"));
  EXPECT_THAT(log_.text(), HasSubstr("begins anew: its state is of version 7"));
  left.resize(left.size() / 2);
  begin(left);
  EXPECT_THAT(peers(), ElementsAre("a port 1", "b port 1"));
  EXPECT_THAT(log_.text(), HasSubstr("the state is refused"));
}

TEST_F(SubnetTakeOverTest, AnAdapterThatItLacksBeginsAnew) {
  const auto left = read_subnet_parcel(infiniband_->freeze());
  ASSERT_TRUE(left);
  SubnetParcel less = *left;
  ASSERT_EQ(less.subnet.adapters.size(), 2u);
  less.subnet.adapters.erase(less.subnet.adapters.begin());  // a
  begin(write_subnet_parcel(less));
  EXPECT_THAT(peers(), ElementsAre("b port 1", "a port 1"));
  EXPECT_THAT(log_.text(), HasSubstr("begins anew: a was not there"));
}

TEST_F(SubnetTakeOverTest, OneThatResumesServesAgain) {
  ASSERT_THAT(infiniband_->freeze(), Not(IsEmpty()));
  infiniband_->thaw();
  EXPECT_THAT(peers(), ElementsAre("b port 1", "a port 1"));
}

TEST_F(SubnetTakeOverTest, OneThatHasFrozenEnds) {
  ASSERT_THAT(infiniband_->freeze(), Not(IsEmpty()));
  infiniband_.reset();
}

TEST_F(SubnetTakeOverTest, WithoutAnAdapterNothingIsLeft) {
  EXPECT_TRUE(infiniband_->remove_ib_adapter("a"));
  EXPECT_TRUE(infiniband_->remove_ib_adapter("b"));
  EXPECT_THAT(infiniband_->freeze(), IsEmpty());
}

TEST(SubnetThreadFreeze, NothingRunsUntilItThaws) {
  auto thread = SubnetThread::start({.host = "h1", .switch_guid = 0x100});
  ASSERT_TRUE(thread);
  ASSERT_TRUE((*thread)->freeze());
  std::atomic<bool> has_run{false};
  (*thread)->post([&has_run] { has_run = true; });
  EXPECT_FALSE(has_run);
  (*thread)->thaw();
  EXPECT_TRUE((*thread)->ask([] { return true; }));
  EXPECT_TRUE(has_run);
}

}  // namespace
}  // namespace paravane::subnet_host
