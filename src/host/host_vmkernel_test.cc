#include "host/host_vmkernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "testing/temp_dir.h"

namespace paravane::host {
namespace {

using model::ApiErrorCode;
using model::kPvrdmaVmknic;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class VmknicMaker final : public privsep::SwitchMaker {
 public:
  privsep::SwitchReport make(const privsep::SwitchPlan& plan) override {
    last = plan;
    return report;
  }
  privsep::SwitchPlan last;
  privsep::SwitchReport report{
      .management = privsep::SwitchReport::Management{.interface = "eth0", .mtu = 1500}};
};

class HostVmkernelTest : public testing::Test {
 protected:
  HostVmkernelTest() {
    start();
    EXPECT_TRUE(network_->create_switch({.name = "lan"}));
    EXPECT_TRUE(network_->add_switch_host("lan", {.host = "h1"}));
    EXPECT_TRUE(network_->create_port_group({.name = "pg", .vds = "lan", .vlan = 10}));
  }
  void start() {
    vmkernel_.reset();
    network_.reset();
    store_.reset();
    auto store = store::Store::open(dir_ / "paravane.db");
    ASSERT_TRUE(store);
    store_ = std::move(*store);
    network_ = std::make_unique<HostNetwork>(
        HostNetworkConfig{.host = "h1",
                          .uplinks = {},
                          .maker = &maker_,
                          .vmknics = [this] { return vmkernel_->vmknics(); },
                          .applied = [this] { vmkernel_->on_applied(); }},
        *store_, [] { return std::vector<PortUse>(); });
    vmkernel_ = std::make_unique<HostVmkernel>(
        HostVmkernelConfig{.management_address = "10.0.0.1",
                           .is_free = [](const model::MacAddress&) { return true; },
                           .site_changed = [this](const ChannelSite& site) { told_ = site; },
                           .tell =
                               [this](const model::Event& event) {
                                 events_.push_back(event.type + ": " + event.text);
                               }},
        *store_, *network_);
    ASSERT_TRUE(network_->load());
    ASSERT_TRUE(vmkernel_->load());
  }
  void add(const char* name, const char* address) {
    ASSERT_TRUE(vmkernel_->add_vmknic({.name = name, .port_group = "pg"}));
    ASSERT_TRUE(vmkernel_->set_vmknic(name, {.ipv4 = parse_ipv4_interface(address)}));
  }
  void tag(const std::string& vmknic) {
    ASSERT_TRUE(
        vmkernel_->set_setting({.path = std::string(model::kPvrdmaVmknic), .value = vmknic}));
  }
  void enable(bool enabled) {
    ASSERT_TRUE(vmkernel_->set_ruleset({.name = "pvrdma", .enabled = enabled}));
  }

