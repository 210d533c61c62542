#include "host/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <optional>
#include <set>
#include <string>
#include <thread>

#include "testing/raw_vfio_client.h"
#include "testing/temp_dir.h"

namespace paravane::host {
namespace {

using model::ApiErrorCode;
using model::Protocol;
using model::VmSpec;
using model::VmState;
using testing::HasSubstr;

model::VmSpec vm_named(const std::string& name) {
  model::VmSpec spec;
  spec.name = name;
  return spec;
}

model::LimitChange limit(std::string_view name, std::uint32_t value) {
  for (const model::LimitField& field : model::kLimitFields) {
    if (field.name == name) return {.field = &field, .value = value};
  }
  return {};
}

class HostTest : public testing::Test {
 protected:
  HostTest() {
    std::filesystem::create_directory(dir_ / "state");
    std::filesystem::create_directory(dir_ / "vms");
    config_.config.state_dir = dir_ / "state";
    config_.config.vfio_user.socket_dir = dir_ / "vms";
    start();
  }
  void start() {
    auto host = Host::start(config_, [this] { ++stops_; });
    ASSERT_TRUE(host) << host.error().message;
    host_ = std::move(*host);
  }
  std::filesystem::path socket_of(const std::string& name) const {
    return dir_.path() / "vms" / (name + ".sock");
  }
  // A VMM that says hello. The daemon answers on a thread of its own.
  RawVfioClient attach(const std::string& name) {
    RawVfioClient client(socket_of(name),
                         [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
    EXPECT_TRUE(client.connected());
    EXPECT_TRUE(client.negotiate());
    return client;
  }
  model::VmState state_of(const std::string& name) {
    const auto vm = host_->find_vm(name);
    return vm ? vm->adapters[0].state : model::VmState::kFailed;
  }

  std::optional<model::MacAddress> mac_of(const std::string& name) {
    const auto vm = host_->find_vm(name);
    return vm ? vm->spec.adapters[0].mac : std::nullopt;
  }

  TempDir dir_;
  HostConfig config_;
  int stops_ = 0;
  std::unique_ptr<Host> host_;
};

TEST_F(HostTest, AddsAVmWithASocketAndAnAddress) {
  const auto vm = host_->add_vm(vm_named("db1"));
  ASSERT_TRUE(vm) << vm.error().message;
  ASSERT_TRUE(vm->spec.adapters[0].mac);
  EXPECT_TRUE(model::is_unicast(*vm->spec.adapters[0].mac));
  EXPECT_EQ(vm->adapters[0].socket, socket_of("db1").string());
  EXPECT_EQ(vm->adapters[0].state, model::VmState::kDetached);
  EXPECT_TRUE(std::filesystem::is_socket(socket_of("db1")));
}

TEST_F(HostTest, GivesTheSocketItsMode) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  struct stat info{};
  ASSERT_EQ(stat(socket_of("db1").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0660u);
}

TEST_F(HostTest, BringsVmsBackAfterARestart) {
  model::VmSpec spec = vm_named("db1");
  spec.version = 18;
  spec.limits.queue_pairs = 64;
  const auto added = host_->add_vm(spec);
  host_.reset();
  EXPECT_FALSE(std::filesystem::exists(socket_of("db1")));
  start();
  const auto back = host_->find_vm("db1");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->spec, added->spec);
  EXPECT_TRUE(std::filesystem::is_socket(socket_of("db1")));
}

TEST_F(HostTest, RefusesNamesAndAddressesThatExist) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  // Its socket would be refused with the same code, for a reason that helps nobody.
  const auto again = host_->add_vm(vm_named("db1"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, model::ApiErrorCode::kExists);
  EXPECT_EQ(again.error().message, "vm db1 already exists");
  model::VmSpec twin = vm_named("db2");
  twin.adapters[0].mac = mac_of("db1");
  EXPECT_EQ(host_->add_vm(twin).error().code, model::ApiErrorCode::kMacInUse);
  EXPECT_EQ(host_->vm_count(), 1u);
}

TEST_F(HostTest, ChoosesAnotherAddressIfItsFirstIsTaken) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  model::VmSpec thief = vm_named("thief");
  thief.adapters[0].mac = mac_of("db1");
  ASSERT_TRUE(host_->remove_vm("db1", false));
  ASSERT_TRUE(host_->add_vm(thief));
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  EXPECT_NE(mac_of("db1"), mac_of("thief"));
}

TEST_F(HostTest, AVmThatIsAddedAgainHasItsAddressAndAnotherHostsHasAnother) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  const auto mac = mac_of("db1");
  ASSERT_TRUE(host_->remove_vm("db1", false));
  host_.reset();
  start();
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  EXPECT_EQ(mac_of("db1"), mac);
  host_.reset();
  std::filesystem::create_directory(dir_ / "other");
  config_.config.state_dir = dir_ / "other";
  start();
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  EXPECT_NE(mac_of("db1"), mac);
}

// ---- changes ----

TEST_F(HostTest, ChangesAVmAndKeepsItOverARestart) {
  model::VmSpec spec = vm_named("db1");
  spec.hw_version = 13;
  spec.version = 17;
  spec.adapters[0].protocol = model::Protocol::kRoceV1;
  ASSERT_TRUE(host_->add_vm(spec));
  const auto changed =
      host_->set_vm("db1", {.hw_version = 14, .limits = {limit("queue_pairs", 64)}});
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->spec.hw_version, 14u);
  EXPECT_EQ(changed->spec.version, 20u);
  EXPECT_EQ(changed->spec.adapters[0].protocol, model::Protocol::kRoceV1);
  EXPECT_EQ(changed->spec.limits.queue_pairs, 64u);
  host_.reset();
  start();
  EXPECT_EQ(host_->find_vm("db1")->spec, changed->spec);
  attach("db1");
}

