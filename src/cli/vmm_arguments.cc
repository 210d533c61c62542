#include "cli/vmm_arguments.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "control/distributed_switch.h"
#include "control/interface_name.h"

namespace paravane::cli {
namespace {

// QEMU separates the properties of an option with commas; a doubled one is a
// comma of the value.
std::string escape_commas(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c;
    if (c == ',') escaped += ',';
  }
  return escaped;
}

std::string escape_xml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '\'': escaped += "&apos;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

constexpr std::uint32_t kLastSlot = 0x1f;

// One adapter with what belongs to it on the VMM's side.
struct Slot {
  std::uint32_t number;  // of the PCI slot
  std::string mac;
  std::string socket;
  std::string netdev_id;  // of a -netdev that we make
  std::string device_id;
  std::string tap;
  bool in_port_group;  // then the tap is there
};

// Adapters keep their slots when others are taken away.
Result<std::vector<Slot>> slots_of(const control::VmStatus& vm, const VmmOptions& options) {
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < vm.adapters.size(); ++i) {
    const control::AdapterSpec& adapter = vm.spec.adapters[i];
    const std::uint32_t slot = options.slot + adapter.number - 1;
    if (slot > kLastSlot) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("--addr {:x}: adapter {} would be in slot {:x}, and the last is {:x}",
                              options.slot, adapter.number, slot, kLastSlot));
    }
    slots.push_back(
        {.number = slot,
         .mac = control::format_mac(*adapter.mac),
         .socket = vm.adapters[i].socket,
         .netdev_id = adapter.number == 1 ? std::string("paravane-net")
                                          : fmt::format("paravane-net{}", adapter.number - 1),
         .device_id = fmt::format("paravane{}", adapter.number - 1),
         .tap = vm.adapters[i].tap.empty() ? control::tap_name(vm.spec.name, adapter.number)
                                           : vm.adapters[i].tap,
         .in_port_group = !vm.adapters[i].tap.empty()});
  }
  return slots;
}

// The NIC beside our device.
std::string interface_xml(const Slot& slot, const std::string& bridge) {
  const std::string source =
      slot.in_port_group
          ? fmt::format("      <target dev='{}' managed='no'/>\n", escape_xml(slot.tap))
          : fmt::format("      <source bridge='{}'/>\n", escape_xml(bridge));
  return fmt::format(
      "    <interface type='{}'>\n"
      "      <mac address='{}'/>\n"
      "{}"
      "      <model type='vmxnet3'/>\n"
      "      <address type='pci' domain='0x0000' bus='0x00' slot='0x{:02x}' function='0x0' "
      "multifunction='on'/>\n"
      "    </interface>\n",
      slot.in_port_group ? "ethernet" : "bridge", slot.mac, source, slot.number);
}

std::string device_json(const Slot& slot) {
  const nlohmann::ordered_json device = {{"driver", "vfio-user-pci"},
                                         {"id", slot.device_id},
                                         {"addr", fmt::format("{:x}.1", slot.number)},
                                         {"socket", {{"type", "unix"}, {"path", slot.socket}}}};
  return device.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// Names of an option that is given once for each adapter, or not at all.
Status check_count(std::string_view option, const std::vector<std::string>& names,
                   std::size_t adapters) {
  if (names.empty() || names.size() == adapters) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("{} is there {} time{}, and the VM has {} adapter{}: write it once for "
                          "each, in their order",
                          option, names.size(), names.size() == 1 ? "" : "s", adapters,
                          adapters == 1 ? "" : "s"));
}

Status check_interface(std::string_view option, const std::string& name) {
  const Status good = control::check_interface_name(name);
  if (good) return {};
  return fail(Errc::kInvalidArgument, fmt::format("{} {}: {}", option, name, good.error().message));
}

// The id of a -netdev, as QEMU names one (id_wellformed()).
Status check_netdev(const std::string& id) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  bool good = !id.empty() && letter(id.front());
  for (const char c : id) {
    good = good && (letter(c) || (c >= '0' && c <= '9') ||
                    std::string_view("-._").find(c) != std::string_view::npos);
  }
  if (good) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("--netdev {}: an id is letters, digits, '-', '.' and '_', and starts "
                          "with a letter",
                          id));
}

Status check_networks(const VmmOptions& options, std::size_t adapters) {
  for (const std::string& tap : options.taps) {
    if (Status good = check_interface("--tap", tap); !good) return good;
  }
  for (const std::string& id : options.netdevs) {
    if (Status good = check_netdev(id); !good) return good;
  }
  if (Status good = check_count("--tap", options.taps, adapters); !good) return good;
  return check_count("--netdev", options.netdevs, adapters);
}

