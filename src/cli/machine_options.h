// --memory, --cpus, --disk and the rest of what a VM is made of that we run.

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

// What was not written stays unset; "none" takes away. Paths become whole.
// Errors: kInvalidArgument, naming the option.
Result<model::VmMachineChange> machine_change(const MachineWords& words);

// FILE[,format=raw|qcow2][,readonly]; a comma of the file's name is doubled.
// Errors: kInvalidArgument.
Result<model::Disk> parse_disk(std::string_view word);

}  // namespace paravane::cli