TEST_F(HostTest, RefusesToChangeAnAttachedVm) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  ASSERT_TRUE(host_->add_adapter("db1", {}));
  const RawVfioClient vmm = attach("db1.2");
  const auto refused = host_->set_vm("db1", {.hw_version = 15});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, model::ApiErrorCode::kVmsAttached);
  EXPECT_EQ(refused.error().vms, std::vector<std::string>{"db1"});
  EXPECT_THAT(refused.error().remedy, HasSubstr("Shut down the VM"));
  EXPECT_EQ(host_->find_vm("db1")->spec.hw_version, 21u);
}

TEST_F(HostTest, RefusesAChangeThatTheDeviceCannotExpress) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  const auto before = host_->find_vm("db1");
  const auto refused = host_->set_vm("db1", {.limits = {limit("queue_pair_requests", 2)}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, model::ApiErrorCode::kInvalidRequest);
  EXPECT_EQ(host_->set_vm("db2", {.hw_version = 14}).error().code, model::ApiErrorCode::kNotFound);
  EXPECT_EQ(*host_->find_vm("db1"), *before);
  attach("db1");
}

TEST_F(HostTest, KeepsAVmThatCannotBeChanged) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  ASSERT_TRUE(host_->add_adapter("db1", {}));
  // What stands in the way of the second socket cannot be removed by the first one's
  // going: the change fails half way, and is undone.
  std::filesystem::remove(socket_of("db1.2"));
  std::filesystem::create_directory(socket_of("db1.2"));
  const auto refused = host_->set_vm("db1", {.hw_version = 15});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, model::ApiErrorCode::kSocket);
  EXPECT_EQ(state_of("db1"), model::VmState::kDetached);
  EXPECT_EQ(host_->find_vm("db1")->adapters[1].state, model::VmState::kFailed);
  EXPECT_EQ(host_->find_vm("db1")->spec.hw_version, 21u);
  std::filesystem::remove(socket_of("db1.2"));
  const auto changed = host_->set_vm("db1", {.hw_version = 15});
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->adapters[1].state, model::VmState::kDetached);
}

// ---- adapters ----

TEST_F(HostTest, GivesEachAdapterASocketAndAnAddress) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  std::set<model::MacAddress> macs{*mac_of("db1")};
  for (std::uint32_t number = 2; number <= 8; ++number) {
    const auto vm = host_->add_adapter("db1", {});
    ASSERT_TRUE(vm) << vm.error().message;
    EXPECT_EQ(vm->spec.adapters.back().number, number);
    ASSERT_TRUE(vm->spec.adapters.back().mac);
    EXPECT_TRUE(macs.insert(*vm->spec.adapters.back().mac).second);
    EXPECT_TRUE(std::filesystem::is_socket(vm->adapters.back().socket));
  }
  const auto ninth = host_->add_adapter("db1", {});
  ASSERT_FALSE(ninth);
  EXPECT_EQ(ninth.error().code, model::ApiErrorCode::kLimitReached);
  const auto before = host_->find_vm("db1");
  host_.reset();
  start();
  EXPECT_EQ(*host_->find_vm("db1"), *before);
  EXPECT_EQ(host_->vm_count(), 1u);
}

