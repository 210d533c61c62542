#include "umad_library/adapter_answers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>

namespace paravane::umad_library {
namespace {

constexpr std::uint32_t kFirstNodeType = 1;  // channel adapter
constexpr std::uint32_t kLastNodeType = 3;   // router
constexpr std::uint32_t kMostPorts = 254;

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == ':';
}

// The text up to the zero, or as much as fits before one.
void copy_text(std::span<const char> from, std::span<char> to) {
  const auto end = std::ranges::find(from, '\0');
  const auto length = std::min(static_cast<std::size_t>(end - from.begin()), to.size() - 1);
  std::ranges::fill(to, '\0');
  std::copy_n(from.begin(), length, to.begin());
}

// As it comes from the wire of InfiniBand, big-endian.
template <typename Wire>
auto as_in_memory(const Wire& value) {
  return std::bit_cast<decltype(value.get())>(value);
}

}  // namespace

std::optional<umad::Name> to_door_name(std::string_view name) {
  umad::Name wire{};
  if (name.empty() || name.size() >= wire.size()) return std::nullopt;
  if (!std::ranges::all_of(name, is_of_name)) return std::nullopt;
  std::ranges::copy(name, wire.begin());
  return wire;
}

std::optional<std::string> from_door_name(const umad::Name& name) {
  const auto end = std::ranges::find(name, '\0');
  if (end == name.end() || end == name.begin()) return std::nullopt;
  std::string text(name.begin(), end);
  if (!std::ranges::all_of(text, is_of_name)) return std::nullopt;
  return text;
}

std::expected<std::vector<std::string>, int> names_of(const umad::AdapterNames& answer) {
  const std::uint32_t count = answer.count.get();
  if (count > answer.names.size()) return std::unexpected(EPROTO);
  std::vector<std::string> names;
  for (const umad::Name& wire : std::span(answer.names).first(count)) {
    auto name = from_door_name(wire);
    if (!name) return std::unexpected(EPROTO);
    names.push_back(*std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

int fill_ca(const umad::AdapterFacts& facts, const std::string& name, umad_ca_t& ca) {
  const std::uint32_t type = facts.node_type.get();
  if (from_door_name(facts.name) != name || type < kFirstNodeType || type > kLastNodeType ||
      facts.ports.get() > kMostPorts) {
    return EPROTO;
  }
  ca = {};
  copy_text(name, ca.ca_name);
  ca.node_type = type;
  copy_text(facts.firmware, ca.fw_ver);
  copy_text(facts.type, ca.ca_type);
  copy_text(facts.hardware, ca.hw_ver);
  ca.node_guid = as_in_memory(facts.node_guid);
  ca.system_guid = as_in_memory(facts.system_guid);
  return 0;
}

int fill_port(const umad::PortFacts& facts, const std::string& name, int portnum,
              umad_port_t& port) {
  const std::uint32_t keys = facts.partitions.get();
  // A port without partitions cannot be: it could not send a MAD.
  if (from_door_name(facts.adapter) != name || keys == 0 || keys > facts.keys.size() ||
      facts.port.get() != static_cast<std::uint32_t>(portnum)) {
    return EPROTO;
  }
  port = {};
  port.pkeys = static_cast<std::uint16_t*>(std::calloc(keys, sizeof *port.pkeys));
  if (port.pkeys == nullptr) return ENOMEM;
  port.pkeys_size = keys;
  std::ranges::transform(std::span(facts.keys).first(keys), port.pkeys,
                         [](const Le16& key) { return key.get(); });
  copy_text(name, port.ca_name);
  port.portnum = portnum;
  port.base_lid = facts.base_lid.get();
  port.lmc = facts.lmc.get();
  port.sm_lid = facts.master_lid.get();
  port.sm_sl = facts.master_level.get();
  port.state = facts.state.get();
  port.phys_state = facts.physical_state.get();
  port.rate = facts.rate.get();
  port.capmask = as_in_memory(facts.capabilities);
  port.gid_prefix = as_in_memory(facts.gid_prefix);
  port.port_guid = as_in_memory(facts.port_guid);
  copy_text(facts.link_layer, port.link_layer);
  return 0;
}

void release_port(umad_port_t& port) {
  std::free(port.pkeys);
  port.pkeys = nullptr;
  port.pkeys_size = 0;
}

void release_ca(umad_ca_t& ca) {
  for (umad_port_t*& port : ca.ports) {
    if (port == nullptr) continue;
    release_port(*port);
    std::free(port);
    port = nullptr;
  }
}

}  // namespace paravane::umad_library
