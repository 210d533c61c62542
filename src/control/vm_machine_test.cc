#include "control/vm_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "control/vm_machine_json.h"

namespace paravane::control {
namespace {

using nlohmann::json;
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

std::string complaint(const char* text) {
  const auto change = machine_change_from_json(json::parse(text), UnknownKeys::kRefused);
  return change ? "" : change.error().message;
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
  EXPECT_THAT(complaint(VmMachine{.kernel = "vmlinuz"}), HasSubstr("whole path"));
  EXPECT_THAT(complaint(VmMachine{.kernel = "/a\nb"}), HasSubstr("control characters"));
  EXPECT_THAT(complaint(VmMachine{.disks = {{.file = "-drive"}}}), HasSubstr("whole path"));
  EXPECT_THAT(complaint(VmMachine{.disks = {{.file = "/a"}, {.file = "/a"}}}), HasSubstr("twice"));
  EXPECT_THAT(complaint(VmMachine{.disks = std::vector<Disk>(13, Disk{.file = "/a"})}),
              HasSubstr("at most 12"));
}

TEST(VmMachine, InitrdAndAppendNeedAKernel) {
  EXPECT_THAT(complaint(VmMachine{.initrd = "/i"}), HasSubstr("with a kernel"));
  EXPECT_THAT(complaint(VmMachine{.append = "quiet"}), HasSubstr("with a kernel"));
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

TEST(VmMachineJson, ComesBackAsItWas) {
  const auto read = machine_change_from_json(to_json(full_machine()), UnknownKeys::kRefused);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(apply(*read, {}), full_machine());
  EXPECT_EQ(to_json(*read), to_json(full_machine()));
  EXPECT_EQ(to_json(VmMachineChange{}), json::object());
}

TEST(VmMachineJson, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(complaint("{}"), "");
  EXPECT_THAT(complaint(R"({"memory":1})"), HasSubstr("memory"));
  EXPECT_THAT(complaint(R"({"cpus":"2"})"), HasSubstr("cpus"));
  EXPECT_THAT(complaint(R"({"cpus":4294967296})"), HasSubstr("cpus"));
  EXPECT_THAT(complaint(R"({"accelerator":"xen"})"), HasSubstr("tcg"));
  EXPECT_THAT(complaint(R"({"disks":[{"format":"raw"}]})"), HasSubstr("file"));
  EXPECT_THAT(complaint(R"({"disks":[{"file":"/a","format":"vmdk"}]})"), HasSubstr("qcow2"));
  EXPECT_THAT(complaint(R"({"disks":[{"file":"/a","bus":"ide"}]})"), HasSubstr("bus"));
  EXPECT_THAT(complaint(R"({"disks":["/a"]})"), HasSubstr("disk"));
  EXPECT_THAT(complaint(R"({"qemu_arguments":[1]})"), HasSubstr("array of texts"));
}

TEST(VmMachineJson, OfANewerDaemonIsReadAsFarAsItIsKnown) {
  const auto read =
      machine_change_from_json(json::parse(R"({"cpus":2,"tpm":true})"), UnknownKeys::kIgnored);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->cpus, 2u);
}

}  // namespace
}  // namespace paravane::control
