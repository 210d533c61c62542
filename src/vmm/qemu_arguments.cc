#include "vmm/qemu_arguments.h"

#include <fmt/core.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "model/distributed_switch.h"
#include "vmm/adapter_slots.h"

namespace paravane::vmm {
namespace {

// Names of an option that is given once for each adapter, or not at all.
Status check_count(std::string_view option, const std::vector<std::string>& names,
                   std::size_t adapters) {
  if (names.empty() || names.size() == adapters) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("{} is given {} time{}, but the VM has {} adapter{}: give the option "
                          "once per adapter, in order",
                          option, names.size(), names.size() == 1 ? "" : "s", adapters,
                          adapters == 1 ? "" : "s"));
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
  return fail(Errc::kInvalidArgument, fmt::format("--netdev {}: an id must start with a letter and "
                                                  "contain only letters, digits, '-', '.' and '_'",
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

Status check_interface(std::string_view option, const std::string& name) {
  const Status good = model::check_interface_name(name);
  if (good) return {};
  return fail(Errc::kInvalidArgument, fmt::format("{} {}: {}", option, name, good.error().message));
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
              fmt::format("--memory {}: use a size such as 512M or 4G", text));
}

Result<std::uint64_t> parse_vm_memory(const std::string& text) {
  constexpr std::uint64_t kLeast = 64;  // MiB
  Result<std::uint64_t> bytes = parse_memory(text);
  if (!bytes || *bytes >= kLeast << 20) return bytes;
  const std::uint64_t given = *bytes >> 20;
  if (given << 20 != *bytes) {
    return fail(Errc::kInvalidArgument,
                fmt::format("--memory {}: too small to boot; give at least {}M", text, kLeast));
  }
  return fail(
      Errc::kInvalidArgument,
      fmt::format("--memory {0}: {1} MiB is too small to boot; did you mean {1}G?", text, given));
}

Result<std::uint64_t> memory_of(const model::VmMachine& machine, const VmmOptions& options) {
  if (options.memory) return parse_vm_memory(*options.memory);
  return machine.memory_mib << 20;
}

Result<std::vector<std::string>> qemu_arguments(const model::VmStatus& vm,
                                                const VmmOptions& options) {
  const Result<std::uint64_t> bytes = memory_of(vm.spec.machine, options);
  if (!bytes) return std::unexpected(bytes.error());
  if (const Status good = check_networks(options, vm.adapters.size()); !good) {
    return std::unexpected(good.error());
  }
  const Result<std::vector<AdapterSlot>> slots = slots_of(vm, options.slot);
  if (!slots) return std::unexpected(slots.error());
  std::vector<std::string> words = {
      "-object",
      fmt::format("memory-backend-memfd,id=paravane-ram,size={}K,share=on", *bytes >> 10),
      "-machine", "memory-backend=paravane-ram,dump-guest-core=off"};
  for (std::size_t i = 0; i < slots->size(); ++i) {
    const AdapterSlot& slot = (*slots)[i];
    std::string netdev = options.netdevs.empty() ? slot.netdev_id : options.netdevs[i];
    if (options.netdevs.empty()) {
      const std::string tap = options.taps.empty() ? slot.tap : options.taps[i];
      words.insert(words.end(),
                   {"-netdev", fmt::format("tap,id={},ifname={},script=no,downscript=no", netdev,
                                           escape_commas(tap))});
    }
    words.insert(words.end(),
                 {"-device",
                  fmt::format("vmxnet3,netdev={},mac={},addr={:x}.0,multifunction=on",
                              escape_commas(netdev), slot.mac, slot.number),
                  "-device", print(device_of(slot, "", fmt::format("{:x}.1", slot.number)))});
  }
  return words;
}

std::string shell_quote(const std::string& word) {
  bool safe = !word.empty();
  for (const char c : word) safe = safe && is_shell_safe(c);
  if (safe) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace paravane::vmm
