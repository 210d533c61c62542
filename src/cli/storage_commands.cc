// paravane storage core adapter list, rescan; core device list; core path list; nmp device list;
// nmp path list.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/nearest_name.h"
#include "cli/esxcli_tree.h"
#include "cli/ib_module_actions.h"
#include "cli/storage_actions.h"
#include "cli/storage_tables.h"
#include "model/ib_module.h"

namespace paravane::cli {

using model::LunPath;
using model::ScsiDevice;

namespace {

// How long a rescan is waited for, which goes on without us.
constexpr std::chrono::milliseconds kScanLook{100};
constexpr unsigned kMostScanLooks = 100;

std::vector<std::string> device_names(const std::vector<ScsiDevice>& devices) {
  std::vector<std::string> names;
  for (const ScsiDevice& device : devices) names.push_back(device.name);
  return names;
}

}  // namespace

model::ApiResult<std::vector<ScsiDevice>> chosen_devices(api::ApiClient& client,
                                                         const StorageChoice& choice) {
  auto devices = client.list_scsi_devices();
  if (!devices || choice.device.empty()) return devices;
  const std::vector<std::string> names = device_names(*devices);
  std::erase_if(*devices, [&](const ScsiDevice& one) { return one.name != choice.device; });
  if (!devices->empty()) return devices;
  return model::refuse(
      model::ApiErrorCode::kNotFound, "this host has no LUN " + choice.device,
      do_you_mean(choice.device, names) + "List the LUNs with: paravane storage core device list");
}

model::ApiResult<StoragePaths> chosen_paths(api::ApiClient& client, const StorageChoice& choice) {
  auto devices = chosen_devices(client, choice);
  if (!devices) return std::unexpected(devices.error());
  auto paths = client.list_lun_paths();
  if (!paths) return std::unexpected(paths.error());
  std::erase_if(*paths, [&](const LunPath& one) {
    const bool is_other = !choice.device.empty() && one.device != choice.device;
    return is_other ||
           (!choice.path.empty() && one.name != choice.path && path_uid(one) != choice.path);
  });
  if (paths->empty() && !choice.path.empty())
    return model::refuse(model::ApiErrorCode::kNotFound, "this host has no path " + choice.path,
                         "List the paths with: paravane storage core path list");
  return StoragePaths{.paths = std::move(*paths), .devices = std::move(*devices)};
}

void note_no_vmhbas(api::ApiClient& client, const Context& context) {
  const auto adapters = client.list_ib_adapters();
  if (!adapters || adapters->empty())
    return note_empty(true,
                      "there are no storage adapters without an InfiniBand adapter; see: paravane "
                      "infiniband adapter add --help",
                      context);
  const auto module = find_ib_module_status(client, std::string(model::kModuleSrp));
  const bool is_off = module && !module->is_loaded;
  note_empty(true,
             is_off ? "module ib_srp, which makes storage adapters, is not loaded; see: paravane "
                      "infiniband status"
                    : "no port of an InfiniBand adapter is of type InfiniBand; see: paravane "
                      "infiniband status",
             context);
}

void note_no_luns(api::ApiClient& client, const Context& context) {
  const auto vmhbas = client.list_vmhbas();
  if (vmhbas && vmhbas->empty()) return note_no_vmhbas(client, context);
  note_empty(true,
             "no LUN was found; see: paravane infiniband target list, and paravane storage core "
             "adapter rescan --help",
             context);
}

ExitStatus rescan_vmhbas(const std::optional<std::string>& vmhba, const Context& context) {
  if (vmhba) {
    if (const Status good = model::check_vmhba_name(*vmhba); !good)
      return report_usage(good.error().message,
                          "List the storage adapters with: paravane storage core adapter list");
  }
  api::ApiClient client = context.client();
  if (const auto begun = client.rescan(vmhba); !begun) return report(begun.error(), client);
  for (unsigned looks = 0; looks < kMostScanLooks; ++looks) {
    const auto goes_on = client.is_scanning(vmhba);
    if (!goes_on) return report(goes_on.error(), client);
    if (!*goes_on) return ExitStatus::kOk;
    std::this_thread::sleep_for(kScanLook);
  }
  fmt::print(stderr,
             "paravane: the rescan still runs: some targets answer slowly, or not at all\n");
  return ExitStatus::kOk;
}

ExitStatus list_storage_adapters(const Context& context) {
  api::ApiClient client = context.client();
  const auto vmhbas = client.list_vmhbas();
  if (!vmhbas) return report(vmhbas.error(), client);
  fmt::print("{}", storage_adapter_table(*vmhbas).print(context.format));
  if (vmhbas->empty()) note_no_vmhbas(client, context);
  return ExitStatus::kOk;
}

namespace {

using DeviceRecords = std::vector<text::TextRecord> (*)(const std::vector<ScsiDevice>& devices,
                                                        text::TableFormat format);
using PathRecords = std::vector<text::TextRecord> (*)(const std::vector<LunPath>& paths,
                                                      const std::vector<ScsiDevice>& devices,
                                                      text::TableFormat format);

ExitStatus run_list_devices(const StorageChoice& choice, DeviceRecords records,
                            const Context& context) {
  api::ApiClient client = context.client();
  const auto devices = chosen_devices(client, choice);
  if (!devices) return report(devices.error(), client);
  fmt::print("{}", text::print_records(records(*devices, context.format), context.format));
  if (devices->empty()) note_no_luns(client, context);
  return ExitStatus::kOk;
}

ExitStatus run_list_paths(const StorageChoice& choice, PathRecords records,
                          const Context& context) {
  api::ApiClient client = context.client();
  const auto found = chosen_paths(client, choice);
  if (!found) return report(found.error(), client);
  fmt::print("{}", text::print_records(records(found->paths, found->devices, context.format),
                                       context.format));
  if (found->paths.empty()) note_no_luns(client, context);
  return ExitStatus::kOk;
}

void add_device_list(CLI::App& root, Run& run, const std::string& path, const char* description,
                     DeviceRecords records) {
  CLI::App& list =
      add_esxcli_command(root, path, description, {path, path + " -d naa.60014051e7a0"});
  auto choice = std::make_shared<StorageChoice>();
  list.add_option("-d,--device", choice->device, "Show only this LUN (default: all)")
      ->type_name("LUN");
  list.callback([choice, records, &run] {
    run = [choice, records](const Context& context) {
      return run_list_devices(*choice, records, context);
    };
  });
}

void add_path_list(CLI::App& root, Run& run, const std::string& path, const char* description,
                   PathRecords records) {
  CLI::App& list =
      add_esxcli_command(root, path, description, {path, path + " -p vmhba32:C0:T0:L0"});
  auto choice = std::make_shared<StorageChoice>();
  CLI::Option* device = list.add_option("-d,--device", choice->device,
                                        "Show only the paths to this LUN (default: all)");
  device->type_name("LUN");
  list.add_option("-p,--path", choice->path,
                  "Show only this path, by its runtime name or UID (default: all)")
      ->type_name("PATH-NAME")
      ->excludes(device);
  list.callback([choice, records, &run] {
    run = [choice, records](const Context& context) {
      return run_list_paths(*choice, records, context);
    };
  });
}

void add_rescan(CLI::App& root, Run& run) {
  CLI::App& rescan = add_esxcli_command(
      root, "storage core adapter rescan", "Look for targets and LUNs anew",
      {"storage core adapter rescan -A vmhba32", "storage core adapter rescan --all"});
  auto vmhba = std::make_shared<std::string>();
  auto all = std::make_shared<bool>(false);
  CLI::Option* one = rescan.add_option("-A,--adapter", *vmhba, "Storage adapter to rescan");
  one->type_name("vmhbaN");
  rescan.add_flag("-a,--all", *all, "Rescan all storage adapters of this host")->excludes(one);
  rescan.callback([vmhba, all, &run] {
    run = [vmhba, all](const Context& context) {
      if (vmhba->empty() && !*all)
        return report_usage("--adapter or --all is required",
                            "List the storage adapters with: paravane storage core adapter list");
      return rescan_vmhbas(*all ? std::nullopt : std::optional(*vmhba), context);
    };
  });
}

}  // namespace

void add_storage_commands(CLI::App& root, Run& run) {
  add_esxcli_command(root, "storage core adapter list", "List the storage adapters of this host",
                     {"storage core adapter list", "--formatter=csv storage core adapter list"})
      .callback([&run] { run = list_storage_adapters; });
  add_rescan(root, run);
  add_device_list(root, run, "storage core device list", "List the LUNs of this host",
                  device_records);
  add_path_list(root, run, "storage core path list", "List the paths to LUNs", path_records);
  add_device_list(root, run, "storage nmp device list",
                  "List the LUNs with the state of their paths", nmp_device_records);
  add_path_list(root, run, "storage nmp path list", "List the paths with their policy's state",
                nmp_path_records);
}

}  // namespace paravane::cli
