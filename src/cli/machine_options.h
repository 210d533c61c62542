// The options that describe the virtual hardware of a VM, such as --memory, --cpus and --disk. The
// description is used only for VMs that `paravane` itself starts.

#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/vm_machine.h"

namespace paravane::cli {

struct MachineWords {
  std::optional<std::string> memory{};
  std::optional<std::uint32_t> cpus{};
  std::optional<std::string> accelerator{};
  std::optional<std::string> cpu_model{};
  std::optional<bool> lock_memory{};
  std::optional<bool> huge_pages{};
  std::optional<std::string> kernel{};
  std::optional<std::string> initrd{};
  std::optional<std::string> append{};
  std::vector<std::string> disks{};
  std::vector<std::string> qemu_arguments{};
};
void add_machine_options(CLI::App& command, MachineWords& words);

// The change that the options describe. Options that were not given are not set in it, and the word
// "none" removes a value. Relative paths become absolute. Errors: kInvalidArgument; the message
// names the option.
Result<model::VmMachineChange> machine_change(const MachineWords& words);

// Parses FILE[,format=raw|qcow2][,readonly], or lun:NAME[,readonly]. A comma in the name of the
// file is written twice. Errors: kInvalidArgument.
Result<model::Disk> parse_disk(std::string_view word);

}  // namespace paravane::cli
