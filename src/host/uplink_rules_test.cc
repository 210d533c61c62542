#include "host/uplink_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/temp_dir.h"

namespace paravane::host {
namespace {

using model::ApiErrorCode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class FixedLooker final : public privsep::MachineLooker {
 public:
  Result<model::Machine> look() override { return machine; }
  Result<model::NicDcb> read_dcb(const std::string&) override { return fail(Errc::kIo, ""); }
  Result<model::RdmaStats> read_stats(const std::string&, std::uint32_t) override {
    return fail(Errc::kNotFound, "");
  }
  model::Machine machine{
      .nics = {{.identity = "0", .linux_name = "eth0"},
               {.identity = "1", .linux_name = "eth1"},
               {.identity = "2", .linux_name = "eth2", .team = "bond0"},
               {.identity = "3", .linux_name = "bond0"}},
      .rdma_devices = {{.identity = "a", .linux_name = "mlx5_0", .paired_link = "eth1"},
                       {.identity = "b", .linux_name = "mlx5_1", .paired_link = "eth2"}}};
};

class UplinkRulesTest : public testing::Test {
 protected:
  void SetUp() override {
    auto store = store::Store::open(dir_ / "paravane.db");
    ASSERT_TRUE(store);
    store_ = std::move(*store);
    view_ = std::make_unique<MachineView>(&looker_, *store_, [] { return Instant{}; });
    rules_ = std::make_unique<UplinkRules>(
        *view_, UplinkRules::Parts{.attached =
                                       [this](const std::string& vds) {
                                         return vds == "lan" ? attached_
                                                             : std::vector<std::string>();
                                       },
                                   .strict = [this] { return strict_; },
                                   .management = [] { return std::string("eth3"); },
                                   .ipoib_uplinks = [this] { return ipoib_; },
                                   .nic_of_port =
                                       [](const std::string& port) {
                                         return std::string(port == "vmnic13.p2" ? "eth0" : "");
                                       }});
  }

  TempDir dir_;
  FixedLooker looker_;
  std::vector<std::string> attached_ = {"db1", "db2"};
  bool strict_ = false;
  std::vector<std::string> ipoib_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<MachineView> view_;
  std::unique_ptr<UplinkRules> rules_;
};

TEST_F(UplinkRulesTest, LeavesTheHostItsOwnAddress) {
  const auto uplink = rules_->resolve("eth3");
  ASSERT_FALSE(uplink);
  EXPECT_EQ(uplink.error().code, model::ApiErrorCode::kInvalidRequest);
  EXPECT_EQ(uplink.error().message,
            "eth3 has an address of this host, which it would lose as an uplink");
}

TEST_F(UplinkRulesTest, TakesBothNamesOfANic) {
  EXPECT_EQ(*rules_->resolve("vmnic1"), "eth1");
  EXPECT_EQ(*rules_->resolve("eth1"), "eth1");
  EXPECT_EQ(*rules_->resolve(""), "");
  EXPECT_EQ(*rules_->resolve("eth7"), "eth7");  // others judge that
  EXPECT_EQ(rules_->shown("eth1"), "vmnic1 (eth1)");
  EXPECT_EQ(rules_->shown("eth7"), "eth7");
  const auto none = rules_->resolve("vmnic11");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, model::ApiErrorCode::kNotFound);
  EXPECT_THAT(none.error().remedy, HasSubstr("Do you mean vmnic1?"));
  EXPECT_THAT(rules_->resolve("vmnic9").error().remedy, Not(HasSubstr("Do you mean")));
}

TEST_F(UplinkRulesTest, ANicThatLinuxCallsSoIsMeant) {
  looker_.machine.nics[3].linux_name = "vmnic1";
  EXPECT_EQ(*rules_->resolve("vmnic1"), "vmnic1");
}

TEST_F(UplinkRulesTest, RefuseATeamWithRdma) {
  for (const char* uplink : {"bond0", "vmnic3", "eth2", "vmnic2"}) {
    const auto refused = rules_->resolve(uplink);
    ASSERT_FALSE(refused) << uplink;
    EXPECT_THAT(refused.error().message, AllOf(HasSubstr("vmnic2 (eth2)"), HasSubstr("vmrdma1"),
                                               HasSubstr("does not support NIC teaming")));
  }
}

TEST_F(UplinkRulesTest, KeepAnRdmaUplinkWhileVmsRun) {
  const auto refused = rules_->check_edit("lan", {"eth1"}, {"eth0"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, model::ApiErrorCode::kVmsAttached);
  EXPECT_THAT(refused.error().vms, ElementsAre("db1", "db2"));
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("vmnic1 (eth1) is the NIC of vmrdma0"), HasSubstr("db1, db2")));
  EXPECT_FALSE(rules_->check_edit("lan", {}, {"eth1"}));
  EXPECT_TRUE(rules_->check_edit("lan", {"eth1"}, {"eth1"}));
  EXPECT_TRUE(rules_->check_edit("other", {"eth1"}, {"eth0"}));
  attached_.clear();
  EXPECT_TRUE(rules_->check_edit("lan", {"eth1"}, {"eth0"}));
}

