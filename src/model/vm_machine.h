// Defines plain values for the virtual hardware of a VM that Paravane runs (memory, CPUs, disks and
// boot source), and the rules for these values. They do not include the VM's adapters. They also do
// not include the QEMU program and the user that it runs as, because these are settings of the
// host.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paravane::model {

enum class Accelerator : std::uint8_t {
  kAuto,  // KVM where QEMU's user may use it
  kKvm,
  kTcg,  // QEMU's own emulation
};
std::string_view to_string(Accelerator accelerator);
std::optional<Accelerator> parse_accelerator(std::string_view text);

enum class DiskFormat : std::uint8_t { kRaw, kQcow2 };
std::string_view to_string(DiskFormat format);
std::optional<DiskFormat> parse_disk_format(std::string_view text);

// An image in a file, or a LUN that a storage adapter of the host (model/storage.h) reaches.
struct Disk {
  std::string file{};
  DiskFormat format = DiskFormat::kRaw;  // of the file
  bool read_only = false;
  std::string lun{};  // "naa.6001405..."; empty: it is a file

  bool is_lun() const { return !lun.empty(); }

  friend bool operator==(const Disk&, const Disk&) = default;
};

// In the format of the option --disk.
std::string describe(const Disk& disk);
inline constexpr std::string_view kLunWord = "lun:";  // what that of a LUN begins with

inline constexpr std::size_t kMaxDisks = 12;
inline constexpr std::size_t kMaxQemuArguments = 64;

struct VmMachine {
  std::uint64_t memory_mib = 1024;
  std::uint32_t cpus = 1;
  Accelerator accelerator = Accelerator::kAuto;
  std::string cpu_model{};   // as QEMU's -cpu; empty: all that the accelerator offers
  bool lock_memory = false;  // vSphere: Reserve all guest memory (All locked)
  bool huge_pages = false;   // memory in the host's pages of 2 MiB
  std::string kernel{};      // booted straight; empty: from the first disk
  std::string initrd{};
  std::string append{};  // the kernel's command line
  std::vector<Disk> disks{};
  std::vector<std::string> qemu_arguments{};  // words that follow ours, as they are

  friend bool operator==(const VmMachine&, const VmMachine&) = default;
};

// A member that is not set leaves the property unchanged. A list replaces the whole list.
struct VmMachineChange {
  std::optional<std::uint64_t> memory_mib{};
  std::optional<std::uint32_t> cpus{};
  std::optional<Accelerator> accelerator{};
  std::optional<std::string> cpu_model{};
  std::optional<bool> lock_memory{};
  std::optional<bool> huge_pages{};
  std::optional<std::string> kernel{};
  std::optional<std::string> initrd{};
  std::optional<std::string> append{};
  std::optional<std::vector<Disk>> disks{};
  std::optional<std::vector<std::string>> qemu_arguments{};

  bool empty() const { return *this == VmMachineChange{}; }

  friend bool operator==(const VmMachineChange&, const VmMachineChange&) = default;
};

VmMachine apply(const VmMachineChange& change, VmMachine machine);

// Errors: kInvalidArgument, with the property and its valid values.
Status check_machine(const VmMachine& machine);

}  // namespace paravane::model
