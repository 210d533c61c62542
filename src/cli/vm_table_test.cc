#include "cli/vm_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::cli {
namespace {

using State = vmm::Runner::State;
using testing::HasSubstr;

control::VmStatus some_vm() {
  control::VmStatus vm;
  vm.spec.name = "db1";
  vm.spec.adapters = {{.number = 1, .mac = control::MacAddress{2}, .port_group = "storage"},
                      {.number = 3, .protocol = control::Protocol::kRoceV1, .connected = false}};
  vm.adapters = {{.socket = "/a", .state = control::VmState::kActive, .pid = 7},
                 {.socket = "/b", .problem = "x"}};
  return vm;
}

std::string rows(const control::VmStatus& vm, vmm::Runner runner) {
  const std::string text = adapter_table({vm}, {runner}).print(control::TableFormat::kCsv);
  return text.substr(text.find('\n') + 1);
}

TEST(VmTable, HasARowForEachAdapter) {
  EXPECT_EQ(adapter_table({some_vm()}, {{State::kRunning, 7}}).print(control::TableFormat::kCsv),
            "Name,State,Adapter,MAC "
            "Address,Hardware,Protocol,Version,Doorbells,Connected,Port Group,PID,Socket,Problem,"
            "Power\n"
            "db1,active,1,02:00:00:00:00:00,21,v2,20,mapped,true,storage,7,/a,,running\n"
            "db1,detached,3,,21,v1,20,mapped,false,,7,/b,x,running\n");
}

TEST(VmTable, SaysWhoRunsAVm) {
  control::VmStatus vm = some_vm();
  EXPECT_THAT(rows(vm, {State::kOff, 0}), HasSubstr("x,attached\n"));
  EXPECT_THAT(rows(vm, {State::kUnknown, 0}), HasSubstr("x,attached\n"));
  vm.adapters[0] = {.socket = "/a"};
  EXPECT_THAT(rows(vm, {State::kOff, 0}), HasSubstr(",off\n"));
  EXPECT_THAT(rows(vm, {State::kUnknown, 0}), HasSubstr(",unknown\n"));
  EXPECT_THAT(adapter_table({vm}, {{State::kOff, 0}}).print(control::TableFormat::kJson),
              HasSubstr("\"PID\": null"));
}

TEST(VmTable, SaysWhenAVmRunsWithoutItsAdapter) {
  control::VmStatus vm = some_vm();
  vm.adapters[0] = {.socket = "/a"};
  EXPECT_THAT(rows(vm, {State::kRunning, 9}), HasSubstr(",9,/a,the VM runs without it"));
}

}  // namespace
}  // namespace paravane::cli
