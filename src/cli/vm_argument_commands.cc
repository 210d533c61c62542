// paravane vm qemu-args, libvirt-xml.

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/lun_sockets.h"
#include "model/lun_disk.h"
#include "vmm/libvirt_domain.h"
#include "vmm/qemu_arguments.h"

namespace paravane::cli {
namespace {

struct ArgumentOptions {
  std::string name;
  std::string slot = "10";
  vmm::VmmOptions vmm;
  bool shell = false;
  bool json = false;
};

// Slots of a PCI bus are 1 to 31; hexadecimal, as QEMU writes them.
Status read_slot(ArgumentOptions& options) {
  std::uint32_t slot = 0;
  const std::string& text = options.slot;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), slot, 16);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || slot < 1 ||
      slot > 31) {
    return fail(Errc::kInvalidArgument,
                fmt::format("--addr {}: a PCI slot is 1 to 1f (hexadecimal)", text));
  }
  options.vmm.slot = slot;
  return {};
}

// The VM, if all of the options are good.
Result<model::VmStatus> find_vm(ArgumentOptions& options, const Context& context,
                                ExitStatus& status) {
  if (Status good = read_slot(options); !good) {
    status = report_usage(good.error().message);
    return std::unexpected(good.error());
  }
  if (Status good = model::check_name(options.name); !good) {
    status = report_usage(fmt::format("vm {}: {}", options.name, good.error().message));
    return std::unexpected(good.error());
  }
  api::ApiClient client = context.client();
  auto vm = client.find_vm(options.name);
  const auto has_mac = [](const model::AdapterSpec& adapter) { return adapter.mac.has_value(); };
  if (vm && std::ranges::all_of(vm->spec.adapters, has_mac)) return std::move(*vm);
  if (vm) {
    vm = model::refuse(model::ApiErrorCode::kInternal,
                       "the daemon's response contains no MAC address");
  }
  status = report(vm.error(), client);
  return fail(Errc::kNotFound, vm.error().message);
}

// Printed one per line, a shell that takes the words as they stand makes several of such a one.
bool is_cut_by_shell(const std::string& word) {
  return word.find_first_of(" \t\n*?[") != std::string::npos;
}

void print_words(const std::vector<std::string>& words, const ArgumentOptions& options) {
  if (options.json) {
    const nlohmann::json array(words);
    fmt::print("{}\n", array.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  std::string text;
  for (const std::string& word : words) {
    if (options.shell && !text.empty()) text += ' ';
    text += options.shell ? vmm::shell_quote(word) : word + "\n";
  }
  fmt::print("{}{}", text, options.shell ? "\n" : "");
}

ExitStatus run_qemu_args(ArgumentOptions options, const Context& context) {
  ExitStatus status = ExitStatus::kOk;
  const auto vm = find_vm(options, context, status);
  if (!vm) return status;
  const auto words = vmm::qemu_arguments(*vm, options.vmm);
  if (!words) return report_usage(words.error().message);
  options.json = options.json || context.format == text::TableFormat::kJson;
  const bool quoted = options.shell || options.json;
  if (const auto cut = std::ranges::find_if(*words, is_cut_by_shell);
      !quoted && cut != words->end()) {
    return report_failure(
        fmt::format("vm {}: a shell would split or change this argument: {}", options.name, *cut),
        "Use --shell or --json to print quoted arguments.");
  }
  print_words(*words, options);
  return ExitStatus::kOk;
}

ExitStatus run_libvirt_xml(ArgumentOptions options, const Context& context) {
  ExitStatus status = ExitStatus::kOk;
  const auto vm = find_vm(options, context, status);
  if (!vm) return status;
  options.vmm.luns = lun_sockets_of(*vm, context);
  const auto xml = vmm::libvirt_xml(*vm, options.vmm);
  if (!xml) return report_usage(xml.error().message);
  fmt::print("{}", *xml);
  return ExitStatus::kOk;
}

void add_argument_options(CLI::App& command, ArgumentOptions& options) {
  command.add_option("NAME", options.name, "Name of the VM")->required();
  command
      .add_option("--memory", options.vmm.memory,
                  "Guest memory, same as QEMU's -m (default: as configured)")
      ->type_name("SIZE");
  command
      .add_option("--addr", options.slot,
                  "PCI slot of the first adapter, hexadecimal (default: 10)")
      ->type_name("SLOT");
}

}  // namespace

void add_vm_argument_commands(CLI::App& vm, Run& run) {
  auto options = std::make_shared<ArgumentOptions>();
  CLI::App* qemu = vm.add_subcommand("qemu-args", "Print QEMU arguments for a VM's adapters");
  add_argument_options(*qemu, *options);
  CLI::Option* netdev = qemu->add_option(
      "--netdev", options->vmm.netdevs, "Connect the NIC to your -netdev; repeat for each adapter");
  netdev->type_name("ID")->allow_extra_args(false);
  qemu->add_option("--tap", options->vmm.taps,
                   "Tap device of the NIC; repeat for each adapter (default: pv-NAME)")
      ->type_name("IFNAME")
      ->allow_extra_args(false)
      ->excludes(netdev);
  CLI::Option* shell =
      qemu->add_flag("--shell", options->shell, "Print one line, quoted for a shell");
  qemu->add_flag("--json", options->json, "Print a JSON array of words")->excludes(shell);
  qemu->footer(
      "Arguments are printed one per line. None contains a space, so they need no quotes:\n"
      "  qemu-system-x86_64 -machine q35 ... $(paravane vm qemu-args db1 --tap tap0 --memory 4G)\n"
      "Examples:\n"
      "  paravane vm qemu-args db1 --netdev net0 --shell\n"
      "  paravane vm qemu-args db1 --json");
  qemu->callback([options, &run] {
    run = [options](const Context& context) { return run_qemu_args(*options, context); };
  });

  auto xml_options = std::make_shared<ArgumentOptions>();
  CLI::App* xml = vm.add_subcommand("libvirt-xml", "Print a VM as a libvirt domain");
  add_argument_options(*xml, *xml_options);
  xml->add_option("--bridge", xml_options->vmm.bridge, "Bridge of the NIC (default: br0)")
      ->type_name("BRIDGE");
  xml->add_option("--emulator", xml_options->vmm.emulator,
                  "QEMU binary (default: libvirt's choice)")
      ->type_name("PATH");
  xml->footer(
      "Examples:\n"
      "  paravane vm libvirt-xml db1 >db1.xml && virsh define db1.xml\n"
      "  paravane vm libvirt-xml db1 --bridge virbr0 --memory 4G");
  xml->callback([xml_options, &run] {
    run = [xml_options](const Context& context) { return run_libvirt_xml(*xml_options, context); };
  });
}

}  // namespace paravane::cli
