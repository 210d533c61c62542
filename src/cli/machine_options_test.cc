#include "cli/machine_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::cli {
namespace {

using testing::HasSubstr;

std::string complaint(const MachineWords& words) {
  const auto change = machine_change(words);
  return change ? "" : change.error().message;
}

TEST(MachineOptions, NotWrittenChangeNothing) {
  EXPECT_TRUE(machine_change({})->empty());
}

TEST(MachineOptions, AreReadAsTheyAreWritten) {
  const auto change = machine_change({.memory = "4G",
                                      .cpus = 2,
                                      .accelerator = "tcg",
                                      .cpu_model = "max",
                                      .lock_memory = true,
                                      .kernel = "/boot/../vmlinuz",
                                      .append = "quiet",
                                      .disks = {"/a"},
                                      .qemu_arguments = {"-vga", "std"}});
  ASSERT_TRUE(change);
  EXPECT_EQ(*change, (model::VmMachineChange{.memory_mib = 4096,
                                             .cpus = 2,
                                             .accelerator = model::Accelerator::kTcg,
                                             .cpu_model = "max",
                                             .lock_memory = true,
                                             .kernel = "/vmlinuz",
                                             .append = "quiet",
                                             .disks = {{{.file = "/a"}}},
                                             .qemu_arguments = {{"-vga", "std"}}}));
}

TEST(MachineOptions, NoneTakesAway) {
  const auto change = machine_change({.cpu_model = "none",
                                      .kernel = "none",
                                      .initrd = "none",
                                      .disks = {"none"},
                                      .qemu_arguments = {"none"}});
  ASSERT_TRUE(change);
  EXPECT_EQ(change->cpu_model, "");
  EXPECT_EQ(change->kernel, "");
  EXPECT_EQ(change->initrd, "");
  EXPECT_TRUE(change->disks && change->disks->empty());
  EXPECT_TRUE(change->qemu_arguments && change->qemu_arguments->empty());
}

TEST(MachineOptions, RefuseMemoryThatIsNone) {
  EXPECT_THAT(complaint({.memory = "4GB"}), HasSubstr("--memory 4GB"));
  EXPECT_THAT(complaint({.memory = "150000K"}), HasSubstr("whole number of MiB"));
}

TEST(MachineOptions, RefuseMemoryTooSmallToBoot) {
  EXPECT_EQ(complaint({.memory = "4"}), "--memory 4: 4 MiB is too small to boot; did you mean 4G?");
  EXPECT_THAT(complaint({.memory = "63M"}), HasSubstr("did you mean 63G?"));
  EXPECT_THAT(complaint({.memory = "1500K"}), HasSubstr("give at least 64M"));
  EXPECT_EQ(machine_change({.memory = "64"})->memory_mib, 64u);
}

TEST(Disk, IsAFileAndWhatItIs) {
  const auto disk = parse_disk("/srv/a,,b.img,format=qcow2,readonly");
  ASSERT_TRUE(disk);
  EXPECT_EQ(*disk,
            (model::Disk{
                .file = "/srv/a,b.img", .format = model::DiskFormat::kQcow2, .read_only = true}));
  EXPECT_EQ(parse_disk("/a")->format, model::DiskFormat::kRaw);
  EXPECT_TRUE(parse_disk("a.img")->file.starts_with("/"));
}

TEST(Disk, CanBeALun) {
  EXPECT_EQ(*parse_disk("lun:naa.6001405"), (model::Disk{.lun = "naa.6001405"}));
  for (const char* word : {"lun:naa.6001405,readonly", "lun:naa.6001405,read-only"})
    EXPECT_EQ(*parse_disk(word), (model::Disk{.read_only = true, .lun = "naa.6001405"})) << word;
  for (const char* word : {"lun:", "lun:sda", "lun:naa.1,format=raw", "lun:naa.1/2", "lun:naa.1,x"})
    EXPECT_FALSE(parse_disk(word)) << word;
  EXPECT_EQ(model::describe(*parse_disk("lun:naa.6001405,readonly")), "lun:naa.6001405,readonly");
}

TEST(Disk, RefusesWhatItDoesNotKnow) {
  for (const char* word : {"", ",readonly", "/a,format=vmdk", "/a,if=ide"}) {
    EXPECT_FALSE(parse_disk(word)) << word;
  }
}

}  // namespace
}  // namespace paravane::cli
