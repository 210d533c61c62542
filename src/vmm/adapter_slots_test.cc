#include "vmm/adapter_slots.h"

#include <gtest/gtest.h>

#include "model/vm.h"

namespace paravane::vmm {
namespace {

model::VmStatus some_vm() {
  model::VmStatus vm;
  vm.spec.name = "db1";
  vm.spec.adapters = {{.number = 1, .mac = model::MacAddress{2, 0x50, 0x56, 1, 2, 3}}};
  vm.adapters = {{.socket = "/run/db1.sock", .tap = "pv-db1"}};
  return vm;
}

TEST(CheckAnswer, TakesWhatADaemonSays) {
  EXPECT_TRUE(check_answer(some_vm()));
}

// What an engine that was broken into might answer to root.
TEST(CheckAnswer, RefusesWhatRootMayNotActOn) {
  const auto refused = [](auto change) {
    model::VmStatus vm = some_vm();
    change(vm);
    return !check_answer(vm) && !slots_of(vm, kFirstSlot);
  };
  EXPECT_TRUE(refused([](auto& vm) { vm.spec.name = "../../etc"; }));
  EXPECT_TRUE(refused([](auto& vm) { vm.spec.adapters[0].mac.reset(); }));
  EXPECT_TRUE(refused([](auto& vm) { vm.adapters[0].tap = "pv-db2"; }));
  for (const char* socket :
       {"", "db1.sock", "/run/db2.sock", "/run/xdb1.sock", "/run/db1.2.sock"}) {
    EXPECT_TRUE(refused([socket](auto& vm) { vm.adapters[0].socket = socket; })) << socket;
  }
  EXPECT_TRUE(refused([](auto& vm) { vm.adapters.emplace_back(); }));
  EXPECT_TRUE(refused([](auto& vm) { vm.spec.machine.kernel = "../boot/k"; }));
}

}  // namespace
}  // namespace paravane::vmm
