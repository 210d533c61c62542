#include "vmm/start_check.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace paravane::vmm {
namespace {

using model::CheckRow;
using model::Verdict;

class StartCheck : public testing::Test {
 protected:
  StartCheck() {
    vm_.spec.name = "db1";
    vm_.adapters = {{.socket = "/run/db1.sock"}};
    vm_.spec.machine.disks = {{.file = "/srv/a.img"}};
  }
  model::CheckRow row(const std::string& check) const {
    for (const model::CheckRow& one : check_start(vm_, facts_)) {
      if (one.check == check) return one;
    }
    return {.check = "no row " + check, .found = ""};
  }
  static model::CheckRow stopping(const char* check, const char* found, const char* cure) {
    return {.check = check,
            .verdict = model::Verdict::kFailed,
            .found = found,
            .cure = cure,
            .stops_start = true};
  }

  model::VmStatus vm_;
  StartFacts facts_{.qemu = "/q",
                    .qemu_version = "11.1",
                    .account = Account{.name = "paravane-vm", .user = 990, .group = 991},
                    .kvm_there = true,
                    .kvm_group = "kvm",
                    .kvm = true,
                    .memory_mib = 4096,
                    .memory_of = "the host"};
};

TEST_F(StartCheck, AHostThatHasAllOfItHasNothingToCure) {
  for (const model::CheckRow& one : check_start(vm_, facts_)) {
    EXPECT_EQ(one.verdict, model::Verdict::kOk) << one.check;
    EXPECT_EQ(one.cure, "") << one.check;
  }
  EXPECT_EQ(row("QEMU").found, "/q, 11.1, with vfio-user-pci");
  EXPECT_EQ(row("Accelerator").found, "KVM");
  EXPECT_EQ(row("Memory").found, "4096 MiB of the host are free; 1024 MiB are needed");
}

TEST_F(StartCheck, Qemu) {
  facts_.qemu_problem = "/q: No such file or directory";
  EXPECT_EQ(row("QEMU"),
            stopping("QEMU", "/q: No such file or directory; 10.1 or later is required",
                     "apt-get install -t trixie-backports qemu-system-x86   # Debian 13; elsewhere "
                     "set PARAVANE_QEMU"));
}

TEST_F(StartCheck, QemusUser) {
  facts_.account.reset();
  facts_.account_problem = {.code = Errc::kNotFound, .message = "user paravane-vm does not exist"};
  facts_.user = "paravane-vm";
  EXPECT_EQ(row("QEMU's user"),
            stopping("QEMU's user", "user paravane-vm does not exist",
                     "useradd --system --no-create-home --shell /usr/sbin/nologin paravane-vm"));
  facts_.account_problem = {.code = Errc::kInvalidArgument, .message = "the user is root"};
  EXPECT_EQ(row("QEMU's user").cure, "unset PARAVANE_VM_USER");
}

TEST_F(StartCheck, Files) {
  using Kind = FileProblem::Kind;
  facts_.file = {.kind = Kind::kSocket, .file = "/run/db1.sock", .error = EACCES};
  EXPECT_EQ(
      row("Files"),
      stopping(
          "Files",
          "adapter's socket /run/db1.sock: Permission denied; QEMU runs as "
          "paravane-vm, which needs access",
          "chgrp 991 /run/db1.sock   # to make it permanent: [vfio_user] group in paravaned.toml"));
  facts_.file = {.kind = Kind::kSocket, .file = "/run/db1.sock", .error = ENOENT};
  EXPECT_EQ(row("Files").cure, "paravane vm set db1 --hw-version 21");
  facts_.file = {.kind = Kind::kDisk, .file = "/srv/a b.img", .error = EACCES};
  EXPECT_EQ(row("Files").cure, "chown paravane-vm '/srv/a b.img'");
  facts_.file = {.kind = Kind::kDisk, .file = "/srv/a.img", .error = ENOENT};
  EXPECT_EQ(row("Files").found, "disk /srv/a.img: No such file or directory");
  EXPECT_EQ(row("Files").cure, "paravane vm set db1 --disk none   # or create the file");
  vm_.spec.machine.disks = {{.file = "/srv/a.img"},
                            {.file = "/srv/b c", .format = model::DiskFormat::kQcow2}};
  EXPECT_EQ(row("Files").cure,
            "paravane vm set db1 --disk '/srv/b c,format=qcow2'   # or create the file");
  facts_.file->kind = Kind::kKernel;
  EXPECT_EQ(row("Files").cure, "paravane vm set db1 --kernel none");
  facts_.file->kind = Kind::kInitrd;
  EXPECT_EQ(row("Files").cure, "paravane vm set db1 --initrd none");
}

TEST_F(StartCheck, LunsThatCannotBeUsed) {
  facts_.luns.emplace();
  EXPECT_EQ(row("LUNs").check, "no row LUNs");
  vm_.spec.machine.disks = {{.lun = "naa.1"}};
  EXPECT_EQ(row("LUNs"),
            stopping("LUNs", "LUN naa.1: this host has no such LUN",
                     "paravane storage core adapter rescan --all   # then: paravane storage core "
                     "device list"));
  facts_.luns.emplace().push_back({.name = "naa.1", .socket = "/run/naa.1.lun"});
  EXPECT_EQ(row("LUNs").found, "LUN naa.1: no path to it works");
  facts_.luns->front().working_path = "vmhba32:C0:T0:L0";
  EXPECT_EQ(row("LUNs").verdict, Verdict::kOk);
  facts_.luns->front().is_open = true;
  EXPECT_TRUE(row("LUNs").stops_start);
  facts_.runner = {.state = Runner::State::kRunning, .pid = 7};
  EXPECT_EQ(row("LUNs").verdict, Verdict::kOk) << "it is open by the VM itself";
  facts_.runner = {};
  facts_.luns.reset();
  EXPECT_EQ(row("LUNs").check, "no row LUNs");
}

TEST_F(StartCheck, AcceleratorThatMayNotBeUsed) {
  facts_.kvm = false;
  EXPECT_EQ(row("Accelerator").verdict, model::Verdict::kWarning);
  EXPECT_EQ(row("Accelerator").cure, "usermod -a -G kvm paravane-vm");
  vm_.spec.machine.accelerator = model::Accelerator::kKvm;
  EXPECT_EQ(row("Accelerator"), stopping("Accelerator", "paravane-vm may not use /dev/kvm",
                                         "usermod -a -G kvm paravane-vm"));
  facts_.kvm_group = "";
  EXPECT_EQ(row("Accelerator").cure, "chgrp kvm /dev/kvm && chmod g+rw /dev/kvm");
  facts_.kvm_there = false;
  EXPECT_EQ(row("Accelerator"), stopping("Accelerator", "this host has no /dev/kvm",
                                         "modprobe kvm_intel || modprobe kvm_amd"));
  vm_.spec.machine.accelerator = model::Accelerator::kTcg;
  EXPECT_EQ(row("Accelerator").verdict, model::Verdict::kOk);
}

TEST_F(StartCheck, MemoryThatIsNotThere) {
  vm_.spec.machine.memory_mib = 8192;
  facts_.memory_of = "cgroup /vms";
  EXPECT_EQ(row("Memory"),
            (model::CheckRow{.check = "Memory",
                             .verdict = model::Verdict::kWarning,
                             .found = "4096 MiB of cgroup /vms are free; 8192 MiB are needed",
                             .cure = "paravane vm set db1 --memory 3072M"}));
  vm_.spec.machine.lock_memory = true;
  EXPECT_TRUE(row("Memory").stops_start);
  vm_.adapters[0].pid = 77;
  EXPECT_EQ(row("Memory").verdict, model::Verdict::kOk);
}

TEST_F(StartCheck, HugePagesThatAreNotFree) {
  vm_.spec.machine.huge_pages = true;
  facts_.huge_pages = 500;
  EXPECT_EQ(row("Memory"),
            stopping("Memory", "500 huge pages are free; 512 are needed",
                     "sysctl -w vm.nr_hugepages=$(( $(cat /proc/sys/vm/nr_hugepages) + 12 ))"));
  facts_.huge_pages = 512;
  EXPECT_EQ(row("Memory").verdict, model::Verdict::kOk);
}

TEST_F(StartCheck, HugePagesThatWouldTakeTheHostsMemory) {
  vm_.spec.machine.huge_pages = true;
  vm_.spec.machine.memory_mib = 8192;
  facts_.huge_pages = 500;
  EXPECT_EQ(row("Memory"), stopping("Memory",
                                    "500 huge pages are free; 4096 are needed, but only 4096 MiB "
                                    "of the host are free to create more",
                                    "paravane vm set db1 --memory 2286M"));
}

TEST_F(StartCheck, ThatHasNothingToBootFromMayTryTheNetwork) {
  vm_.spec.machine.disks.clear();
  EXPECT_EQ(row("Boot").verdict, model::Verdict::kWarning);
  vm_.spec.machine.kernel = "/boot/vmlinuz";
  EXPECT_EQ(row("Boot").check, "no row Boot");
}

TEST_F(StartCheck, OneThatRunsWithoutItsDevice) {
  facts_.runner = {.state = Runner::State::kRunning, .pid = 88};
  EXPECT_EQ(row("QEMU runs").verdict, model::Verdict::kFailed);
  EXPECT_EQ(row("QEMU runs").cure, "paravane vm stop db1 && paravane vm start db1");
  vm_.adapters[0].pid = 88;
  EXPECT_EQ(row("QEMU runs").found, "process 88");
}

TEST_F(StartCheck, OneThatSomebodyElseRunsIsTheirMatter) {
  vm_.adapters[0].pid = 77;
  facts_.account.reset();
  facts_.account_problem = {.code = Errc::kNotFound, .message = "user x does not exist"};
  ASSERT_EQ(check_start(vm_, facts_).size(), 1u);
  EXPECT_EQ(row("QEMU runs").verdict, model::Verdict::kOk);
}

TEST_F(StartCheck, MemoryThatCannotBeLocked) {
  vm_.spec.machine.lock_memory = true;
  EXPECT_EQ(row("Memory lock").verdict, model::Verdict::kOk);
  facts_.may_lock = false;
  EXPECT_EQ(row("Memory lock"),
            stopping("Memory lock", "guest memory must be locked, but the memlock limit is too low",
                     "sudo prlimit --pid $$ --memlock=unlimited:unlimited"));
}

TEST(FileCheck, FindsTheFirstThatIsClosed) {
  const std::string there = testing::TempDir() + "there-" + std::to_string(::getpid());
  std::ofstream(there) << "x";
  model::VmStatus vm;
  vm.spec.machine.disks = {{.file = there}};
  vm.adapters = {{.socket = there}};
  EXPECT_EQ(find_file_problem(vm), std::nullopt);
  vm.spec.machine.kernel = testing::TempDir();
  ASSERT_NE(find_file_problem(vm), std::nullopt);
  EXPECT_EQ(find_file_problem(vm)->error, EISDIR);
  vm.spec.machine.kernel.clear();
  vm.spec.machine.initrd = "/nonexistent";
  EXPECT_EQ(
      find_file_problem(vm),
      (FileProblem{.kind = FileProblem::Kind::kInitrd, .file = "/nonexistent", .error = ENOENT}));
  ::unlink(there.c_str());
  EXPECT_EQ(find_file_problem(vm)->kind, FileProblem::Kind::kDisk);
  vm = {};
  vm.spec.machine.disks = {{.lun = "naa.1"}};
  EXPECT_EQ(find_file_problem(vm), std::nullopt);
  EXPECT_EQ(find_file_problem(vm, {{"naa.1", "/nonexistent"}})->kind, FileProblem::Kind::kLun);
}

TEST(StartFacts, AreGatheredInAProcessOfItsOwn) {
  const std::string qemu = testing::TempDir() + "facts-" + std::to_string(::getpid());
  std::ofstream(qemu) << "#!/bin/sh\necho QEMU emulator version 10.1.0\n";
  ::chmod(qemu.c_str(), 0755);
  ::setenv("PARAVANE_QEMU", qemu.c_str(), 1);
  ::setenv("PARAVANE_VM_USER", "daemon", 1);
  model::VmStatus vm;
  vm.adapters = {{.socket = "/nonexistent"}};
  const StartFacts facts = gather_start_facts(vm, "");
  ::unsetenv("PARAVANE_QEMU");
  ::unsetenv("PARAVANE_VM_USER");
  ::unlink(qemu.c_str());
  EXPECT_EQ(facts.qemu_problem, qemu + " was built without vfio-user-pci");
  ASSERT_TRUE(facts.file);
  EXPECT_EQ(facts.file->file, "/nonexistent");
  EXPECT_GT(facts.memory_mib, 0u);
}

}  // namespace
}  // namespace paravane::vmm
