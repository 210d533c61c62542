// esxcfg-mpath, esxcfg-rescan and esxcfg-scsidevs, as the InfiniBand guide types them, and `ibstat
// -vmhba`: what each does is a command of `paravane storage`, too.

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/infiniband_run.h"
#include "cli/storage_actions.h"
#include "cli/storage_tables.h"

namespace paravane::cli {
namespace {

constexpr std::string_view kIbstatVmhba = "-vmhba";

struct MpathOptions {
  bool lists = false;
  bool is_brief = false;
  bool is_compact = false;
  StorageChoice choice;
};

struct ScsidevsOptions {
  bool lists_adapters = false;
  bool lists_devices = false;
  bool is_compact = false;
};

bool is_table(const Context& context) {
  return context.format == text::TableFormat::kTable;
}

ExitStatus run_esxcfg_mpath(const MpathOptions& options, const Context& context) {
  api::ApiClient client = context.client();
  const auto found = chosen_paths(client, options.choice);
  if (!found) return report(found.error(), client);
  std::string text;
  if (options.is_brief && is_table(context)) {
    text = mpath_brief(found->devices);
  } else if (options.is_compact && is_table(context)) {
    text = mpath_compact(found->paths);
  } else {
    text = text::print_records(mpath_records(found->paths, found->devices, context.format),
                               context.format);
  }
  fmt::print("{}", text);
  if (found->paths.empty()) note_no_luns(client, context);
  return ExitStatus::kOk;
}

ExitStatus run_esxcfg_scsidevs(const ScsidevsOptions& options, const Context& context) {
  if (options.lists_adapters && !is_table(context)) return list_storage_adapters(context);
  api::ApiClient client = context.client();
  if (options.lists_adapters) {
    const auto vmhbas = client.list_vmhbas();
    if (!vmhbas) return report(vmhbas.error(), client);
    fmt::print("{}", scsidevs_adapters(*vmhbas));
    if (vmhbas->empty()) note_no_vmhbas(client, context);
    return ExitStatus::kOk;
  }
  const auto devices = client.list_scsi_devices();
  if (!devices) return report(devices.error(), client);
  if (!is_table(context)) {
    fmt::print("{}", text::print_records(device_records(*devices, context.format), context.format));
  } else {
    fmt::print("{}", options.is_compact ? scsidevs_compact(*devices) : scsidevs_list(*devices));
  }
  if (devices->empty()) note_no_luns(client, context);
  return ExitStatus::kOk;
}

ExitStatus run_ibstat_vmhba(const Context& context) {
  if (!is_table(context)) return list_storage_adapters(context);
  api::ApiClient client = context.client();
  const auto vmhbas = client.list_vmhbas();
  if (!vmhbas) return report(vmhbas.error(), client);
  fmt::print("{}", ibstat_vmhbas(*vmhbas));
  if (vmhbas->empty()) note_no_vmhbas(client, context);
  return ExitStatus::kOk;
}

}  // namespace

void add_esxcfg_mpath(CLI::App& root, Run& run) {
  root.description("The paths to the LUNs of this host, as esxcfg-mpath of vSphere prints them.");
  root.footer(
      "Examples:\n"
      "  esxcfg-mpath -l\n"
      "  esxcfg-mpath -l -d naa.60014051e7a0\n"
      "  esxcfg-mpath -b\n"
      "See also paravane(1).");
  auto options = std::make_shared<MpathOptions>();
  CLI::Option* list = root.add_flag("-l,--list", options->lists, "List the paths (the default)");
  CLI::Option* brief =
      root.add_flag("-b,--list-paths", options->is_brief, "List the LUNs, each with its paths");
  CLI::Option* compact =
      root.add_flag("-L,--list-compact", options->is_compact, "List the paths, one in each line");
  CLI::Option* device =
      root.add_option("-d,--device", options->choice.device, "Show only this LUN (default: all)");
  device->type_name("LUN");
  root.add_option("-P,--path", options->choice.path,
                  "Show only this path, by its runtime name or UID (default: all)")
      ->type_name("PATH-NAME")
      ->excludes(device)
      ->excludes(brief);
  list->excludes(brief);
  list->excludes(compact);
  brief->excludes(compact);
  root.callback([options, &run] {
    run = [options](const Context& context) { return run_esxcfg_mpath(*options, context); };
  });
}

void add_esxcfg_rescan(CLI::App& root, Run& run) {
  root.description("Looks for targets and LUNs anew, as esxcfg-rescan of vSphere.");
  root.footer(
      "Examples:\n"
      "  esxcfg-rescan vmhba32\n"
      "  esxcfg-rescan -A\n"
      "See also paravane(1).");
  auto vmhba = std::make_shared<std::string>();
  auto all = std::make_shared<bool>(false);
  CLI::Option* one = root.add_option("VMHBA", *vmhba, "Storage adapter, such as vmhba32");
  root.add_flag("-A,--all", *all, "Rescan all storage adapters of this host")->excludes(one);
  root.callback([vmhba, all, &run] {
    run = [vmhba, all](const Context& context) {
      if (vmhba->empty() && !*all)
        return report_usage("VMHBA is missing",
                            "List the storage adapters with: esxcfg-scsidevs -a");
      return rescan_vmhbas(*all ? std::nullopt : std::optional(*vmhba), context);
    };
  });
}

void add_esxcfg_scsidevs(CLI::App& root, Run& run) {
  root.description(
      "The LUNs and storage adapters of this host, as esxcfg-scsidevs of vSphere prints them.");
  root.footer(
      "Examples:\n"
      "  esxcfg-scsidevs -a\n"
      "  esxcfg-scsidevs -c\n"
      "See also paravane(1).");
  auto options = std::make_shared<ScsidevsOptions>();
  CLI::Option* adapters =
      root.add_flag("-a,--hbas", options->lists_adapters, "List the storage adapters");
  CLI::Option* devices =
      root.add_flag("-l,--list", options->lists_devices, "List the LUNs (the default)");
  CLI::Option* compact =
      root.add_flag("-c,--compact-list", options->is_compact, "List the LUNs, one in each line");
  adapters->excludes(devices);
  adapters->excludes(compact);
  devices->excludes(compact);
  root.callback([options, &run] {
    run = [options](const Context& context) { return run_esxcfg_scsidevs(*options, context); };
  });
}

bool is_ibstat_vmhba(std::span<const std::string> words) {
  return std::ranges::find(words, kIbstatVmhba) != words.end();
}

std::vector<std::string> without_ibstat_vmhba(std::vector<std::string> words) {
  std::erase(words, kIbstatVmhba);
  return words;
}

void add_ibstat(CLI::App& root, Run& run) {
  root.description("The storage adapters of this host with their ports, as ibstat -vmhba.");
  root.footer("Examples:\n  ibstat -vmhba\nSee also paravane(1).");
  root.callback([&run] { run = run_ibstat_vmhba; });
}

ExitStatus run_other_ibstat(std::vector<std::string> words, const Context& context) {
  const bool is_help = words.size() == 1 && (words[0] == "-h" || words[0] == "--help");
  if (is_help) {
    fmt::print(
        "ibstat -vmhba lists the storage adapters of this host. All else is "
        "infiniband-diags':\n\n");
    std::fflush(stdout);
  }
  words.insert(words.begin(), std::string(kIbstat));
  return run_infiniband_program(words, "", context);
}

}  // namespace paravane::cli
