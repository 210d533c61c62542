#include "model/vm_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace paravane::model {
namespace {

using testing::HasSubstr;

VmMachine full_machine() {
  return {.memory_mib = 4096,
          .cpus = 8,
          .accelerator = Accelerator::kTcg,
          .cpu_model = "Nehalem-v1,+rdrand",
          .lock_memory = true,
          .huge_pages = true,
          .kernel = "/boot/vmlinuz",
          .initrd = "/boot/initrd.img",
          .append = "root=/dev/vda1 console=ttyS0",
          .disks = {{.file = "/srv/a,b.qcow2", .format = DiskFormat::kQcow2, .read_only = true},
                    {.file = "/srv/c"}},
          .qemu_arguments = {"-device", "virtio-rng-pci"}};
}

std::string complaint(const VmMachine& machine) {
  const Status good = check_machine(machine);
  return good ? "" : good.error().message;
}

TEST(VmMachine, OfDefaultsIsGood) {
  EXPECT_EQ(complaint(VmMachine{}), "");
  EXPECT_EQ(complaint(full_machine()), "");
}

TEST(VmMachine, MemoryAndProcessorsAreBounded) {
  EXPECT_THAT(complaint(VmMachine{.memory_mib = 0}), HasSubstr("memory is 0 MiB"));
  EXPECT_THAT(complaint(VmMachine{.memory_mib = (16u << 20) + 1}), HasSubstr("1 to 16777216"));
  EXPECT_THAT(complaint(VmMachine{.memory_mib = 3, .huge_pages = true}), HasSubstr("even"));
  EXPECT_THAT(complaint(VmMachine{.cpus = 0}), HasSubstr("cpus is 0"));
  EXPECT_THAT(complaint(VmMachine{.cpus = 289}), HasSubstr("1 to 288"));
}

TEST(VmMachine, FilesAreWholePathsOfText) {
  EXPECT_THAT(complaint(VmMachine{.kernel = "vmlinuz"}), HasSubstr("absolute path"));
  EXPECT_THAT(complaint(VmMachine{.kernel = "/a\nb"}), HasSubstr("control characters"));
  EXPECT_THAT(complaint(VmMachine{.disks = {{.file = "-drive"}}}), HasSubstr("absolute path"));
  EXPECT_THAT(complaint(VmMachine{.disks = {{.file = "/a"}, {.file = "/a"}}}), HasSubstr("twice"));
  EXPECT_THAT(complaint(VmMachine{.disks = {{.lun = "naa.1"}, {.lun = "naa.2"}}}), "");
  EXPECT_THAT(complaint(VmMachine{.disks = {{.lun = "naa.1"}, {.lun = "naa.1"}}}),
              HasSubstr("naa.1 is specified twice"));
  EXPECT_THAT(complaint(VmMachine{.disks = {{.file = "/a", .lun = "naa.1"}}}),
              HasSubstr("not both"));
  EXPECT_THAT(complaint(VmMachine{.disks = {{.lun = "../a"}}}), HasSubstr("naa."));
  EXPECT_THAT(complaint(VmMachine{.disks = {{.format = DiskFormat::kQcow2, .lun = "naa.1"}}}),
              HasSubstr("always raw"));
  EXPECT_THAT(complaint(VmMachine{.disks = std::vector<Disk>(13, Disk{.file = "/a"})}),
              HasSubstr("at most 12"));
}

TEST(VmMachine, InitrdAndAppendNeedAKernel) {
  EXPECT_THAT(complaint(VmMachine{.initrd = "/i"}), HasSubstr("require a kernel"));
  EXPECT_THAT(complaint(VmMachine{.append = "quiet"}), HasSubstr("require a kernel"));
}

TEST(VmMachine, ArgumentsAreBounded) {
  EXPECT_THAT(complaint(VmMachine{.qemu_arguments = std::vector<std::string>(65, "a")}),
              HasSubstr("64 words"));
  EXPECT_THAT(complaint(VmMachine{.qemu_arguments = {std::string(2048, 'a')}}), HasSubstr("2047"));
  EXPECT_THAT(
      complaint(VmMachine{.qemu_arguments = std::vector<std::string>(9, std::string(2000, 'a'))}),
      HasSubstr("16384"));
  EXPECT_THAT(complaint(VmMachine{.qemu_arguments = {std::string("a\0b", 3)}}),
              HasSubstr("control"));
}

TEST(VmMachine, ChangesWhatIsNamedAlone) {
  const VmMachine changed = apply({.cpus = 2, .disks = std::vector<Disk>{}}, full_machine());
  VmMachine expected = full_machine();
  expected.cpus = 2;
  expected.disks.clear();
  EXPECT_EQ(changed, expected);
  EXPECT_TRUE(VmMachineChange{}.empty());
  EXPECT_FALSE(VmMachineChange{.append = ""}.empty());
}

}  // namespace
}  // namespace paravane::model