bool is_shell_safe(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./:=,+@%").find(c) != std::string_view::npos;
}

}  // namespace

Result<std::uint64_t> parse_memory(const std::string& text) {
  constexpr std::string_view kUnits = "KMGT";
  std::uint64_t number = 0;
  const char* end = text.c_str() + text.size();
  const auto parsed = std::from_chars(text.c_str(), end, number);
  std::size_t unit = 1;
  if (parsed.ec == std::errc{} && parsed.ptr + 1 == end) {
    unit = kUnits.find(static_cast<char>(*parsed.ptr & ~0x20));
  }
  const bool good = parsed.ec == std::errc{} && parsed.ptr + 1 >= end &&
                    unit != std::string_view::npos && number > 0 &&
                    number <= (std::uint64_t{1} << 50) >> (10 * (unit + 1));
  if (good) return number << (10 * (unit + 1));
  return fail(Errc::kInvalidArgument,
              fmt::format("--memory {}: write a size such as 512M or 4G", text));
}

Result<std::vector<std::string>> qemu_arguments(const control::VmStatus& vm,
                                                const VmmOptions& options) {
  const Result<std::uint64_t> bytes = parse_memory(options.memory);
  if (!bytes) return std::unexpected(bytes.error());
  if (const Status good = check_networks(options, vm.adapters.size()); !good) {
    return std::unexpected(good.error());
  }
  const Result<std::vector<Slot>> slots = slots_of(vm, options);
  if (!slots) return std::unexpected(slots.error());
  std::vector<std::string> words = {
      "-object",
      fmt::format("memory-backend-memfd,id=paravane-ram,size={}K,share=on", *bytes >> 10),
      "-machine", "memory-backend=paravane-ram"};
  for (std::size_t i = 0; i < slots->size(); ++i) {
    const Slot& slot = (*slots)[i];
    std::string netdev = options.netdevs.empty() ? slot.netdev_id : options.netdevs[i];
    if (options.netdevs.empty()) {
      const std::string tap = options.taps.empty() ? slot.tap : options.taps[i];
      words.insert(words.end(),
                   {"-netdev", fmt::format("tap,id={},ifname={},script=no,downscript=no", netdev,
                                           escape_commas(tap))});
    }
    words.insert(words.end(), {"-device",
                               fmt::format("vmxnet3,netdev={},mac={},addr={:x}.0,multifunction=on",
                                           escape_commas(netdev), slot.mac, slot.number),
                               "-device", device_json(slot)});
  }
  return words;
}

Result<std::string> libvirt_xml(const control::VmStatus& vm, const VmmOptions& options) {
  const Result<std::uint64_t> bytes = parse_memory(options.memory);
  if (!bytes) return std::unexpected(bytes.error());
  if (const Status good = check_interface("--bridge", options.bridge); !good) {
    return std::unexpected(good.error());
  }
  const Result<std::vector<Slot>> slots = slots_of(vm, options);
  if (!slots) return std::unexpected(slots.error());
  std::string interfaces;
  std::string devices;
  for (const Slot& slot : *slots) {
    interfaces += interface_xml(slot, options.bridge);
    devices += fmt::format(
        "    <qemu:arg value='-device'/>\n"
        "    <qemu:arg value='{}'/>\n",
        escape_xml(device_json(slot)));
  }
  return fmt::format(
      "<!-- For `virsh edit`: the namespace goes to the domain element, the rest to the\n"
      "     places where these elements stand. -->\n"
      "<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>\n"
      "  <memory unit='KiB'>{memory}</memory>\n"
      "  <memoryBacking>\n"
      "    <source type='memfd'/>\n"
      "    <access mode='shared'/>\n"
      "  </memoryBacking>\n"
      "  <devices>\n"
      "{interfaces}"
      "  </devices>\n"
      "  <qemu:commandline>\n"
      "{devices}"
      "  </qemu:commandline>\n"
      "</domain>\n",
      fmt::arg("memory", *bytes >> 10), fmt::arg("interfaces", interfaces),
      fmt::arg("devices", devices));
}

std::string shell_quote(const std::string& word) {
  bool safe = !word.empty();
  for (const char c : word) safe = safe && is_shell_safe(c);
  if (safe) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace paravane::cli
