#include "vmm/start_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "vmm/qemu_arguments.h"
#include "vmm/qemu_program.h"

namespace paravane::vmm {
namespace {

constexpr const char* kUserRow = "QEMU's user";
constexpr const char* kFiles = "Files";
constexpr const char* kLuns = "LUNs";
constexpr const char* kAccelerator = "Accelerator";
constexpr const char* kMemory = "Memory";
constexpr const char* kLock = "Memory lock";
constexpr std::uint64_t kHugePageMib = 2;

bool is_attached(const model::VmStatus& vm) {
  return std::ranges::any_of(vm.adapters, [](const auto& adapter) { return adapter.pid > 0; });
}

bool is_anothers(const model::VmStatus& vm, const StartFacts& facts) {
  return is_attached(vm) && facts.runner.state == Runner::State::kOff;
}

void check_runner(const model::VmStatus& vm, const StartFacts& facts, model::CheckRows& rows) {
  if (facts.runner.state != Runner::State::kRunning) return;
  if (is_attached(vm)) return rows.ok("QEMU runs", fmt::format("process {}", facts.runner.pid));
  rows.fail(
      "QEMU runs",
      fmt::format(
          "process {}, without its RDMA device: QEMU cannot reconnect after the daemon was stopped",
          facts.runner.pid),
      fmt::format("paravane vm stop {0} && paravane vm start {0}", vm.spec.name));
}

void check_program(const StartFacts& facts, model::CheckRows& rows) {
  if (!facts.account) return;  // it could not be tried
  if (facts.qemu_problem.empty()) {
    return rows.ok("QEMU",
                   fmt::format("{}, {}, with vfio-user-pci", facts.qemu, facts.qemu_version));
  }
  rows.stop("QEMU",
            fmt::format("{}; {}.{} or later is required", facts.qemu_problem,
                        kOldestQemu.major_number, kOldestQemu.minor_number),
            "apt-get install -t trixie-backports qemu-system-x86   # Debian 13; elsewhere set "
            "PARAVANE_QEMU");
}

void check_account(const StartFacts& facts, model::CheckRows& rows) {
  if (facts.account) return rows.ok(kUserRow, facts.account->name);
  const bool root = facts.account_problem.code == Errc::kInvalidArgument;
  rows.stop(kUserRow, facts.account_problem.message,
            root ? "unset PARAVANE_VM_USER"
                 : fmt::format("useradd --system --no-create-home --shell /usr/sbin/nologin {}",
                               facts.user));
}

std::string without_disk(const model::VmSpec& vm, const std::string& file) {
  std::string words;
  for (const model::Disk& disk : vm.machine.disks) {
    if (disk.file == file) continue;
    words += fmt::format(" --disk {}", shell_quote(model::describe(disk)));
  }
  return fmt::format("paravane vm set {}{}   # or create the file", vm.name,
                     words.empty() ? " --disk none" : words);
}

std::string file_cure(const model::VmSpec& vm, const FileProblem& problem, const Account& account) {
  using Kind = FileProblem::Kind;
  const bool is_socket = problem.kind == Kind::kSocket || problem.kind == Kind::kLun;
  if (problem.error == EACCES && is_socket) {
    return fmt::format("chgrp {} {}   # to make it permanent: [vfio_user] group in paravaned.toml",
                       account.group, shell_quote(problem.file));
  }
  if (problem.error == EACCES) {
    return fmt::format("chown {} {}", account.name, shell_quote(problem.file));
  }
  const auto set = [&vm](std::string_view option, std::string_view value) {
    return fmt::format("paravane vm set {} {} {}", vm.name, option, value);
  };
  switch (problem.kind) {
    case Kind::kDisk: return without_disk(vm, problem.file);
    case Kind::kKernel: return set("--kernel", "none");
    case Kind::kInitrd: return set("--initrd", "none");
    case Kind::kLun: return "paravane storage core adapter rescan --all";
    case Kind::kSocket: break;
  }
  return set("--hw-version", std::to_string(vm.hw_version));  // any change makes it anew
}

void check_boot(const model::VmStatus& vm, model::CheckRows& rows) {
  const model::VmMachine& machine = vm.spec.machine;
  if (!machine.disks.empty() || !machine.kernel.empty()) return;
  rows.warn("Boot", "no disk and no kernel: the VM can only boot from the network",
            fmt::format("paravane vm set {} --disk FILE", vm.spec.name));
}

void find_files(const model::VmStatus& vm, const StartFacts& facts, model::CheckRows& rows) {
  if (!facts.account) return;
  if (!facts.file) {
    return rows.ok(kFiles,
                   fmt::format("disks and sockets are accessible to {}", facts.account->name));
  }
  rows.stop(kFiles, describe(*facts.file, *facts.account),
            file_cure(vm.spec, *facts.file, *facts.account));
}

void check_lun_disks(const model::VmStatus& vm, const StartFacts& facts, model::CheckRows& rows) {
  if (!model::has_luns(vm.spec) || !facts.luns) return;
  if (is_attached(vm) || facts.runner.state == Runner::State::kRunning) {
    return rows.ok(kLuns, "in use by the running VM");
  }
  const auto problems = model::lun_problems(vm.spec, *facts.luns);
  for (const model::LunProblem& problem : problems) rows.stop(kLuns, problem.text, problem.cure);
  if (problems.empty()) rows.ok(kLuns, "all have a working path");
}

std::string kvm_cure(const StartFacts& facts) {
  if (!facts.kvm_there) return "modprobe kvm_intel || modprobe kvm_amd";
  if (facts.kvm_group.empty()) return "chgrp kvm /dev/kvm && chmod g+rw /dev/kvm";
  return fmt::format("usermod -a -G {} {}", facts.kvm_group, facts.account->name);
}

void check_accelerator(const model::VmStatus& vm, const StartFacts& facts, model::CheckRows& rows) {
  const model::Accelerator wanted = vm.spec.machine.accelerator;
  if (wanted == model::Accelerator::kTcg) return rows.ok(kAccelerator, "QEMU's emulation (TCG)");
  if (facts.kvm) return rows.ok(kAccelerator, "KVM");
  if (!facts.account) return;
  const std::string found = facts.kvm_there
                                ? fmt::format("{} may not use /dev/kvm", facts.account->name)
                                : std::string("this host has no /dev/kvm");
  const std::string cure = kvm_cure(facts);
  if (wanted == model::Accelerator::kKvm) return rows.stop(kAccelerator, found, cure);
  rows.warn(kAccelerator, found + ": QEMU emulates the processor, which is slow", cure);
}

std::string less_memory(const model::VmSpec& vm, std::uint64_t left_mib) {
  return fmt::format("paravane vm set {} --memory {}M", vm.name,
                     std::max<std::uint64_t>(1, left_mib * 3 / 4));
}

void check_huge_pages(const model::VmSpec& vm, const StartFacts& facts, model::CheckRows& rows) {
  const std::uint64_t wanted = (vm.machine.memory_mib + kHugePageMib - 1) / kHugePageMib;
  std::string found =
      fmt::format("{} huge pages are free; {} are needed", facts.huge_pages, wanted);
  if (facts.huge_pages >= wanted) return rows.ok(kMemory, std::move(found));
  // What pages have is taken from all others.
  const std::uint64_t more_mib = (wanted - facts.huge_pages) * kHugePageMib;
  if (facts.memory_mib != 0 && more_mib > facts.memory_mib / 2) {
    return rows.stop(kMemory,
                     fmt::format("{}, but only {} MiB of {} are free to create more", found,
                                 facts.memory_mib, facts.memory_of),
                     less_memory(vm, facts.huge_pages * kHugePageMib + facts.memory_mib / 2));
  }
  rows.stop(kMemory, std::move(found),
            fmt::format("sysctl -w vm.nr_hugepages=$(( $(cat /proc/sys/vm/nr_hugepages) + {} ))",
                        wanted - facts.huge_pages));
}

void check_memory(const model::VmStatus& vm, const StartFacts& facts, model::CheckRows& rows) {
  const model::VmMachine& machine = vm.spec.machine;
  if (is_attached(vm) || facts.runner.state == Runner::State::kRunning) {
    return rows.ok(kMemory, "in use by the running VM");
  }
  if (machine.huge_pages) return check_huge_pages(vm.spec, facts, rows);
  if (facts.memory_mib == 0) return;
  std::string found = fmt::format("{} MiB of {} are free; {} MiB are needed", facts.memory_mib,
                                  facts.memory_of, machine.memory_mib);
  if (facts.memory_mib >= machine.memory_mib) return rows.ok(kMemory, std::move(found));
  const std::string cure = less_memory(vm.spec, facts.memory_mib);
  if (machine.lock_memory) return rows.stop(kMemory, std::move(found), cure);
  rows.warn(kMemory, std::move(found), cure);
}

void check_lock(const model::VmMachine& machine, const StartFacts& facts, model::CheckRows& rows) {
  if (!machine.lock_memory) return;
  if (facts.may_lock) return rows.ok(kLock, "unlimited");
  rows.stop(kLock, "guest memory must be locked, but the memlock limit is too low",
            "sudo prlimit --pid $$ --memlock=unlimited:unlimited");
}

}  // namespace

std::vector<model::CheckRow> check_start(const model::VmStatus& vm, const StartFacts& facts) {
  model::CheckRows rows;
  if (is_anothers(vm, facts)) {
    rows.ok("QEMU runs", "not started by Paravane (not checked)");
    return rows.take();
  }
  check_runner(vm, facts, rows);
  check_account(facts, rows);
  check_program(facts, rows);
  check_boot(vm, rows);
  find_files(vm, facts, rows);
  check_lun_disks(vm, facts, rows);
  check_accelerator(vm, facts, rows);
  check_memory(vm, facts, rows);
  check_lock(vm.spec.machine, facts, rows);
  return rows.take();
}

}  // namespace paravane::vmm
