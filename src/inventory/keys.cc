#include "inventory/keys.h"

#include <fmt/core.h>

#include <algorithm>

#include "model/vm.h"

namespace paravane::inventory {
namespace {

constexpr std::string_view kAdapters = "adapters/";
constexpr std::string_view kMac = "/mac/";              // after the adapter
constexpr std::string_view kPortGroup = "/portgroup/";  // after the adapter
constexpr std::string_view kGids = "gids/";
constexpr std::string_view kUnlinked = "unlinked/";
constexpr std::size_t kSegmentDigits = 16;
constexpr std::size_t kGidText = kSegmentDigits + 4 + 32;  // as format_gid() has it

// Lower case only: one GID has one key.
std::optional<std::uint8_t> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
  return std::nullopt;
}

std::optional<GidId> parse_gid(std::string_view text) {
  GidId id;
  if (text.size() != kGidText) return std::nullopt;
  for (const char c : text.substr(0, kSegmentDigits)) {
    const auto digit = hex_digit(c);
    if (!digit) return std::nullopt;
    id.segment = id.segment << 4 | *digit;
  }
  if (id.segment == 0 || text[kSegmentDigits] != '/') return std::nullopt;
  text.remove_prefix(kSegmentDigits + 1);
  if (text.starts_with("v1/")) {
    id.type = RoceType::kV1;
  } else if (!text.starts_with("v2/")) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < id.gid.size(); ++i) {
    const auto high = hex_digit(text[3 + 2 * i]);
    const auto low = hex_digit(text[4 + 2 * i]);
    if (!high || !low) return std::nullopt;
    id.gid[i] = static_cast<std::uint8_t>(*high << 4 | *low);
  }
  const bool zero = std::ranges::all_of(id.gid, [](std::uint8_t byte) { return byte == 0; });
  if (zero || id.gid[0] == 0xFF) return std::nullopt;  // nobody's, or a group's
  return id;
}

// Everything up to `word` is an adapter, what follows is returned.
std::optional<std::string_view> take_adapter(std::string_view text, std::string_view word,
                                             model::AdapterName& adapter) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  const auto parsed = parse_adapter(text.substr(0, at));
  if (!parsed) return std::nullopt;
  adapter = *parsed;
  return text.substr(at + word.size());
}

// One adapter's MAC address or port group has one key.
bool parse_adapter_key(std::string_view text, HostKey& key) {
  if (const auto rest = take_adapter(text, kMac, key.adapter)) {
    const auto mac = model::parse_mac(*rest);
    if (!mac || !model::is_unicast(*mac) || model::format_mac(*mac) != *rest) return false;
    key.kind = HostKey::Kind::kMac;
    key.mac = *mac;
    return true;
  }
  const auto rest = take_adapter(text, kPortGroup, key.adapter);
  if (!rest || !model::check_name(*rest)) return false;
  key.kind = HostKey::Kind::kPortGroup;
  key.port_group = std::string(*rest);
  return true;
}

bool parse_gid_key(std::string_view text, HostKey::Kind kind, HostKey& key) {
  if (text.size() <= kGidText || text[kGidText] != '/') return false;
  const auto gid = parse_gid(text.substr(0, kGidText));
  const auto adapter = parse_adapter(text.substr(kGidText + 1));
  if (!gid || !adapter) return false;
  key.kind = kind;
  key.gid = *gid;
  key.adapter = *adapter;
  return true;
}

}  // namespace

std::string host_prefix(std::string_view host) {
  return fmt::format("{}{}/", kHostsPrefix, host);
}

std::string_view to_string(RoceType type) {
  return type == RoceType::kV1 ? "v1" : "v2";
}

std::string format_gid(const GidId& id) {
  std::string text = fmt::format("{:016x}/{}/", id.segment, to_string(id.type));
  for (const std::uint8_t byte : id.gid) text += fmt::format("{:02x}", byte);
  return text;
}

std::array<std::uint8_t, 16> link_local_gid(const model::MacAddress& mac) {
  return {
      0xFE,   0x80,   0,    0,    0,      0,      0,     0, static_cast<std::uint8_t>(mac[0] ^ 2U),
      mac[1], mac[2], 0xFF, 0xFE, mac[3], mac[4], mac[5]};
}

std::string format_adapter(const model::AdapterName& id) {
  return fmt::format("{}/{}", id.vm, id.number);
}

std::optional<model::AdapterName> parse_adapter(std::string_view text) {
  static_assert(model::kMaxAdapters < 10);  // a number is one digit
  if (text.size() < 3 || text[text.size() - 2] != '/') return std::nullopt;
  const int number = text.back() - '0';
  if (number < 0 || number > static_cast<int>(model::kMaxAdapters)) return std::nullopt;
  const std::string_view vm = text.substr(0, text.size() - 2);
  if (!model::check_name(vm)) return std::nullopt;
  return model::AdapterName{.vm = std::string(vm), .number = static_cast<std::uint32_t>(number)};
}

std::string mac_key(const model::AdapterName& id, const model::MacAddress& mac) {
  return fmt::format("{}{}{}{}", kAdapters, format_adapter(id), kMac, model::format_mac(mac));
}

std::string port_group_key(const model::AdapterName& id, const std::string& port_group) {
  return fmt::format("{}{}{}{}", kAdapters, format_adapter(id), kPortGroup, port_group);
}

std::string gid_key(const GidId& id, const model::AdapterName& adapter) {
  return fmt::format("{}{}/{}", kGids, format_gid(id), format_adapter(adapter));
}

std::string unlinked_gid_key(const GidId& id, const model::AdapterName& adapter) {
  return fmt::format("{}{}/{}", kUnlinked, format_gid(id), format_adapter(adapter));
}

std::optional<std::string> host_of_key(std::string_view key) {
  if (!key.starts_with(kHostsPrefix)) return std::nullopt;
  key.remove_prefix(kHostsPrefix.size());
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view host = key.substr(0, slash);
  if (!model::check_name(host)) return std::nullopt;
  return std::string(host);
}

std::optional<HostKey> parse_host_key(std::string_view key) {
  const auto host = host_of_key(key);
  if (!host || key.size() > kMaxKey) return std::nullopt;
  HostKey parsed{.host = *host};
  key.remove_prefix(kHostsPrefix.size() + host->size() + 1);
  bool good = key == kInfoKey;
  if (key.starts_with(kAdapters)) good = parse_adapter_key(key.substr(kAdapters.size()), parsed);
  if (key.starts_with(kGids)) {
    good = parse_gid_key(key.substr(kGids.size()), HostKey::Kind::kGid, parsed);
  }
  if (key.starts_with(kUnlinked)) {
    good = parse_gid_key(key.substr(kUnlinked.size()), HostKey::Kind::kUnlinkedGid, parsed);
  }
  if (!good) return std::nullopt;
  return parsed;
}

}  // namespace paravane::inventory
