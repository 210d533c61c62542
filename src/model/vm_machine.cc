#include "model/vm_machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "model/storage.h"

namespace paravane::model {
namespace {

constexpr std::uint64_t kMaxMemoryMib = std::uint64_t{16} << 20;  // 16 TiB
constexpr std::uint32_t kMaxCpus = 288;                           // of QEMU's q35
constexpr std::size_t kMaxKernelLine = 2047;  // what Linux takes for its command line
constexpr std::size_t kMaxArgumentBytes = 16384;

constexpr std::array kAccelerators = {Accelerator::kAuto, Accelerator::kKvm, Accelerator::kTcg};
constexpr std::array kDiskFormats = {DiskFormat::kRaw, DiskFormat::kQcow2};

// A line of text for QEMU, which has no use for control characters.
Status check_text(std::string_view what, std::string_view text) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (text.size() <= kMaxKernelLine && std::ranges::none_of(text, control)) return {};
  return fail(
      Errc::kInvalidArgument,
      fmt::format("{} must be at most {} bytes, without control characters", what, kMaxKernelLine));
}

// Absolute, since QEMU may be started from another directory.
Status check_file(std::string_view what, const std::string& file) {
  if (!file.starts_with('/')) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} \"{}\" must be an absolute path", what, file));
  }
  return check_text(what, file);
}

Status check_boot(const VmMachine& machine) {
  if (machine.kernel.empty()) {
    if (machine.initrd.empty() && machine.append.empty()) return {};
    return fail(Errc::kInvalidArgument, "initrd and append require a kernel");
  }
  Status good = check_file("kernel", machine.kernel);
  if (good && !machine.initrd.empty()) good = check_file("initrd", machine.initrd);
  if (good) good = check_text("append", machine.append);
  return good;
}

Status check_disk(const Disk& disk) {
  if (!disk.is_lun()) return check_file("disk", disk.file);
  if (!disk.file.empty()) {
    return fail(Errc::kInvalidArgument,
                fmt::format("a disk is a file or a LUN, not both {} and {}", disk.file, disk.lun));
  }
  if (disk.format != DiskFormat::kRaw) {
    return fail(Errc::kInvalidArgument,
                fmt::format("LUN {} has no format: it is always raw", disk.lun));
  }
  return check_device_name(disk.lun);
}

Status check_disks(const VmMachine& machine) {
  if (machine.disks.size() > kMaxDisks) {
    return fail(Errc::kInvalidArgument, fmt::format("a VM can have at most {} disks", kMaxDisks));
  }
  for (const Disk& disk : machine.disks) {
    if (Status good = check_disk(disk); !good) return good;
    const auto same = [&disk](const Disk& other) {
      return other.file == disk.file && other.lun == disk.lun;
    };
    if (std::ranges::count_if(machine.disks, same) > 1) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("disk {} is specified twice", disk.is_lun() ? disk.lun : disk.file));
    }
  }
  return {};
}

Status check_qemu_arguments(const VmMachine& machine) {
  if (machine.qemu_arguments.size() > kMaxQemuArguments) {
    return fail(Errc::kInvalidArgument,
                fmt::format("qemu_arguments can hold at most {} words", kMaxQemuArguments));
  }
  std::size_t bytes = 0;
  for (const std::string& word : machine.qemu_arguments) {
    if (Status good = check_text("qemu_arguments: each word", word); !good) return good;
    bytes += word.size();
  }
  if (bytes <= kMaxArgumentBytes) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("qemu_arguments are {} bytes in total, but at most {} are allowed", bytes,
                          kMaxArgumentBytes));
}

}  // namespace

std::string_view to_string(Accelerator accelerator) {
  switch (accelerator) {
    case Accelerator::kAuto: return "auto";
    case Accelerator::kKvm: return "kvm";
    case Accelerator::kTcg: return "tcg";
  }
  return "unknown";
}

std::optional<Accelerator> parse_accelerator(std::string_view text) {
  for (const Accelerator one : kAccelerators) {
    if (to_string(one) == text) return one;
  }
  return std::nullopt;
}

std::string_view to_string(DiskFormat format) {
  return format == DiskFormat::kRaw ? "raw" : "qcow2";
}

std::string describe(const Disk& disk) {
  if (disk.is_lun())
    return fmt::format("{}{}{}", kLunWord, disk.lun, disk.read_only ? ",readonly" : "");
  return fmt::format("{},format={}{}", disk.file, to_string(disk.format),
                     disk.read_only ? ",readonly" : "");
}

std::optional<DiskFormat> parse_disk_format(std::string_view text) {
  for (const DiskFormat one : kDiskFormats) {
    if (to_string(one) == text) return one;
  }
  return std::nullopt;
}

VmMachine apply(const VmMachineChange& change, VmMachine machine) {
  const auto set = [](const auto& from, auto& to) {
    if (from) to = *from;
  };
  set(change.memory_mib, machine.memory_mib);
  set(change.cpus, machine.cpus);
  set(change.accelerator, machine.accelerator);
  set(change.cpu_model, machine.cpu_model);
  set(change.lock_memory, machine.lock_memory);
  set(change.huge_pages, machine.huge_pages);
  set(change.kernel, machine.kernel);
  set(change.initrd, machine.initrd);
  set(change.append, machine.append);
  set(change.disks, machine.disks);
  set(change.qemu_arguments, machine.qemu_arguments);
  return machine;
}

Status check_machine(const VmMachine& machine) {
  if (machine.memory_mib < 1 || machine.memory_mib > kMaxMemoryMib) {
    return fail(Errc::kInvalidArgument, fmt::format("memory is {} MiB, but must be 1 to {}",
                                                    machine.memory_mib, kMaxMemoryMib));
  }
  if (machine.huge_pages && machine.memory_mib % 2 != 0) {
    return fail(Errc::kInvalidArgument, "memory in 2 MiB pages must be an even number of MiB");
  }
  if (machine.cpus < 1 || machine.cpus > kMaxCpus) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cpus is {}, but must be 1 to {}", machine.cpus, kMaxCpus));
  }
  Status good = check_text("cpu_model", machine.cpu_model);
  if (good) good = check_boot(machine);
  if (good) good = check_disks(machine);
  if (good) good = check_qemu_arguments(machine);
  return good;
}

}  // namespace paravane::model