  TempDir dir_;
  VmknicMaker maker_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<HostNetwork> network_;
  std::unique_ptr<HostVmkernel> vmkernel_;
  std::optional<ChannelSite> told_;
  std::vector<std::string> events_;
};

TEST_F(HostVmkernelTest, EachChangeIsAnEvent) {
  add("vmk1", "192.168.1.1/24");
  tag("vmk1");
  enable(true);
  tag("");
  EXPECT_FALSE(vmkernel_->add_vmknic({.name = "vmk1", .port_group = "pg"}));
  ASSERT_TRUE(vmkernel_->remove_vmknic("vmk1"));
  EXPECT_THAT(events_, ElementsAre("vmknic.added: vmk1 was added, port group pg",
                                   "vmknic.changed: vmk1 has 192.168.1.1/24",
                                   "setting.changed: setting /Net/PVRDMAVmknic is \"vmk1\"",
                                   "ruleset.changed: firewall ruleset pvrdma is enabled",
                                   "setting.changed: setting /Net/PVRDMAVmknic is \"\"",
                                   "vmknic.removed: vmk1 was removed"));
}

TEST_F(HostVmkernelTest, TheChannelIsWhereTheTagIsWhileTheRulesetLetsIt) {
  EXPECT_THAT(vmkernel_->site().closed.why, HasSubstr("the firewall ruleset pvrdma is disabled"));
  enable(true);
  EXPECT_THAT(told_->closed.why, HasSubstr("names no VMkernel interface"));
  tag("vmk0");
  EXPECT_EQ(*told_, (ChannelSite{.address = "10.0.0.1", .vmknic = "vmk0"}));
  add("vmk1", "192.168.1.1/24");
  tag("vmk1");
  EXPECT_EQ(*told_, (ChannelSite{.address = "192.168.1.1", .vmknic = "vmk1"}));
  enable(false);
  EXPECT_THAT(told_->address, IsEmpty());
}

TEST_F(HostVmkernelTest, AnInterfaceThatIsNotAsItShouldBeHasNoChannel) {
  add("vmk1", "192.168.1.1/24");
  enable(true);
  tag("vmk1");
  maker_.report.vmknics = {{.name = "vmk1", .problem = "its network is eth0's"}};
  network_->apply();
  EXPECT_EQ(told_->closed.why, "vmk1: its network is eth0's");
  maker_.report.vmknics.clear();
  network_->apply();
  EXPECT_EQ(told_->address, "192.168.1.1");
  ASSERT_TRUE(vmkernel_->set_vmknic("vmk1", {}));
  EXPECT_THAT(told_->closed.why, HasSubstr("vmk1 has no IPv4 address"));
}

TEST_F(HostVmkernelTest, AllOfItIsThereAfterAStart) {
  add("vmk1", "192.168.1.1/24");
  enable(true);
  tag("vmk1");
  const auto before = vmkernel_->vmkernel_configuration();
  start();
  network_->apply();  // as a daemon does; to ask makes nothing
  EXPECT_EQ(vmkernel_->site().address, "192.168.1.1");
  EXPECT_EQ(*vmkernel_->vmkernel_configuration(), *before);
}

TEST_F(HostVmkernelTest, InterfacesAreInThePlan) {
  add("vmk1", "192.168.1.1/24");
  ASSERT_EQ(maker_.last.vmknics.size(), 1u);
  const privsep::SwitchPlan::Vmknic& made = maker_.last.vmknics[0];
  EXPECT_EQ(made.vds, "lan");
  EXPECT_EQ(made.vlan, 10u);
  EXPECT_TRUE(model::is_unicast(made.mac));
  EXPECT_EQ(format_ipv4(*made.ipv4), "192.168.1.1/24");
  ASSERT_TRUE(vmkernel_->remove_vmknic("vmk1"));
  EXPECT_THAT(maker_.last.vmknics, IsEmpty());
}

TEST_F(HostVmkernelTest, TheManagementInterfaceIsShownFirst) {
  add("vmk1", "192.168.1.1/24");
  const auto all = vmkernel_->vmkernel_configuration();
  ASSERT_EQ(all->vmknics.size(), 2u);
  EXPECT_EQ(all->vmknics[0].spec.name, "vmk0");
  EXPECT_EQ(all->vmknics[0].interface, "eth0");
}

TEST_F(HostVmkernelTest, RefusesWithTheReason) {
  add("vmk1", "192.168.1.1/24");
  const auto code = [](const auto& result) { return result.error().code; };
  EXPECT_EQ(code(vmkernel_->add_vmknic({.name = "vmk1", .port_group = "pg"})),
            model::ApiErrorCode::kExists);
  EXPECT_EQ(code(vmkernel_->add_vmknic({.name = "vmk2", .port_group = "no"})),
            model::ApiErrorCode::kNotFound);
  ASSERT_TRUE(network_->create_port_group({.name = "guests", .vds = "lan", .vlan = 4095}));
  EXPECT_EQ(code(vmkernel_->add_vmknic({.name = "vmk2", .port_group = "guests"})),
            model::ApiErrorCode::kInvalidRequest);
  EXPECT_EQ(
      code(vmkernel_->add_vmknic(
          {.name = "vmk2", .port_group = "pg", .ipv4 = parse_ipv4_interface("192.168.1.2/25")})),
      model::ApiErrorCode::kInvalidRequest);
  EXPECT_EQ(code(vmkernel_->remove_vmknic("vmk0")), model::ApiErrorCode::kInvalidRequest);
  EXPECT_EQ(code(vmkernel_->remove_vmknic("vmk9")), model::ApiErrorCode::kNotFound);
  EXPECT_EQ(code(vmkernel_->set_setting({.path = "/Net/Other", .value = "x"})),
            model::ApiErrorCode::kNotFound);
  EXPECT_EQ(
      code(vmkernel_->set_setting({.path = std::string(model::kPvrdmaVmknic), .value = "vmk9"})),
      model::ApiErrorCode::kNotFound);
  EXPECT_EQ(code(vmkernel_->set_setting(
                {.path = std::string(model::kPvrdmaVmknic), .value = "vmk0,vmk1"})),
            model::ApiErrorCode::kInvalidRequest);
  EXPECT_EQ(code(vmkernel_->set_ruleset({.name = "ssh", .enabled = true})),
            model::ApiErrorCode::kNotFound);
  tag("vmk1");
  EXPECT_EQ(code(vmkernel_->remove_vmknic("vmk1")), model::ApiErrorCode::kInUse);
  EXPECT_EQ(code(network_->delete_port_group("pg")), model::ApiErrorCode::kInUse);
  EXPECT_EQ(code(network_->remove_switch_host("lan", "h1")), model::ApiErrorCode::kInUse);
}

}  // namespace
}  // namespace paravane::host
