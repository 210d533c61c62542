#include "api/vm_machine_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace paravane::api {
namespace {

using nlohmann::json;
using testing::HasSubstr;

model::VmMachine full_machine() {
  return {
      .memory_mib = 4096,
      .cpus = 8,
      .accelerator = model::Accelerator::kTcg,
      .cpu_model = "Nehalem-v1,+rdrand",
      .lock_memory = true,
      .huge_pages = true,
      .kernel = "/boot/vmlinuz",
      .initrd = "/boot/initrd.img",
      .append = "root=/dev/vda1 console=ttyS0",
      .disks = {{.file = "/srv/a,b.qcow2", .format = model::DiskFormat::kQcow2, .read_only = true},
                {.file = "/srv/c"}},
      .qemu_arguments = {"-device", "virtio-rng-pci"}};
}

std::string complaint(const char* text) {
  const auto change = machine_change_from_json(json::parse(text), UnknownKeys::kRefused);
  return change ? "" : change.error().message;
}

TEST(VmMachineJson, ComesBackAsItWas) {
  const auto read = machine_change_from_json(to_json(full_machine()), UnknownKeys::kRefused);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(model::apply(*read, {}), full_machine());
  EXPECT_EQ(to_json(*read), to_json(full_machine()));
  EXPECT_EQ(to_json(model::VmMachineChange{}), json::object());
}

TEST(VmMachineJson, ADiskCanBeALun) {
  const model::VmMachine machine{
      .disks = {{.read_only = true, .lun = "naa.6001405"}, {.file = "/a"}}};
  const json disks = to_json(machine).at("disks");
  EXPECT_EQ(disks[0], json({{"lun", "naa.6001405"}, {"read_only", true}}));
  EXPECT_FALSE(disks[1].contains("lun")) << "what an earlier release knows stays as it was";
  const auto read = machine_change_from_json(to_json(machine), UnknownKeys::kRefused);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->disks, machine.disks);
  EXPECT_THAT(complaint(R"({"disks":[{"lun":1}]})"), HasSubstr("lun"));
  EXPECT_THAT(complaint(R"({"disks":[{"lun":""}]})"), HasSubstr("file"));
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
  EXPECT_THAT(complaint(R"({"qemu_arguments":[1]})"), HasSubstr("array of strings"));
}

TEST(VmMachineJson, OfANewerDaemonIsReadAsFarAsItIsKnown) {
  const auto read =
      machine_change_from_json(json::parse(R"({"cpus":2,"tpm":true})"), UnknownKeys::kIgnored);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->cpus, 2u);
}

}  // namespace
}  // namespace paravane::api
