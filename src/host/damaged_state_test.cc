// A host starts with what is whole of its state, whatever is damaged, and names the rest.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/event_log.h"
#include "host/host.h"
#include "store/damaged_rows_test.h"
#include "testing/damage.h"
#include "testing/temp_dir.h"

namespace paravane::host {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int kRounds = 200;

model::VmSpec named(const std::string& name) {
  model::VmSpec spec;
  spec.name = name;
  return spec;
}

class DamagedStateTest : public testing::Test {
 protected:
  DamagedStateTest() {
    std::filesystem::create_directory(dir_ / "state");
    std::filesystem::create_directory(dir_ / "vms");
    config_.config.state_dir = dir_ / "state";
    config_.config.vfio_user.socket_dir = dir_ / "vms";
    config_.events = &events_;
    start();
    for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(host_->add_vm(named(name)));
    EXPECT_TRUE(host_->create_switch({.name = "lan", .mtu = 9000}));
    EXPECT_TRUE(host_->create_switch({.name = "san"}));
    EXPECT_TRUE(host_->create_port_group({.name = "storage", .vds = "lan", .vlan = 10}));
    EXPECT_TRUE(host_->create_port_group({.name = "web", .vds = "san", .vlan = 11}));
    good_ = seen();
    host_.reset();
    std::filesystem::copy_file(file_, dir_ / "good.db");
  }
  void start() {
    host_.reset();
    auto host = Host::start(config_, [] {});
    ASSERT_TRUE(host) << host.error().message;
    host_ = std::move(*host);
  }
  std::vector<model::LeftOut> left_out() { return host_->status()->left_out; }
  // By kind and name, what it is.
  std::map<std::string, std::string> seen() {
    std::map<std::string, std::string> all;
    const auto vms = host_->list_vms();
    for (const model::VmStatus& vm : *vms) {
      all["vm " + vm.spec.name] = vm.revision;
      EXPECT_EQ(vm.adapters[0].problem, "");
      EXPECT_TRUE(std::filesystem::is_socket(vm.adapters[0].socket));
    }
    const auto switches = host_->list_switches();
    for (const model::SwitchStatus& vds : *switches) {
      all["switch " + vds.spec.name] = std::to_string(vds.spec.mtu);
    }
    const auto groups = host_->list_port_groups();
    for (const model::PortGroupStatus& group : *groups) {
      all["port group " + group.spec.name] = group.spec.vds + std::to_string(group.spec.vlan);
    }
    return all;
  }
  // Each time the host is up with all the others.
  void damage(const std::string& table, const std::string& kind, const std::string& name,
              const std::string& with_it = {}) {
    const std::string text = *DamagedRows(file_).read(table, "spec", name);
    Damage damage(31);
    for (int round = 0; round < kRounds; ++round) {
      host_.reset();
      std::filesystem::copy_file(dir_ / "good.db", file_,
                                 std::filesystem::copy_options::overwrite_existing);
      DamagedRows(file_).write(table, "spec", name, damage.apply(text));
      ASSERT_NO_FATAL_FAILURE(start()) << round;
      auto expected = good_;
      const auto named = left_out();
      for (const model::LeftOut& one : named) expected.erase(model::name_of(one));
      ASSERT_EQ(seen(), expected) << round;
      if (named.empty()) continue;
      ASSERT_EQ(model::name_of(named.back()), kind + " " + name) << round;
      ASSERT_EQ(named.size(), with_it.empty() ? 1U : 2U) << round;
      ASSERT_EQ(named.front().name, with_it.empty() ? name : with_it) << round;
    }
  }
  std::vector<std::string> events(const std::string& type) {
    std::vector<std::string> texts;
    for (const model::Event& event : events_.read({.most = 100'000}).events) {
      if (event.type == type) texts.push_back(event.text);
    }
    return texts;
  }
  void break_row(const std::string& table, const std::string& name) {
    host_.reset();
    DamagedRows(file_).write(table, "spec", name, "{}");
    start();
  }

  TempDir dir_;
  std::filesystem::path file_ = dir_ / "state/paravane.db";
  api::EventLog events_{"boot", {}};
  HostConfig config_;
  std::unique_ptr<Host> host_;
  std::map<std::string, std::string> good_;
};

TEST_F(DamagedStateTest, StartsWithAllOtherVms) {
  damage("vm", "vm", "b");
}

TEST_F(DamagedStateTest, StartsWithAllOtherSwitches) {
  damage("vds", "switch", "lan", "storage");
}

TEST_F(DamagedStateTest, StartsWithAllOtherPortGroups) {
  damage("port_group", "port group", "storage");
}

TEST_F(DamagedStateTest, StartsWhateverItsAddressSeedHasBecome) {
  const std::string text = *DamagedRows(file_).read("document", "json", "address_seed");
  Damage damage(37);
  for (int round = 0; round < kRounds; ++round) {
    host_.reset();
    std::filesystem::copy_file(dir_ / "good.db", file_,
                               std::filesystem::copy_options::overwrite_existing);
    const std::size_t told = events("state.chosen_anew").size();
    DamagedRows(file_).write("document", "json", "address_seed", damage.apply(text));
    ASSERT_NO_FATAL_FAILURE(start()) << round;
    ASSERT_EQ(seen(), good_) << round;  // VMs keep the addresses that they have
    ASSERT_THAT(left_out(), IsEmpty());
    ASSERT_EQ(events("state.chosen_anew").size(), told + 1) << round;
    if (round >= 10) continue;  // each change waits for the disk
    ASSERT_TRUE(host_->add_vm(named("new")));
  }
}

TEST_F(DamagedStateTest, NamesAVmThatIsLeftOut) {
  break_row("vm", "b");
  ASSERT_THAT(left_out(), SizeIs(1));
  EXPECT_EQ(model::name_of(left_out()[0]), "vm b");
  EXPECT_THAT(left_out()[0].reason, HasSubstr("paravane.db is damaged"));
  ASSERT_THAT(events("state.left_out"), SizeIs(1));
  EXPECT_THAT(events("state.left_out")[0], HasSubstr("vm b is unusable: its record in"));
  for (const auto& refused :
       {host_->add_vm(named("b")), host_->find_vm("b"), host_->set_connected("b", 1, false)}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, model::ApiErrorCode::kStore);
    EXPECT_THAT(refused.error().message, HasSubstr("vm b is unusable"));
    EXPECT_THAT(refused.error().remedy, HasSubstr("paravane vm remove b"));
  }
  EXPECT_FALSE(std::filesystem::exists(dir_ / "vms/b.sock"));
}

TEST_F(DamagedStateTest, AVmThatIsLeftOutStaysUntilItIsRemoved) {
  break_row("vm", "b");
  ASSERT_TRUE(host_->remove_vm("a", false));
  ASSERT_TRUE(host_->add_vm(named("d")));
  EXPECT_EQ(DamagedRows(file_).read("vm", "spec", "b"), "{}");
  start();
  ASSERT_THAT(left_out(), SizeIs(1));
  ASSERT_TRUE(host_->remove_vm("b", false));
  EXPECT_THAT(left_out(), IsEmpty());
  EXPECT_EQ(host_->remove_vm("b", false).error().code, model::ApiErrorCode::kNotFound);
  EXPECT_TRUE(host_->add_vm(named("b")));
  start();
  EXPECT_THAT(left_out(), IsEmpty());
  EXPECT_TRUE(host_->find_vm("b"));
}

TEST_F(DamagedStateTest, ASwitchThatIsLeftOutIsNotMadeAgainBesideIt) {
  break_row("vds", "lan");
  EXPECT_THAT(left_out(), SizeIs(2));
  const auto vds = host_->create_switch({.name = "lan"});
  ASSERT_FALSE(vds);
  EXPECT_THAT(vds.error().message, HasSubstr("switch lan is unusable"));
  const auto group = host_->create_port_group({.name = "storage", .vds = "san"});
  ASSERT_FALSE(group);
  EXPECT_THAT(group.error().message,
              HasSubstr("port group storage is unusable: its switch lan is unusable"));
  EXPECT_EQ(host_->delete_switch("lan").error().code, model::ApiErrorCode::kInUse);
  EXPECT_EQ(DamagedRows(file_).read("vds", "spec", "lan"), "{}");
  ASSERT_TRUE(host_->delete_port_group("storage"));
  ASSERT_TRUE(host_->delete_switch("lan"));
  EXPECT_THAT(left_out(), IsEmpty());
  EXPECT_TRUE(host_->create_switch({.name = "lan"}));
}

TEST_F(DamagedStateTest, APortGroupThatIsLeftOutIsNotDeletedWhileItIsUsed) {
  start();
  auto spec = named("d");
  ASSERT_TRUE(host_->add_switch_host("lan", {.host = host_->status()->host}));
  spec.adapters[0].port_group = "storage";
  ASSERT_TRUE(host_->add_vm(spec));
  break_row("port_group", "storage");
  EXPECT_EQ(host_->delete_port_group("storage").error().code, model::ApiErrorCode::kInUse);
  EXPECT_THAT(host_->find_vm("d")->adapters[0].problem,
              HasSubstr("port group storage does not exist"));
  ASSERT_TRUE(host_->remove_vm("d", false));
  EXPECT_TRUE(host_->delete_port_group("storage"));
}

TEST_F(DamagedStateTest, ASettingThatIsLeftOutIsSetAgain) {
  start();
  ASSERT_TRUE(host_->set_setting({.path = "/Net/PVRDMAMaxAdapters", .value = "4"}));
  ASSERT_TRUE(host_->set_ruleset({.name = "pvrdma", .enabled = true}));
  host_.reset();
  DamagedRows(file_).write("document", "json", "/Net/PVRDMAMaxAdapters", "{");
  DamagedRows(file_).write("document", "json", "pvrdma", "{");
  start();
  ASSERT_THAT(left_out(), SizeIs(2));
  EXPECT_EQ(model::name_of(left_out()[0]), "firewall ruleset pvrdma");
  EXPECT_EQ(model::name_of(left_out()[1]), "setting /Net/PVRDMAMaxAdapters");
  // Also to what it is by itself.
  const std::string value = "8";
  ASSERT_TRUE(host_->set_setting({.path = "/Net/PVRDMAMaxAdapters", .value = value}));
  ASSERT_TRUE(host_->set_ruleset({.name = "pvrdma", .enabled = false}));
  EXPECT_THAT(left_out(), IsEmpty());
  start();
  EXPECT_THAT(left_out(), IsEmpty());
}

}  // namespace
}  // namespace paravane::host
