#include "model/lun_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::model {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kLun = "naa.60014051e7a0";

VmSpec lun_vm(const std::string& name, const std::vector<std::string>& luns) {
  VmSpec vm;
  vm.name = name;
  for (const std::string& lun : luns) vm.machine.disks.push_back({.lun = lun});
  return vm;
}

ScsiDevice good_device() {
  return {.name = kLun,
          .bytes = 1 << 20,
          .block_bytes = 512,
          .working_path = "vmhba32:C0:T0:L0",
          .paths = {{.name = "vmhba32:C0:T0:L0", .vmhba = "vmhba32"}},
          .socket = "/run/paravane/vms/naa.60014051e7a0.lun"};
}

std::string lun_problem_of(const ScsiDevice& device) {
  const auto problems = lun_problems(lun_vm("db1", {kLun}), std::vector{device});
  return problems.empty() ? "" : problems.front().text + "; " + problems.front().cure;
}

TEST(LunDisk, IsOfOneVmOnly) {
  const std::vector<VmSpec> vms = {lun_vm("db1", {"naa.1", "naa.2"}), lun_vm("db2", {})};
  EXPECT_TRUE(check_luns(lun_vm("db2", {"naa.3"}), vms));
  EXPECT_TRUE(check_luns(lun_vm("db1", {"naa.1", "naa.3"}), vms)) << "they are its own";
  const auto refused = check_luns(lun_vm("db2", {"naa.3", "naa.2"}), vms);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ApiErrorCode::kInUse);
  EXPECT_EQ(refused.error().message, "vm db2: LUN naa.2 is a disk of vm db1");
  EXPECT_THAT(refused.error().remedy, HasSubstr("paravane vm set db1"));
}

TEST(LunDisk, AFileIsNoLun) {
  VmSpec one;
  one.name = "a";
  one.machine.disks = {{.file = "/a"}};
  VmSpec two = one;
  two.name = "b";
  EXPECT_TRUE(check_luns(two, std::vector{one}));
  EXPECT_THAT(lun_problems(one, {}), IsEmpty());
}

TEST(LunDisk, AVmStartsWithALunThatWorks) {
  EXPECT_EQ(lun_problem_of(good_device()), "");
  ScsiDevice own = good_device();
  own.vm = "db1";
  EXPECT_EQ(lun_problem_of(own), "");
}

TEST(LunDisk, AVmDoesNotStartWithOneThatDoesNot) {
  const auto missing = lun_problems(lun_vm("db1", {kLun, "naa.2"}), {});
  ASSERT_THAT(missing, SizeIs(2));
  EXPECT_EQ(missing[0].text, "LUN naa.60014051e7a0: this host has no such LUN");
  EXPECT_EQ(missing[1].lun, "naa.2");
  EXPECT_THAT(missing[0].cure, HasSubstr("rescan --all"));
  ScsiDevice device = good_device();
  device.vm = "db2";
  EXPECT_THAT(lun_problem_of(device), AllOf(HasSubstr("a disk of vm db2"), HasSubstr("vm show")));
  device = good_device();
  device.working_path.clear();
  EXPECT_THAT(lun_problem_of(device), AllOf(HasSubstr("no path"), HasSubstr("path list -d naa.")));
  device = good_device();
  device.is_open = true;
  EXPECT_THAT(lun_problem_of(device), HasSubstr("in use"));
  device = good_device();
  device.socket.clear();
  EXPECT_THAT(lun_problem_of(device), HasSubstr("not served"));
  device = good_device();
  device.problem = "its size is not known";
  EXPECT_THAT(lun_problem_of(device),
              AllOf(HasSubstr("its size is not known"), HasSubstr("rescan -A vmhba32")));
}

TEST(LunDisk, IsServedWhereTheDaemonSaysOrWouldSay) {
  VmSpec vm = lun_vm("db1", {kLun, "naa.2"});
  vm.machine.disks.push_back({.file = "/a"});
  ScsiDevice odd = good_device();
  odd.name = "naa.2";
  odd.socket = "relative";
  EXPECT_EQ(lun_sockets(vm, std::vector{good_device(), odd}, "/run/p"),
            (LunSockets{{kLun, "/run/paravane/vms/naa.60014051e7a0.lun"},
                        {"naa.2", "/run/p/naa.2.lun"}}));
  EXPECT_TRUE(has_luns(vm));
  EXPECT_FALSE(has_luns(lun_vm("db1", {})));
}

TEST(LunDisk, AReadOnlyOneIsNotWritten) {
  ScsiDevice device = good_device();
  device.is_read_only = true;
  EXPECT_THAT(lun_problem_of(device), AllOf(HasSubstr("it is read-only"),
                                            HasSubstr("--disk lun:naa.60014051e7a0,readonly")));
  VmSpec vm = lun_vm("db1", {kLun});
  vm.machine.disks[0].read_only = true;
  EXPECT_THAT(lun_problems(vm, std::vector{device}), IsEmpty());
}

}  // namespace
}  // namespace paravane::model