TEST_F(HostTest, AdaptersAreAttachedAndCountedOneByOne) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  ASSERT_TRUE(host_->add_adapter("db1", {}));
  const RawVfioClient first = attach("db1");
  const RawVfioClient second = attach("db1.2");
  EXPECT_EQ(host_->attached_vms(), std::vector<std::string>{"db1"});
  EXPECT_EQ(host_->status()->attached, 1u);
  const auto stats = host_->stats("db1");
  ASSERT_EQ(stats->vms.size(), 2u);
  EXPECT_EQ(stats->vms[1].name, "db1");
  EXPECT_EQ(stats->vms[1].adapter, 2u);
}

TEST_F(HostTest, AddsAnAdapterWhileAnotherIsAttached) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  const RawVfioClient vmm = attach("db1");
  const auto vm = host_->add_adapter("db1", {});
  ASSERT_TRUE(vm);
  EXPECT_EQ(vm->adapters[0].state, model::VmState::kAttached);
  EXPECT_EQ(vm->adapters[1].state, model::VmState::kDetached);
}

TEST_F(HostTest, RemovesAnAttachedAdapterByForceOnly) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  ASSERT_TRUE(host_->add_adapter("db1", {}));
  ASSERT_TRUE(host_->add_adapter("db1", {}));
  const RawVfioClient first = attach("db1");
  EXPECT_TRUE(host_->remove_adapter("db1", 3, false));
  RawVfioClient second = attach("db1.2");
  EXPECT_EQ(host_->remove_adapter("db1", 2, false).error().code, model::ApiErrorCode::kVmsAttached);
  const auto rest = host_->remove_adapter("db1", 2, true);
  ASSERT_TRUE(rest);
  EXPECT_TRUE(second.is_closed());
  EXPECT_EQ(rest->adapters.size(), 1u);
  EXPECT_EQ(rest->adapters[0].state, model::VmState::kAttached);
  EXPECT_FALSE(std::filesystem::exists(socket_of("db1.2")));
}

TEST_F(HostTest, RemembersThatAnAdapterIsDisconnected) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  const RawVfioClient vmm = attach("db1");
  const auto out = host_->set_connected("db1", 1, false);
  ASSERT_TRUE(out);
  EXPECT_FALSE(out->spec.adapters[0].connected);
  EXPECT_EQ(out->adapters[0].state, model::VmState::kAttached);
  host_.reset();
  start();
  EXPECT_FALSE(host_->find_vm("db1")->spec.adapters[0].connected);
  EXPECT_EQ(host_->set_connected("db1", 2, true).error().code, model::ApiErrorCode::kNotFound);
  EXPECT_EQ(host_->set_connected("db2", 1, true).error().code, model::ApiErrorCode::kNotFound);
}

TEST_F(HostTest, KeepsTheFirstAdapter) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  EXPECT_EQ(host_->remove_adapter("db1", 1, true).error().code,
            model::ApiErrorCode::kInvalidRequest);
  EXPECT_EQ(host_->remove_adapter("db1", 2, true).error().code, model::ApiErrorCode::kNotFound);
  EXPECT_EQ(host_->remove_adapter("db2", 2, true).error().code, model::ApiErrorCode::kNotFound);
  EXPECT_TRUE(host_->add_adapter("db1", {}));
  EXPECT_TRUE(host_->remove_vm("db1", false));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "vms" / "db1.sock"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "vms" / "db1.2.sock"));
}

TEST_F(HostTest, RefusesAnAddressThatAnyAdapterHas) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  ASSERT_TRUE(host_->add_vm(vm_named("db2")));
  for (const char* name : {"db1", "db2"}) {
    EXPECT_EQ(host_->add_adapter("db2", {.mac = mac_of(name)}).error().code,
              model::ApiErrorCode::kMacInUse);
  }
}

