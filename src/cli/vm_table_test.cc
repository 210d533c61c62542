#include "cli/vm_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace paravane::cli {
namespace {

using State = vmm::Runner::State;
using testing::HasSubstr;

model::VmStatus some_vm() {
  model::VmStatus vm;
  vm.spec.name = "db1";
  vm.spec.adapters = {{.number = 1, .mac = model::MacAddress{2}, .port_group = "storage"},
                      {.number = 3, .protocol = model::Protocol::kRoceV1, .connected = false}};
  vm.adapters = {{.socket = "/a", .state = model::VmState::kActive, .pid = 7},
                 {.socket = "/b", .problem = "x"}};
  return vm;
}

std::string rows(const model::VmStatus& vm, vmm::Runner runner) {
  const std::string text = adapter_table({vm}, {runner}).print(text::TableFormat::kCsv);
  return text.substr(text.find('\n') + 1);
}

TEST(VmTable, HasARowForEachAdapter) {
  EXPECT_EQ(adapter_table({some_vm()}, {{State::kRunning, 7}}).print(text::TableFormat::kCsv),
            "Name,State,Adapter,MAC "
            "Address,Hardware,Protocol,Version,Doorbells,Connected,Port Group,PID,Socket,Problem,"
            "Power\n"
            "db1,active,1,02:00:00:00:00:00,21,v2,20,mapped,true,storage,7,/a,,running\n"
            "db1,detached,3,,21,v1,20,mapped,false,,7,/b,x,running\n");
}

TEST(VmTable, TheShortOneFitsA80ColumnTerminal) {
  model::VmStatus vm = some_vm();
  vm.spec.machine.memory_mib = 1536;
  const std::string text =
      short_vm_table({vm}, {{State::kRunning, 7}}).print(text::TableFormat::kTable);
  EXPECT_EQ(text,
            "Name  Power    Memory    Adapter  State     MAC Address        Port Group\n"
            "----  -------  --------  -------  --------  -----------------  ----------\n"
            "db1   running  1536 MiB  1        active    02:00:00:00:00:00  storage\n"
            "db1   running  1536 MiB  3        detached                     -\n");
  EXPECT_LE(text.find('\n'), 80u);
  vm.spec.machine.memory_mib = 4096;
  EXPECT_THAT(short_vm_table({vm}, {{State::kOff, 0}}).print(text::TableFormat::kCsv),
              HasSubstr("db1,attached,4 GiB,1,"));
}

TEST(VmTable, SaysWhoRunsAVm) {
  model::VmStatus vm = some_vm();
  EXPECT_THAT(rows(vm, {State::kOff, 0}), HasSubstr("x,attached\n"));
  EXPECT_THAT(rows(vm, {State::kUnknown, 0}), HasSubstr("x,attached\n"));
  vm.adapters[0] = {.socket = "/a"};
  EXPECT_THAT(rows(vm, {State::kOff, 0}), HasSubstr(",off\n"));
  EXPECT_THAT(rows(vm, {State::kUnknown, 0}), HasSubstr(",unknown\n"));
}

TEST(VmJson, IsTheObjectOfTheApiWithPowerAndProblems) {
  model::VmStatus vm = some_vm();
  vm.adapters[0] = {.socket = "/a"};
  const nlohmann::json json = vm_json(vm, {State::kRunning, 7});
  EXPECT_EQ(json.at("name"), "db1");
  EXPECT_EQ(json.at("power"), "running");
  EXPECT_EQ(json.at("machine").at("memory_mib"), 1024);
  EXPECT_EQ(json.at("adapters").size(), 2u);
  EXPECT_EQ(json.at("adapters")[0].at("mac"), "02:00:00:00:00:00");
  EXPECT_EQ(json.at("adapters")[0].at("port_group"), "storage");
  EXPECT_THAT(json.at("problem").get<std::string>(), HasSubstr("the VM runs without this adapter"));
  EXPECT_EQ(json.at("problem"), json.at("adapters")[0].at("problem"));
  EXPECT_EQ(json.at("adapters")[1].at("problem"), "x");
}

TEST(VmTable, SaysWhatHelpsAnAdapterThatIsDeadToItsGuest) {
  model::VmStatus vm = some_vm();
  vm.adapters[0].state = model::VmState::kDead;
  vm.adapters[1].state = model::VmState::kDead;
  const std::string text = rows(vm, {State::kOff, 0});
  EXPECT_THAT(text, HasSubstr("db1,dead,1,"));
  EXPECT_THAT(text, HasSubstr("reboot the guest"));
  EXPECT_THAT(text, HasSubstr("/sys/bus/pci/rescan"));
  EXPECT_THAT(text, HasSubstr("x; its VMM has reset it")) << "beside what else is wrong";
  EXPECT_EQ(power_of(vm, {State::kOff, 0}), "attached");
}

TEST(VmTable, SaysWhenAVmRunsWithoutItsAdapter) {
  model::VmStatus vm = some_vm();
  vm.adapters[0] = {.socket = "/a"};
  EXPECT_THAT(rows(vm, {State::kRunning, 9}), HasSubstr(",9,/a,the VM runs without this adapter"));
}

}  // namespace
}  // namespace paravane::cli
