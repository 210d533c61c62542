#include "vmm/machine_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace paravane::vmm {
namespace {

using model::Accelerator;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

model::VmStatus machine_vm() {
  model::VmStatus vm;
  vm.spec.name = "db1";
  vm.spec.adapters = {{.number = 1, .mac = model::MacAddress{2, 0x50, 0x56, 1, 2, 3}},
                      {.number = 3, .mac = model::MacAddress{2, 0x50, 0x56, 7, 8, 9}}};
  vm.adapters = {{.socket = "/run/db1.sock"}, {.socket = "/run/db1.3.sock"}};
  return vm;
}

// The word after an option's last one.
std::string value_of(const std::vector<std::string>& words, const std::string& option) {
  const auto found = std::find(words.rbegin(), words.rend(), option);
  return found == words.rend() || found == words.rbegin() ? "" : *std::prev(found);
}

TEST(MachineArguments, HaveARootPortForEachAdapterThatMayCome) {
  const auto words = machine_arguments(machine_vm(), {});
  ASSERT_TRUE(words);
  EXPECT_THAT(
      *words,
      Contains("pcie-root-port,id=paravane-port0,chassis=1,slot=1,addr=10.0,mem-reserve=8M"));
  EXPECT_THAT(
      *words,
      Contains("pcie-root-port,id=paravane-port7,chassis=8,slot=8,addr=17.0,mem-reserve=8M"));
  EXPECT_THAT(*words, Contains("vmxnet3,id=paravane-nic2,mac=02:50:56:07:08:09,"
                               "bus=paravane-port2,addr=0.0,multifunction=on"));
  EXPECT_THAT(*words, Contains(R"({"driver":"vfio-user-pci","id":"paravane2",)"
                               R"("bus":"paravane-port2","addr":"0.1",)"
                               R"("socket":{"type":"unix","path":"/run/db1.3.sock"}})"));
}

TEST(MachineArguments, ReachLunsAtTheirSockets) {
  model::VmStatus vm = machine_vm();
  vm.spec.machine.disks = {{.file = "/a"}, {.read_only = true, .lun = "naa.6001405"}};
  const auto words = machine_arguments(vm, {.luns = {{"naa.6001405", "/run/a,b/naa.sock"}}});
  ASSERT_TRUE(words);
  EXPECT_THAT(*words, Contains(R"({"node-name":"disk1","driver":"nbd","read-only":true,)"
                               R"("discard":"unmap",)"
                               R"("server":{"type":"unix","path":"/run/a,b/naa.sock"},)"
                               R"("export":"naa.6001405","reconnect-delay":60,)"
                               R"("open-timeout":30})"));
  EXPECT_THAT(*words, Contains("virtio-blk-pci,drive=disk1,bootindex=2"));
  EXPECT_EQ(machine_arguments(vm, {}).error().code, Errc::kNotFound);
}

TEST(MachineArguments, PutNicsOnOpenTaps) {
  const auto words = machine_arguments(machine_vm(), {.taps = {{3, 7}}});
  ASSERT_TRUE(words);
  EXPECT_THAT(*words, Contains("tap,id=paravane-net2,fd=7"));
  EXPECT_THAT(*words, Contains(HasSubstr("vmxnet3,id=paravane-nic2,netdev=paravane-net2,")));
  EXPECT_EQ(std::ranges::count(*words, "-netdev"), 1);
}

TEST(MachineArguments, HaveSharedMemoryAndWhatTheMachineHas) {
  model::VmStatus vm = machine_vm();
  vm.spec.machine = {.memory_mib = 2048,
                     .cpus = 3,
                     .lock_memory = true,
                     .huge_pages = true,
                     .kernel = "/boot/k,1",
                     .initrd = "/boot/i",
                     .append = "a=b,c",
                     .disks = {{.file = "/srv/a,if=none.img",
                                .format = model::DiskFormat::kQcow2,
                                .read_only = true}},
                     .qemu_arguments = {"-vga", "std"}};
  const auto words = machine_arguments(vm, {});
  ASSERT_TRUE(words);
  EXPECT_EQ(value_of(*words, "-m"), "2048M");
  EXPECT_EQ(value_of(*words, "-smp"), "3");
  EXPECT_EQ(value_of(*words, "-object"),
            "memory-backend-memfd,id=paravane-ram,size=2048M,share=on,"
            "hugetlb=on,hugetlbsize=2M");
  EXPECT_EQ(value_of(*words, "-machine"), "q35,memory-backend=paravane-ram,dump-guest-core=off");
  EXPECT_EQ(value_of(*words, "-overcommit"), "mem-lock=on");
  EXPECT_EQ(value_of(*words, "-kernel"), "/boot/k,1");
  EXPECT_EQ(value_of(*words, "-append"), "a=b,c");
  EXPECT_EQ(value_of(*words, "-blockdev"),
            R"({"node-name":"disk0","driver":"qcow2","read-only":true,)"
            R"("file":{"driver":"file","filename":"/srv/a,if=none.img"}})");
  EXPECT_EQ(value_of(*words, "-vga"), "std");
  EXPECT_EQ(words->back(), "std");
}

TEST(MachineArguments, LockNothingUnasked) {
  EXPECT_THAT(*machine_arguments(machine_vm(), {}), Not(Contains("-overcommit")));
}

TEST(MachineArguments, TakeKvmWhereItIs) {
  model::VmStatus vm = machine_vm();
  EXPECT_THAT(*machine_arguments(vm, {.kvm = true}), IsSupersetOf({"kvm", "host"}));
  EXPECT_THAT(*machine_arguments(vm, {.kvm = false}), IsSupersetOf({"tcg", "max"}));
  vm.spec.machine.accelerator = model::Accelerator::kTcg;
  vm.spec.machine.cpu_model = "Nehalem-v1,+rdrand";
  EXPECT_THAT(*machine_arguments(vm, {.kvm = true}), IsSupersetOf({"tcg", "Nehalem-v1,+rdrand"}));
  vm.spec.machine.accelerator = model::Accelerator::kKvm;
  EXPECT_EQ(machine_arguments(vm, {.kvm = false}).error().code, Errc::kUnsupported);
}

TEST(MachineArguments, AreSandboxed) {
  EXPECT_THAT(value_of(*machine_arguments(machine_vm(), {}), "-sandbox"), HasSubstr("spawn=deny"));
}

}  // namespace
}  // namespace paravane::vmm
