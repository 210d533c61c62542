#include "model/vmknic.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "model/vm.h"

namespace paravane::model {
namespace {

constexpr unsigned kShortestPrefix = 8;
constexpr unsigned kLongestPrefix = 30;  // with room for a second host

// RFC 1918, RFC 6598, RFC 3927.
constexpr std::array<Ipv4Interface, 5> kPrivate = {{{.address = 0x0A000000, .prefix = 8},
                                                    {.address = 0xAC100000, .prefix = 12},
                                                    {.address = 0xC0A80000, .prefix = 16},
                                                    {.address = 0x64400000, .prefix = 10},
                                                    {.address = 0xA9FE0000, .prefix = 16}}};

constexpr std::string_view kPrefix = "vmk";

bool is_vmknic_name(std::string_view name) {
  if (!name.starts_with(kPrefix)) return false;
  const std::string_view digits = name.substr(kPrefix.size());
  unsigned number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return parsed.ec == std::errc{} && parsed.ptr == digits.data() + digits.size() &&
         number <= kLastVmknic && digits == std::to_string(number);
}

}  // namespace

Status check_vmknic_name(std::string_view name) {
  if (is_vmknic_name(name)) return {};
  return fail(
      Errc::kInvalidArgument,
      fmt::format("\"{}\" is not a VMkernel interface: expected vmk0 to vmk{}", name, kLastVmknic));
}

Status check_private(const Ipv4Interface& value) {
  const std::string text = format_ipv4(value);
  if (value.prefix < kShortestPrefix || value.prefix > kLongestPrefix) {
    return fail(Errc::kInvalidArgument, fmt::format("{}: the prefix length must be /{} to /{}",
                                                    text, kShortestPrefix, kLongestPrefix));
  }
  const bool known = std::ranges::any_of(kPrivate, [&value](const Ipv4Interface& network) {
    return value.prefix >= network.prefix && network.overlaps(value);
  });
  if (!known) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format(
            "{}: only addresses in private networks (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, "
            "100.64.0.0/10, 169.254.0.0/16) may be used",
            text));
  }
  const std::uint32_t host = value.address & ~value.mask();
  if (host != 0 && value.address != value.broadcast()) return {};
  return fail(Errc::kInvalidArgument, fmt::format("{}: not the address of a single host", text));
}

Status check_vmknic(const Vmknic& vmknic) {
  if (Status good = check_vmknic_name(vmknic.name); !good) return good;
  if (vmknic.name == kManagementVmknic) {
    return fail(Errc::kInvalidArgument,
                "vmk0 is the Linux interface that has [cluster] address; use vmk1 or higher");
  }
  if (Status good = check_name(vmknic.port_group); !good) return good;
  if (vmknic.mac && !is_unicast(*vmknic.mac)) {
    return fail(Errc::kInvalidArgument, "the MAC address is not a unicast address");
  }
  if (!vmknic.ipv4) return {};
  return check_private(*vmknic.ipv4);
}

std::string usable_vmknic(const std::vector<VmknicStatus>& vmknics) {
  for (const VmknicStatus& one : vmknics) {
    const bool good = one.problem.empty() && one.spec.ipv4 && one.spec.name != kManagementVmknic;
    if (good) return one.spec.name;
  }
  return std::string(kManagementVmknic);
}

}  // namespace paravane::model