TEST_F(UplinkRulesTest, LetAnUplinkWithoutRdmaBeChangedAtAnyTime) {
  EXPECT_TRUE(rules_->check_edit("lan", {"eth0"}, {"eth7"}));
  EXPECT_TRUE(rules_->check_edit("lan", {"eth0"}, {}));
}

TEST_F(UplinkRulesTest, KeepAnyUplinkWhileVmsRunWhereTheSettingSaysSo) {
  strict_ = true;
  const auto refused = rules_->check_edit("lan", {"eth0"}, {"eth7"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, model::ApiErrorCode::kVmsAttached);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("/Net/PVRDMAUplinkEditNeedsPowerOff is 1, so the uplink of a host"),
                    HasSubstr("db1, db2")));
  EXPECT_TRUE(rules_->check_edit("lan", {"eth0"}, {"eth0"}));
  attached_.clear();
  EXPECT_TRUE(rules_->check_edit("lan", {"eth0"}, {"eth7"}));
}

TEST_F(UplinkRulesTest, ATeamHasNoNicOfAnRdmaDevice) {
  const auto team = rules_->resolve_all({.host = "h1", .uplink = "vmnic0", .standby = {"eth7"}});
  ASSERT_TRUE(team) << team.error().message;
  EXPECT_EQ(*team, (model::SwitchHost{.host = "h1", .uplink = "eth0", .standby = {"eth7"}}));
  for (const model::SwitchHost& bad :
       {model::SwitchHost{.host = "h1", .uplink = "eth1", .standby = {"eth0"}},
        model::SwitchHost{.host = "h1", .uplink = "eth0", .standby = {"vmnic1"}}}) {
    const auto refused = rules_->resolve_all(bad);
    ASSERT_FALSE(refused) << bad.uplink;
    EXPECT_EQ(refused.error().code, ApiErrorCode::kInvalidRequest);
    EXPECT_EQ(refused.error().message,
              "vmnic1 (eth1) is the NIC of vmrdma0 and must be the only uplink of its switch, "
              "because PVRDMA does not support NIC teaming");
  }
  EXPECT_TRUE(rules_->resolve_all({.host = "h1", .uplink = "eth1"}));
  EXPECT_EQ(rules_->why_no_team({"eth1"}), "");
  // One NIC by both of its names.
  EXPECT_FALSE(rules_->resolve_all({.host = "h1", .uplink = "eth0", .standby = {"vmnic0"}}));
}

TEST_F(UplinkRulesTest, AnIpoibUplinkOfThisHostIsItself) {
  ipoib_ = {"vmnic32", "vmnic33"};
  EXPECT_EQ(*rules_->resolve("vmnic33"), "vmnic33");
  EXPECT_EQ(rules_->shown("vmnic33"), "vmnic33");
  EXPECT_FALSE(rules_->lacks_ipoib_uplink("vmnic33"));
  // VMs may run: no queue pair of theirs is at it.
  EXPECT_TRUE(rules_->check_edit("lan", {"eth0"}, {"vmnic33"}));
  strict_ = true;
  EXPECT_EQ(rules_->check_edit("lan", {"eth0"}, {"vmnic33"}).error().code,
            ApiErrorCode::kVmsAttached);
}

TEST_F(UplinkRulesTest, AnIpoibUplinkThatIsNotThereIsSaidInWords) {
  ipoib_ = {"vmnic32"};
  const auto none = rules_->resolve("vmnic34");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ApiErrorCode::kNotFound);
  EXPECT_EQ(none.error().message, "vmnic34 is not an IPoIB uplink of this host");
  EXPECT_THAT(none.error().remedy, HasSubstr("paravane infiniband adapter add"));
  EXPECT_THAT(none.error().remedy, HasSubstr("enable module ib_ipoib"));
  EXPECT_TRUE(rules_->lacks_ipoib_uplink("vmnic34"));
  for (const char* other : {"", "vmnic32", "vmnic48", "eth0", "eth9"}) {
    EXPECT_FALSE(rules_->lacks_ipoib_uplink(other)) << other;
  }
}

TEST_F(UplinkRulesTest, AnEthernetPortOfAnInfinibandAdapterIsItsNic) {
  EXPECT_EQ(*rules_->resolve("vmnic13.p2"), "eth0");
  EXPECT_EQ(*rules_->resolve("vmnic13.p1"), "vmnic13.p1");
}

// Some call their NICs so themselves.
TEST_F(UplinkRulesTest, ANicThatLinuxCallsSoIsANic) {
  looker_.machine.nics.push_back({.identity = "4", .linux_name = "vmnic34"});
  EXPECT_EQ(*rules_->resolve("vmnic34"), "vmnic34");
  EXPECT_FALSE(rules_->lacks_ipoib_uplink("vmnic34"));
}

}  // namespace
}  // namespace paravane::host
