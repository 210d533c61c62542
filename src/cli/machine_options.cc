#include "cli/machine_options.h"

#include <fmt/core.h>

#include <filesystem>
#include <utility>

#include "model/storage.h"
#include "vmm/qemu_arguments.h"

namespace paravane::cli {
namespace {

constexpr std::string_view kNoneWord = "none";
constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

// "none" is the empty path.
std::optional<std::string> whole_path(const std::optional<std::string>& word) {
  if (!word) return std::nullopt;
  if (*word == kNoneWord || word->empty()) return "";
  return std::filesystem::absolute(*word).lexically_normal().string();
}

// Up to a comma that is not doubled, which is taken away.
std::string take_part(std::string_view& text) {
  std::string part;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == ',') {
      if (!text.starts_with(',')) break;
      text.remove_prefix(1);
    }
    part += c;
  }
  return part;
}

// `words`: what follows the LUN. `bad`: makes an error of a text.
template <typename Bad>
Result<model::Disk> parse_lun(std::string lun, std::string_view words, Bad bad) {
  if (const Status good = model::check_device_name(lun); !good) return bad(good.error().message);
  model::Disk disk{.lun = std::move(lun)};
  while (!words.empty()) {
    const std::string part = take_part(words);
    if (part != "readonly" && part != "read-only") return bad("only readonly may follow the LUN");
    disk.read_only = true;
  }
  return disk;
}

bool is_none(const std::vector<std::string>& words) {
  return words.size() == 1 && words.front() == kNoneWord;
}

Result<std::vector<model::Disk>> parse_disks(const std::vector<std::string>& words) {
  std::vector<model::Disk> disks;
  if (is_none(words)) return disks;
  for (const std::string& word : words) {
    Result<model::Disk> disk = parse_disk(word);
    if (!disk) return std::unexpected(disk.error());
    disks.push_back(std::move(*disk));
  }
  return disks;
}

void add_boot_options(CLI::App& command, MachineWords& words) {
  command
      .add_option(
          "--disk", words.disks,
          "Disk image, or a LUN (lun:naa....); may be repeated; the VM boots from the first; "
          "\"none\" removes all")
      ->type_name("FILE[,format=raw|qcow2][,readonly]|lun:NAME[,readonly]")
      ->allow_extra_args(false);
  command
      .add_option("--kernel", words.kernel, "Kernel to boot instead of a disk; \"none\" removes it")
      ->type_name("FILE");
  command
      .add_option("--initrd", words.initrd, "Initial RAM disk of the kernel; \"none\" removes it")
      ->type_name("FILE");
  command.add_option("--append", words.append, "Command line of the kernel")->type_name("TEXT");
}

void add_flag_pair(CLI::App& command, const std::string& name, std::optional<bool>& value,
                   const std::string& help, const std::string& no_help) {
  CLI::Option* yes = command.add_flag_callback("--" + name, [&value] { value = true; }, help);
  command.add_flag_callback("--no-" + name, [&value] { value = false; }, no_help)->excludes(yes);
}

}  // namespace

void add_machine_options(CLI::App& command, MachineWords& words) {
  command
      .add_option("--memory", words.memory,
                  "Guest memory, such as 512M or 4G, at least 64M (default: 1G)")
      ->type_name("SIZE");
  command.add_option("--cpus", words.cpus, "Virtual processors (default: 1)")->type_name("NUMBER");
  add_boot_options(command, words);
  add_flag_pair(command, "lock-memory", words.lock_memory,
                "Reserve all guest memory, so that none is swapped out",
                "Do not reserve guest memory");
  add_flag_pair(command, "huge-pages", words.huge_pages,
                "Back guest memory with huge pages of 2 MiB", "Do not use huge pages");
  command
      .add_option("--accelerator", words.accelerator,
                  "kvm, tcg (emulation), or auto: KVM where available (default: auto)")
      ->type_name("auto|kvm|tcg")
      ->check(CLI::IsMember({"auto", "kvm", "tcg"}).description(""));
  command
      .add_option("--cpu-model", words.cpu_model,
                  "CPU model, as in QEMU's -cpu; \"none\" selects all features")
      ->type_name("MODEL");
  command
      .add_option("--qemu-arg", words.qemu_arguments,
                  "Extra QEMU argument; may be repeated; \"none\" removes all")
      ->type_name("WORD")
      ->allow_extra_args(false);
}

Result<model::Disk> parse_disk(std::string_view word) {
  const std::string all(word);
  const auto bad = [&all](std::string_view problem) {
    return fail(Errc::kInvalidArgument, fmt::format("--disk {}: {}", all, problem));
  };
  const std::string file = take_part(word);
  if (file.empty()) return bad("name a file or a LUN");
  if (file.starts_with(model::kLunWord))
    return parse_lun(file.substr(model::kLunWord.size()), word, bad);
  model::Disk disk{.file = *whole_path(file)};
  while (!word.empty()) {
    const std::string part = take_part(word);
    const auto format =
        part.starts_with("format=") ? model::parse_disk_format(part.substr(7)) : std::nullopt;
    if (format) disk.format = *format;
    if (part == "readonly") disk.read_only = true;
    if (!format && part != "readonly") {
      return bad("only format=raw, format=qcow2 and readonly may follow the file");
    }
  }
  return disk;
}

Result<model::VmMachineChange> machine_change(const MachineWords& words) {
  model::VmMachineChange change{.cpus = words.cpus,
                                .cpu_model = words.cpu_model,
                                .lock_memory = words.lock_memory,
                                .huge_pages = words.huge_pages,
                                .kernel = whole_path(words.kernel),
                                .initrd = whole_path(words.initrd),
                                .append = words.append};
  if (words.memory) {
    const Result<std::uint64_t> bytes = vmm::parse_vm_memory(*words.memory);
    if (!bytes) return std::unexpected(bytes.error());
    if (*bytes % kMib != 0) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("--memory {}: must be a whole number of MiB", *words.memory));
    }
    change.memory_mib = *bytes / kMib;
  }
  if (words.accelerator) change.accelerator = model::parse_accelerator(*words.accelerator);
  if (words.cpu_model == kNoneWord) change.cpu_model = "";
  if (!words.disks.empty()) {
    auto disks = parse_disks(words.disks);
    if (!disks) return std::unexpected(disks.error());
    change.disks = std::move(*disks);
  }
  if (!words.qemu_arguments.empty()) {
    change.qemu_arguments =
        is_none(words.qemu_arguments) ? std::vector<std::string>{} : words.qemu_arguments;
  }
  return change;
}

}  // namespace paravane::cli
