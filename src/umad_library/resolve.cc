#include "umad_library/resolve.h"

#include <endian.h>

#include <cstring>

#include "umad_library/adapters.h"

namespace paravane::umad_library {
namespace {

constexpr unsigned kSwitchType = 2;
constexpr std::uint32_t kSmiIsDisabled = 0x400;  // PortInfo, CapabilityMask

// What rdma-core's answers if every port of every adapter is disabled.
constexpr const char* kNameOfNone = "mthca0";
constexpr int kPortOfNone = 1;

enum class Fit { kNot, kUsable, kActive };

bool is_infiniband(const umad_port_t& port) {
  return std::strcmp(port.link_layer, "InfiniBand") == 0 || std::strcmp(port.link_layer, "IB") == 0;
}

bool lets_through(const umad_port_t& port, Need need) {
  return need == Need::kAnyPort || !is_smi_disabled(port);
}

Fit fit_of(const umad_port_t* port, Need need) {
  if (port == nullptr || !is_infiniband(*port) || !lets_through(*port, need)) return Fit::kNot;
  if (port->state == kActive) return Fit::kActive;
  return port->phys_state == kDisabled ? Fit::kNot : Fit::kUsable;
}

// The best of an adapter's ports.
Fit search(const Ca& ca, int& chosen, Need need) {
  int with_link = -1;
  int enabled = -1;
  for (int number = 0; number <= ca->numports; ++number) {
    const umad_port_t* port = ca.port(number);
    if (port == nullptr || !lets_through(*port, need)) continue;
    if (enabled < 0 && port->phys_state != kDisabled) enabled = number;
    if (!is_infiniband(*port)) continue;
    if (port->state == kActive) {
      chosen = number;
      return Fit::kActive;
    }
    if (with_link < 0 && port->phys_state == kLinkUp) with_link = number;
  }
  const int found = with_link >= 0 ? with_link : enabled;
  if (found < 0) return Fit::kNot;
  chosen = found;
  return Fit::kUsable;
}

// `port`: 0, or the one that the program wants.
Fit resolve_port(Door& door, const std::string& name, int& port, Need need) {
  Ca ca;
  if (ca.load(door, name) != 0) return Fit::kNot;
  if (ca->node_type == kSwitchType) {
    port = 0;
    return Fit::kActive;
  }
  return port > 0 ? fit_of(ca.port(port), need) : search(ca, port, need);
}

}  // namespace

bool is_smi_disabled(const umad_port_t& port) {
  return (be32toh(port.capmask) & kSmiIsDisabled) != 0;
}

std::optional<std::string> resolve(Door& door, const char* name, int* port, Need need) {
  if (name != nullptr) {
    const bool is_whole = port == nullptr || *port != 0;
    if (!is_whole && resolve_port(door, name, *port, need) == Fit::kNot) return std::nullopt;
    return name;
  }
  const auto names = adapter_names(door);
  if (!names || names->empty()) return std::nullopt;
  const int wanted = port != nullptr ? *port : 0;
  std::string found = kNameOfNone;
  int found_port = kPortOfNone;
  bool is_found = false;
  for (const std::string& candidate : *names) {
    int number = wanted;
    const Fit fit = resolve_port(door, candidate, number, need);
    if (fit == Fit::kNot || (fit == Fit::kUsable && is_found)) continue;
    found = candidate;
    found_port = number;
    is_found = true;
    if (fit == Fit::kActive) break;
  }
  if (port != nullptr) *port = found_port;
  return found;
}

}  // namespace paravane::umad_library