// "db1.2" is a good name, and its socket would be that of db1's second adapter.
TEST_F(HostTest, RefusesASocketThatAnotherVmHas) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  ASSERT_TRUE(host_->add_vm(vm_named("db1.2")));
  const auto adapter = host_->add_adapter("db1", {});
  ASSERT_FALSE(adapter);
  EXPECT_EQ(adapter.error().code, model::ApiErrorCode::kExists);
  EXPECT_THAT(adapter.error().message, HasSubstr("db1.2.sock is already the socket of vm db1.2"));
  ASSERT_TRUE(host_->remove_vm("db1.2", false));
  ASSERT_TRUE(host_->add_adapter("db1", {}));
  EXPECT_EQ(host_->add_vm(vm_named("db1.2")).error().code, model::ApiErrorCode::kExists);
}

TEST_F(HostTest, UndoesAnAdapterWhoseSocketCannotBeMade) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  std::filesystem::create_directory(socket_of("db1.2"));
  EXPECT_EQ(host_->add_adapter("db1", {}).error().code, model::ApiErrorCode::kSocket);
  EXPECT_EQ(host_->find_vm("db1")->adapters.size(), 1u);
  std::filesystem::remove(socket_of("db1.2"));
  EXPECT_TRUE(host_->add_adapter("db1", {}));
}

// ---- as a whole ----

TEST_F(HostTest, HoldsNoMoreVmsThanItMay) {
  host_.reset();
  config_.config.vfio_user.max_vms = 2;
  start();
  ASSERT_TRUE(host_->add_vm(vm_named("a")));
  ASSERT_TRUE(host_->add_vm(vm_named("b")));
  EXPECT_EQ(host_->add_vm(vm_named("c")).error().code, model::ApiErrorCode::kLimitReached);
  ASSERT_TRUE(host_->remove_vm("a", false));
  EXPECT_TRUE(host_->add_vm(vm_named("c")));
}

TEST_F(HostTest, UndoesAnAddWhoseSocketCannotBeMade) {
  std::filesystem::create_directory(socket_of("db1"));
  const auto vm = host_->add_vm(vm_named("db1"));
  ASSERT_FALSE(vm);
  EXPECT_EQ(vm.error().code, model::ApiErrorCode::kSocket);
  EXPECT_THAT(vm.error().message, HasSubstr(socket_of("db1").string()));
  EXPECT_EQ(host_->vm_count(), 0u);
  host_.reset();
  start();
  EXPECT_EQ(host_->vm_count(), 0u);
}

TEST_F(HostTest, KeepsAVmWhoseSocketCannotBeMadeAtStart) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  ASSERT_TRUE(host_->add_vm(vm_named("db2")));
  host_.reset();
  std::filesystem::create_directory(socket_of("db1"));
  start();
  const auto failed = host_->find_vm("db1");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->adapters[0].state, model::VmState::kFailed);
  EXPECT_THAT(failed->adapters[0].problem, HasSubstr("db1.sock"));
  EXPECT_EQ(state_of("db2"), model::VmState::kDetached);
  EXPECT_TRUE(host_->remove_vm("db1", false));
}

TEST_F(HostTest, KnowsWhoIsAttached) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  {
    const RawVfioClient vmm = attach("db1");
    const auto vm = host_->find_vm("db1");
    EXPECT_EQ(vm->adapters[0].state, model::VmState::kAttached);
    EXPECT_EQ(vm->adapters[0].pid, getpid());
    EXPECT_EQ(host_->attached_vms(), std::vector<std::string>{"db1"});
    EXPECT_EQ(host_->status()->attached, 1u);
  }
  for (int i = 0; i < 1000 && state_of("db1") != model::VmState::kDetached; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(state_of("db1"), model::VmState::kDetached);
}

TEST_F(HostTest, RefusesToRemoveAnAttachedVmWithoutForce) {
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  RawVfioClient vmm = attach("db1");
  const auto refused = host_->remove_vm("db1", false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, model::ApiErrorCode::kVmsAttached);
  EXPECT_EQ(refused.error().vms, std::vector<std::string>{"db1"});
  EXPECT_EQ(state_of("db1"), model::VmState::kAttached);
  EXPECT_TRUE(host_->remove_vm("db1", true));
  EXPECT_TRUE(vmm.is_closed());
  EXPECT_FALSE(std::filesystem::exists(socket_of("db1")));
}

