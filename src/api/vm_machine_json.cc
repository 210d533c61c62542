#include "api/vm_machine_json.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "json/json_reader.h"

namespace paravane::api {

using nlohmann::json;

namespace {

json disk_to_json(const model::Disk& disk) {
  if (disk.is_lun()) return {{"lun", disk.lun}, {"read_only", disk.read_only}};
  return {{"file", disk.file},
          {"format", model::to_string(disk.format)},
          {"read_only", disk.read_only}};
}

json disks_to_json(const std::vector<model::Disk>& disks) {
  json array = json::array();
  for (const model::Disk& disk : disks) array.push_back(disk_to_json(disk));
  return array;
}

Result<model::Disk> disk_from_json(const json& value, UnknownKeys unknown) {
  JsonReader reader(value, "disk");
  model::Disk disk;
  disk.lun = reader.text("lun").value_or("");
  disk.file = disk.is_lun() ? reader.text("file").value_or("") : reader.need_text("file");
  if (const auto text = reader.text("format")) {
    const auto format = model::parse_disk_format(*text);
    if (!format) reader.complain("format", "must be \"raw\" or \"qcow2\"");
    disk.format = format.value_or(model::DiskFormat::kRaw);
  }
  disk.read_only = reader.boolean("read_only").value_or(false);
  const Status good =
      unknown == UnknownKeys::kIgnored ? reader.finish_ignoring_unknown() : reader.finish();
  if (!good) return std::unexpected(good.error());
  return disk;
}

std::optional<std::vector<model::Disk>> read_disks(JsonReader& reader, UnknownKeys unknown) {
  const json* array = reader.array("disks");
  if (array == nullptr) return std::nullopt;
  std::vector<model::Disk> disks;
  for (const json& element : *array) {
    const Result<model::Disk> disk = disk_from_json(element, unknown);
    if (!disk) {
      reader.complain("disks", disk.error().message);
      break;
    }
    disks.push_back(*disk);
  }
  return disks;
}

std::optional<std::vector<std::string>> read_words(JsonReader& reader, const char* key) {
  const json* array = reader.array(key);
  if (array == nullptr) return std::nullopt;
  std::vector<std::string> words;
  for (const json& element : *array) {
    if (!element.is_string()) {
      reader.complain(key, "must be an array of strings");
      break;
    }
    words.push_back(element.get<std::string>());
  }
  return words;
}

}  // namespace

json to_json(const model::VmMachine& machine) {
  return {{"memory_mib", machine.memory_mib},
          {"cpus", machine.cpus},
          {"accelerator", model::to_string(machine.accelerator)},
          {"cpu_model", machine.cpu_model},
          {"lock_memory", machine.lock_memory},
          {"huge_pages", machine.huge_pages},
          {"kernel", machine.kernel},
          {"initrd", machine.initrd},
          {"append", machine.append},
          {"disks", disks_to_json(machine.disks)},
          {"qemu_arguments", machine.qemu_arguments}};
}

json to_json(const model::VmMachineChange& change) {
  json result = json::object();
  const auto put = [&result](const char* key, const auto& value) {
    if (value) result[key] = *value;
  };
  put("memory_mib", change.memory_mib);
  put("cpus", change.cpus);
  if (change.accelerator) result["accelerator"] = model::to_string(*change.accelerator);
  put("cpu_model", change.cpu_model);
  put("lock_memory", change.lock_memory);
  put("huge_pages", change.huge_pages);
  put("kernel", change.kernel);
  put("initrd", change.initrd);
  put("append", change.append);
  if (change.disks) result["disks"] = disks_to_json(*change.disks);
  put("qemu_arguments", change.qemu_arguments);
  return result;
}

Result<model::VmMachineChange> machine_change_from_json(const json& value, UnknownKeys unknown) {
  JsonReader reader(value, "machine");
  model::VmMachineChange change;
  change.memory_mib = reader.number("memory_mib");
  change.cpus = reader.u32("cpus");
  if (const auto text = reader.text("accelerator")) {
    change.accelerator = model::parse_accelerator(*text);
    if (!change.accelerator) {
      reader.complain("accelerator", R"(must be "auto", "kvm" or "tcg")");
    }
  }
  change.cpu_model = reader.text("cpu_model");
  change.lock_memory = reader.boolean("lock_memory");
  change.huge_pages = reader.boolean("huge_pages");
  change.kernel = reader.text("kernel");
  change.initrd = reader.text("initrd");
  change.append = reader.text("append");
  change.disks = read_disks(reader, unknown);
  change.qemu_arguments = read_words(reader, "qemu_arguments");
  const Status good =
      unknown == UnknownKeys::kIgnored ? reader.finish_ignoring_unknown() : reader.finish();
  if (!good) return std::unexpected(good.error());
  return change;
}

}  // namespace paravane::api
