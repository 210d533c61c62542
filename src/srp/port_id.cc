#include "srp/port_id.h"

#include <fmt/core.h>

#include <cstring>

#include "base/wire_int.h"

namespace paravane::srp {

PortId port_id(std::uint64_t first, std::uint64_t second) {
  const Be64 halves[] = {Be64(first), Be64(second)};
  PortId id;
  static_assert(sizeof halves == sizeof id);
  std::memcpy(id.data(), halves, sizeof id);
  return id;
}

PortId target_port_id(std::uint64_t id_ext, std::uint64_t ioc_guid, std::uint16_t io_class) {
  if (io_class == wire::srp::kIoClassR10) return port_id(ioc_guid, id_ext);
  return port_id(id_ext, ioc_guid);
}

std::string to_string(const PortId& id) {
  std::string text = "0x";
  for (const std::uint8_t byte : id) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace paravane::srp
