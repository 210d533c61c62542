#include "model/storage.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "base/ipv4_interface.h"
#include "model/impairment.h"
#include "model/vm.h"

namespace paravane::model {
namespace {

constexpr std::string_view kVmhbaPrefix = "vmhba";
constexpr unsigned kLongestVmhbaPrefix = 30;  // with room for a target
constexpr std::array<std::string_view, 3> kDevicePrefixes = {"naa.", "eui.", "t10."};

constexpr std::array<std::pair<TargetState, std::string_view>, 4> kTargetStates = {{
    {TargetState::kConnecting, "connecting"},
    {TargetState::kLoggedIn, "logged in"},
    {TargetState::kLost, "lost"},
    {TargetState::kRefused, "refused"},
}};
constexpr std::array<std::pair<PathState, std::string_view>, 3> kPathStates = {{
    {PathState::kActive, "active"},
    {PathState::kStandby, "standby"},
    {PathState::kDead, "dead"},
}};

template <typename Table, typename Value>
std::string_view name_in(const Table& table, Value value) {
  for (const auto& [one, name] : table) {
    if (one == value) return name;
  }
  return "unknown";
}

template <typename Value, std::size_t kCount>
std::optional<Value> value_in(const std::array<std::pair<Value, std::string_view>, kCount>& table,
                              std::string_view text) {
  for (const auto& [value, name] : table) {
    if (name == text) return value;
  }
  return std::nullopt;
}

std::unexpected<Error> bad_storage(std::string message) {
  return fail(Errc::kInvalidArgument, std::move(message));
}

// Of a host: neither "this network" (0/8) nor loopback (127/8), multicast or what is reserved
// (224/4 and up).
bool is_host_address(std::uint32_t address) {
  constexpr std::uint32_t kFirstMulticast = 0xE000'0000;
  const std::uint32_t network = address >> 24;
  return network != 0 && network != 127 && address < kFirstMulticast;
}

bool is_one_host(const Ipv4Interface& value) {
  const std::uint32_t host = value.address & ~value.mask();
  return is_host_address(value.address) && host != 0 && value.address != value.broadcast();
}

bool is_gid(std::string_view address) {
  return address.contains(':') && parse_gid(address).has_value();
}

}  // namespace

Status check_vmhba_name(std::string_view name) {
  constexpr unsigned kLast = kFirstVmhba + kMaxVmhbas - 1;
  if (name.starts_with(kVmhbaPrefix)) {
    const std::string_view digits = name.substr(kVmhbaPrefix.size());
    unsigned number = 0;
    const char* end = digits.data() + digits.size();
    const auto [rest, error] = std::from_chars(digits.data(), end, number);
    const bool is_number = error == std::errc() && rest == end && digits == std::to_string(number);
    if (is_number && number >= kFirstVmhba && number <= kLast) return {};
  }
  return bad_storage(fmt::format("'{}' is not a storage adapter: expected vmhba{} to vmhba{}", name,
                                 kFirstVmhba, kLast));
}

Status check_vmhba_setting(const VmhbaSetting& setting) {
  if (Status good = check_adapter_group(setting.port_group); !good) return good;
  if (setting.ipv4.empty()) {
    if (setting.gateway.empty()) return {};
    return bad_storage("a gateway needs an IPv4 address of the storage adapter");
  }
  if (setting.port_group.empty())
    return bad_storage(
        "an IPv4 address needs a port group, through which the storage adapter reaches native "
        "endpoints");
  const auto ipv4 = parse_ipv4_interface(setting.ipv4);
  if (!ipv4 || ipv4->prefix == 0 || ipv4->prefix > kLongestVmhbaPrefix || !is_one_host(*ipv4))
    return bad_storage(fmt::format(
        "'{}' is not the IPv4 address of a host and the length of its network's prefix, 1 to {}, "
        "such as 192.0.2.9/24",
        setting.ipv4, kLongestVmhbaPrefix));
  if (setting.gateway.empty()) return {};
  const auto gateway = parse_ipv4(setting.gateway);
  const bool is_host = gateway && is_one_host({.address = *gateway, .prefix = ipv4->prefix}) &&
                       ipv4->overlaps({.address = *gateway, .prefix = ipv4->prefix});
  if (!is_host)
    return bad_storage(fmt::format("gateway '{}' is not a host in the network of {}",
                                   setting.gateway, setting.ipv4));
  if (*gateway == ipv4->address)
    return bad_storage(
        fmt::format("gateway {} is the storage adapter's own address", setting.gateway));
  return {};
}

Status check_srp_target(const SrpTarget& target) {
  if (Status good = check_vmhba_name(target.vmhba); !good) return good;
  if (target.service.has_value() == target.port.has_value())
    return bad_storage(
        "a target has either a service ID, with a GID, or a port, with a GID or an IPv4 address");
  const auto ipv4 = parse_ipv4(target.address);
  const bool is_ipv4 = ipv4 && is_host_address(*ipv4);
  if (target.service && !is_gid(target.address))
    return bad_storage(fmt::format(
        "'{}' is not a GID, such as fe80::5054:ff:fe77:1, which a target with a service ID has",
        target.address));
  if (target.port && !is_ipv4 && !is_gid(target.address))
    return bad_storage(fmt::format(
        "'{}' is neither a GID nor the IPv4 address of a host, of which a target with a port has "
        "one",
        target.address));
  if (target.service == std::uint64_t{0}) return bad_storage("the service ID must not be 0");
  if (target.port == std::uint16_t{0}) return bad_storage("the port must be 1 to 65535");
  if (target.id_ext == 0) return bad_storage("id_ext must not be 0");
  if (target.ioc_guid == 0) return bad_storage("ioc_guid must not be 0");
  return {};
}

std::string describe(const SrpTarget& target) {
  return fmt::format("{} to {}, id_ext 0x{:016x}, ioc_guid 0x{:016x}", target.vmhba, target.address,
                     target.id_ext, target.ioc_guid);
}

std::string_view to_string(TargetState state) {
  return name_in(kTargetStates, state);
}

std::optional<TargetState> parse_target_state(std::string_view text) {
  return value_in(kTargetStates, text);
}

std::string_view to_string(PathState state) {
  return name_in(kPathStates, state);
}

std::optional<PathState> parse_path_state(std::string_view text) {
  return value_in(kPathStates, text);
}

std::string srp_adapter_identifier(std::uint64_t port_guid) {
  return fmt::format("srp.{:016x}", port_guid);
}

std::string srp_target_identifier(std::uint64_t id_ext, std::uint64_t ioc_guid) {
  return fmt::format("srp.{:016x}:{:016x}", id_ext, ioc_guid);
}

std::string lun_path_name(std::string_view vmhba, std::uint32_t target, std::uint32_t lun) {
  return fmt::format("{}:C0:T{}:L{}", vmhba, target, lun);
}

Status check_device_name(std::string_view name) {
  const auto is_prefix = [name](std::string_view prefix) {
    return name.starts_with(prefix) && name.size() > prefix.size();
  };
  const auto is_good = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' ||
           c == ':' || c == '+';
  };
  if (name.size() <= kMaxDeviceName && std::ranges::any_of(kDevicePrefixes, is_prefix) &&
      std::ranges::all_of(name, is_good))
    return {};
  return bad_storage(
      fmt::format("'{}' is not the name of a LUN: expected naa., eui. or t10., then letters, "
                  "digits, '_', '-', ':', "
                  "'+' and '.', {} characters at most",
                  name, kMaxDeviceName));
}

std::string lun_socket(std::string_view directory, std::string_view device) {
  return fmt::format("{}/{}.lun", directory, device);
}

}  // namespace paravane::model