TEST_F(HostTest, RefusesToStopWithAttachedVmsWithoutForce) {
  ASSERT_TRUE(host_->add_vm(vm_named("a")));
  ASSERT_TRUE(host_->add_vm(vm_named("b")));
  ASSERT_TRUE(host_->add_vm(vm_named("c")));
  const RawVfioClient first = attach("a");
  const RawVfioClient second = attach("c");
  const auto refused = host_->stop(false);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("a, c"));
  EXPECT_EQ(stops_, 0);
  EXPECT_TRUE(host_->stop(true));
  EXPECT_EQ(stops_, 1);
}

TEST_F(HostTest, CanAddARemovedVmAgainAtOnce) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(host_->add_vm(vm_named("db1")));
    ASSERT_TRUE(host_->remove_vm("db1", false));
  }
  EXPECT_EQ(host_->remove_vm("db1", false).error().code, model::ApiErrorCode::kNotFound);
}

TEST_F(HostTest, GivesAVmAsManyAdaptersAsTheSettingSays) {
  const auto set = [this](const char* value) {
    EXPECT_TRUE(
        host_->set_setting({.path = std::string(model::kPvrdmaMaxAdapters), .value = value}));
  };
  ASSERT_TRUE(host_->add_vm(vm_named("db1")));
  ASSERT_TRUE(host_->add_adapter("db1", {}));
  set("1");
  host_.reset();
  start();
  const auto third = host_->add_adapter("db1", {});
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, model::ApiErrorCode::kLimitReached);
  EXPECT_THAT(third.error().message, HasSubstr("/Net/PVRDMAMaxAdapters is 1"));
  EXPECT_THAT(third.error().remedy, HasSubstr("-o /Net/PVRDMAMaxAdapters -i 3"));
  EXPECT_EQ(host_->find_vm("db1")->adapters.size(), 2u) << "what it has stays";
  model::VmSpec two = vm_named("db2");
  two.adapters.push_back({.number = 2});
  EXPECT_EQ(host_->add_vm(two).error().code, model::ApiErrorCode::kLimitReached);
  set("3");
  EXPECT_TRUE(host_->add_adapter("db1", {}));
}

TEST_F(HostTest, CountsPerVm) {
  ASSERT_TRUE(host_->add_vm(vm_named("a")));
  ASSERT_TRUE(host_->add_vm(vm_named("b")));
  const RawVfioClient vmm = attach("b");
  const auto all = host_->stats(std::nullopt);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->vms.size(), 2u);
  EXPECT_EQ(all->vms[0].name, "a");
  const auto one = host_->stats("b");
  ASSERT_EQ(one->vms.size(), 1u);
  bool counted = false;
  for (const auto& group : one->vms[0].groups) {
    for (const auto& counter : group.counters) {
      counted = counted || (counter.name == "vfio_user_messages" && counter.value >= 1);
    }
  }
  EXPECT_TRUE(counted);
  EXPECT_EQ(host_->stats("c").error().code, model::ApiErrorCode::kNotFound);
}

TEST_F(HostTest, RefusesALimitThatTheDeviceCannotExpress) {
  model::VmSpec spec = vm_named("db1");
  spec.limits.queue_pairs = 2;
  spec.limits.completion_queues = 2;
  const auto smallest = host_->add_vm(spec);
  EXPECT_TRUE(smallest) << smallest.error().message;
}

TEST_F(HostTest, SecondDaemonOnTheSameStateIsRefused) {
  auto second = Host::start(config_, [] {});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another paravaned is using"));
}

TEST_F(HostTest, SecondDaemonOnTheSameSocketsIsRefused) {
  const TempDir other_state;
  config_.config.state_dir = other_state.path();
  auto second = Host::start(config_, [] {});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another paravaned is using " +
                                                config_.config.vfio_user.socket_dir.string()));
}

TEST_F(HostTest, MissingSocketDirectoryIsNamed) {
  host_.reset();
  config_.config.vfio_user.socket_dir = dir_ / "none";
  const auto host = Host::start(config_, [] {});
  ASSERT_FALSE(host);
  EXPECT_THAT(host.error().message, HasSubstr((dir_ / "none").string()));
}

}  // namespace
}  // namespace paravane::host
