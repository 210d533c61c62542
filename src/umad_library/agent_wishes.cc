#include "umad_library/agent_wishes.h"

#include <array>
#include <cstring>

namespace paravane::umad_library {
namespace {

constexpr std::uint32_t kOpenFabricsOui = 0x001405;
constexpr std::uint32_t kMostOui = 0xFF'FFFF;
constexpr std::uint8_t kVendorVersion = 1;

// Bits of a little-endian machine are the door's.
void set_methods(umad::AgentWish& wish, const void* methods) {
  if (methods != nullptr) std::memcpy(wish.methods.data(), methods, sizeof wish.methods);
}

}  // namespace

bool is_vendor_with_oui(int management_class) {
  return management_class >= 0x30 && management_class <= 0x4F;
}

umad::AgentWish plain_wish(int management_class, int version, std::uint8_t rmpp_version,
                           const long* methods) {
  umad::AgentWish wish{.management_class = static_cast<std::uint8_t>(management_class),
                       .class_version = static_cast<std::uint8_t>(version),
                       .rmpp_version = rmpp_version,
                       .oui = Le32(kOpenFabricsOui),
                       .methods = {}};
  set_methods(wish, methods);
  return wish;
}

umad::AgentWish vendor_wish(int management_class, std::uint8_t rmpp_version,
                            const std::uint8_t oui[3], const long* methods) {
  umad::AgentWish wish = plain_wish(management_class, kVendorVersion, rmpp_version, methods);
  wish.oui = Le32(std::uint32_t{oui[0]} << 16 | std::uint32_t{oui[1]} << 8 | oui[2]);
  return wish;
}

bool has_bad_oui(const umad_reg_attr& attributes) {
  return is_vendor_with_oui(attributes.mgmt_class) &&
         (attributes.oui == 0 || attributes.oui > kMostOui);
}

std::optional<umad::AgentWish> wish_of(const umad_reg_attr& attributes) {
  constexpr std::uint32_t kKnown = UMAD_USER_RMPP;
  if ((attributes.flags & ~kKnown) != 0 || has_bad_oui(attributes)) return std::nullopt;
  const bool does_rmpp_itself = (attributes.flags & UMAD_USER_RMPP) != 0;
  umad::AgentWish wish{.management_class = attributes.mgmt_class,
                       .class_version = attributes.mgmt_class_version,
                       .rmpp_version = does_rmpp_itself ? std::uint8_t{0} : attributes.rmpp_version,
                       .user_rmpp = does_rmpp_itself ? std::uint8_t{1} : std::uint8_t{0},
                       .oui = Le32(attributes.oui & kMostOui),
                       .methods = {}};
  set_methods(wish, attributes.method_mask);
  return wish;
}

}  // namespace paravane::umad_library
