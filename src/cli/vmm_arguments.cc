#include "cli/vmm_arguments.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

namespace paravane::cli {
namespace {

constexpr std::size_t kMaxInterfaceName = 15;

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

std::string device_json(const control::VmStatus& vm, const VmmOptions& options) {
  const nlohmann::ordered_json device = {{"driver", "vfio-user-pci"},
                                         {"id", "paravane0"},
                                         {"addr", fmt::format("{:x}.1", options.slot)},
                                         {"socket", {{"type", "unix"}, {"path", vm.socket}}}};
  return device.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// An interface of Linux, as the kernel names one (dev_valid_name()).
Status check_interface(std::string_view option, const std::string& name) {
  const bool good = name.size() <= kMaxInterfaceName && name != "." && name != ".." &&
                    name.find_first_of("/: \t\n\v\f\r") == std::string::npos;
  if (good) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("{} {}: the name of an interface is 1 to {} characters without blank, "
                          "slash and colon",
                          option, name, kMaxInterfaceName));
}

// The id of a -netdev, as QEMU names one (id_wellformed()).
Status check_netdev(const std::string& id) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  bool good = id.empty() || letter(id.front());
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

bool is_shell_safe(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./:=,+@%").find(c) != std::string_view::npos;
}

std::uint32_t hash32(const std::string& text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 16777619u;
  return hash;
}

}  // namespace

std::string tap_name(const std::string& vm) {
  std::string name = "pv-" + vm;
  if (name.size() <= kMaxInterfaceName) return name;
  return fmt::format("{}-{:04x}", name.substr(0, kMaxInterfaceName - 5), hash32(vm) & 0xFFFF);
}

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
  if (const Status good = check_interface("--tap", options.tap); !good) {
    return std::unexpected(good.error());
  }
  if (const Status good = check_netdev(options.netdev); !good) return std::unexpected(good.error());
  std::vector<std::string> words = {
      "-object",
      fmt::format("memory-backend-memfd,id=paravane-ram,size={}K,share=on", *bytes >> 10),
      "-machine", "memory-backend=paravane-ram"};
  std::string netdev = options.netdev;
  if (netdev.empty()) {
    netdev = "paravane-net";
    const std::string tap = options.tap.empty() ? tap_name(vm.spec.name) : options.tap;
    words.insert(words.end(), {"-netdev", fmt::format("tap,id={},ifname={},script=no,downscript=no",
                                                      netdev, escape_commas(tap))});
  }
  words.insert(words.end(),
               {"-device",
                fmt::format("vmxnet3,netdev={},mac={},addr={:x}.0,multifunction=on",
                            escape_commas(netdev), control::format_mac(*vm.spec.mac), options.slot),
                "-device", device_json(vm, options)});
  return words;
}

Result<std::string> libvirt_xml(const control::VmStatus& vm, const VmmOptions& options) {
  const Result<std::uint64_t> bytes = parse_memory(options.memory);
  if (!bytes) return std::unexpected(bytes.error());
  if (const Status good = check_interface("--bridge", options.bridge); !good) {
    return std::unexpected(good.error());
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
      "    <interface type='bridge'>\n"
      "      <mac address='{mac}'/>\n"
      "      <source bridge='{bridge}'/>\n"
      "      <model type='vmxnet3'/>\n"
      "      <address type='pci' domain='0x0000' bus='0x00' slot='0x{slot:02x}' function='0x0' "
      "multifunction='on'/>\n"
      "    </interface>\n"
      "  </devices>\n"
      "  <qemu:commandline>\n"
      "    <qemu:arg value='-device'/>\n"
      "    <qemu:arg value='{device}'/>\n"
      "  </qemu:commandline>\n"
      "</domain>\n",
      fmt::arg("memory", *bytes >> 10), fmt::arg("mac", control::format_mac(*vm.spec.mac)),
      fmt::arg("bridge", escape_xml(options.bridge)), fmt::arg("slot", options.slot),
      fmt::arg("device", escape_xml(device_json(vm, options))));
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
