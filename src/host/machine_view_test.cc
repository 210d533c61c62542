#include "host/machine_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "testing/temp_dir.h"

namespace paravane::host {
namespace {

using model::ApiErrorCode;
using testing::ElementsAre;
using testing::HasSubstr;

class FakeLooker final : public privsep::MachineLooker {
 public:
  Result<model::Machine> look() override {
    ++looks;
    if (blind) return fail(Errc::kIo, "it is dark");
    return machine;
  }
  Result<model::NicDcb> read_dcb(const std::string& nic) override {
    if (nic != "eth1") return fail(Errc::kIo, "no");
    return model::NicDcb{.mode = model::DcbxMode::kIeee};
  }
  Result<model::RdmaStats> read_stats(const std::string& device, std::uint32_t port) override {
    if (device != "rxe0" || port != 1) return fail(Errc::kNotFound, "no");
    return model::RdmaStats{.name = "", .counters = {{"a", 1}}};
  }
  model::Machine machine;
  bool blind = false;
  int looks = 0;
};

class MachineViewTest : public testing::Test {
 protected:
  MachineViewTest() {
    looker_.machine = {
        .nics = {{.identity = "pci 1", .linux_name = "eth1"},
                 {.identity = "name v", .linux_name = "v"}},
        .rdma_devices = {
            {.identity = "name rxe0 port 1", .linux_name = "rxe0", .paired_link = "v"}}};
    start();
  }
  void start() {
    view_.reset();
    store_.reset();
    auto store = store::Store::open(dir_ / "paravane.db");
    ASSERT_TRUE(store);
    store_ = std::move(*store);
    view_ = std::make_unique<MachineView>(&looker_, *store_, [this] { return now_; });
    ASSERT_TRUE(view_->load());
  }
  std::vector<std::string> nics() {
    now_ += MachineView::kFresh;
    std::vector<std::string> names;
    const auto machine = view_->look();
    EXPECT_TRUE(machine);
    for (const auto& nic : machine->nics) names.push_back(nic.name + " " + nic.linux_name);
    return names;
  }

  TempDir dir_;
  FakeLooker looker_;
  Instant now_{};
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<MachineView> view_;
};

TEST_F(MachineViewTest, GivesNumbersAndPairsDevices) {
  EXPECT_THAT(nics(), ElementsAre("vmnic0 eth1", "vmnic1 v"));
  const auto machine = view_->look();
  ASSERT_EQ(machine->rdma_devices.size(), 1u);
  EXPECT_EQ(machine->rdma_devices[0].name, "vmrdma0");
  EXPECT_EQ(machine->rdma_devices[0].paired_uplink, "vmnic1");
}

TEST_F(MachineViewTest, RemembersNumbersOverRestartsAndReplugging) {
  nics();
  looker_.machine.nics.erase(looker_.machine.nics.begin());
  EXPECT_THAT(nics(), ElementsAre("vmnic1 v"));
  start();
  looker_.machine.nics.insert(looker_.machine.nics.begin(),
                              {.identity = "pci 0", .linux_name = "eth0"});
  EXPECT_THAT(nics(), ElementsAre("vmnic1 v", "vmnic2 eth0"));
  start();
  looker_.machine.nics.push_back({.identity = "pci 1", .linux_name = "renamed"});
  EXPECT_THAT(nics(), ElementsAre("vmnic0 renamed", "vmnic1 v", "vmnic2 eth0"));
}

TEST_F(MachineViewTest, StandsInTheOrderOfNumbers) {
  looker_.machine.nics.clear();
  for (int i = 0; i < 12; ++i) {
    looker_.machine.nics.push_back({.identity = std::to_string(i), .linux_name = "e"});
  }
  std::ranges::reverse(looker_.machine.nics);
  const auto names = nics();
  EXPECT_EQ(names[2], "vmnic2 e");
  EXPECT_EQ(names[11], "vmnic11 e");
}

TEST_F(MachineViewTest, ANicHasNoNumberOfAnIpoibUplinkUnlessItHadItBefore) {
  looker_.machine.nics.clear();
  ASSERT_TRUE(store_->put_document(kNicNumberKind, "vmnic33", {{"identity", "33"}}));
  start();
  for (int i = 0; i < 34; ++i) {
    looker_.machine.nics.push_back({.identity = std::to_string(i), .linux_name = "e"});
  }
  const auto names = nics();
  ASSERT_EQ(names.size(), 34u);
  EXPECT_EQ(names[31], "vmnic31 e");
  EXPECT_EQ(names[32], "vmnic33 e");
  EXPECT_EQ(names[33], "vmnic48 e");
  EXPECT_TRUE(view_->nic_numbers().contains(33));
  EXPECT_FALSE(view_->nic_numbers().contains(32));
}

TEST_F(MachineViewTest, LooksAtMostOnceASecond) {
  nics();
  EXPECT_TRUE(view_->look());
  EXPECT_EQ(looker_.looks, 1);
  now_ += MachineView::kFresh;
  EXPECT_TRUE(view_->look());
  EXPECT_EQ(looker_.looks, 2);
}

TEST_F(MachineViewTest, TellsTheDcbOfANicByEitherName) {
  looker_.machine.nics[0].dcb = true;
  for (const char* name : {"vmnic0", "eth1"}) {
    const auto dcb = view_->dcb(name);
    ASSERT_TRUE(dcb) << dcb.error().message;
    EXPECT_EQ(dcb->name, "vmnic0");
    EXPECT_EQ(dcb->mode, model::DcbxMode::kIeee);
  }
}

TEST_F(MachineViewTest, SaysWhyThereIsNoDcb) {
  looker_.machine.nics[1].driver = "veth";
  const auto none = view_->dcb("vmnic1");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ApiErrorCode::kNotFound);
  EXPECT_EQ(none.error().message,
            "vmnic1 (v): its driver veth does not support Data Center Bridging");
  EXPECT_EQ(view_->dcb("vmnic7").error().message, "this host has no NIC vmnic7");
  looker_.machine.nics[1].dcb = true;
  now_ += MachineView::kFresh;
  EXPECT_EQ(view_->dcb("v").error().code, ApiErrorCode::kInternal) << "it is gone meanwhile";
}

TEST_F(MachineViewTest, SaysWhyNothingIsSeen) {
  looker_.blind = true;
  EXPECT_THAT(view_->look().error().message, HasSubstr("it is dark"));
  MachineView nobody(nullptr, *store_, [this] { return now_; });
  EXPECT_EQ(nobody.look().error().code, model::ApiErrorCode::kInternal);
}

TEST_F(MachineViewTest, TellsWhatADeviceHasCounted) {
  const auto stats = view_->stats("vmrdma0");
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->name, "vmrdma0");
  EXPECT_EQ(stats->counters.at("a"), 1u);
  const auto none = view_->stats("vmrdm0");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, model::ApiErrorCode::kNotFound);
  EXPECT_THAT(none.error().remedy, HasSubstr("Do you mean vmrdma0?"));
}

}  // namespace
}  // namespace paravane::host
