// The functions of libibumad about a MAD's header and what people read, by their C names.

#include <endian.h>

#include "umad_library/addresses.h"
#include "umad_library/entry_points.h"
#include "umad_library/names.h"
#include "umad_library/notice.h"
#include "umad_library/umad_abi.h"

namespace paravane::umad_library {

// ---- The header before a MAD ----

UMAD_EXPORT void* umad_get_mad(void* umad) {
  return static_cast<std::byte*>(umad) + kHeaderBytes;
}

UMAD_EXPORT size_t umad_size() {
  return kHeaderBytes;
}

UMAD_EXPORT int umad_status(void* umad) {
  return static_cast<int>(static_cast<ib_user_mad*>(umad)->status);
}

UMAD_EXPORT ib_mad_addr_t* umad_get_mad_addr(void* umad) {
  return &static_cast<ib_user_mad*>(umad)->addr;
}

UMAD_EXPORT int umad_set_grh(void* umad, void* mad_addr) {
  set_global_route(*static_cast<ib_user_mad*>(umad), static_cast<ib_mad_addr*>(mad_addr));
  return 0;
}

UMAD_EXPORT int umad_set_addr(void* umad, int dlid, int dqp, int sl, int qkey) {
  set_address(*static_cast<ib_user_mad*>(umad), htobe16(static_cast<std::uint16_t>(dlid)),
              htobe32(static_cast<std::uint32_t>(dqp)), sl,
              htobe32(static_cast<std::uint32_t>(qkey)));
  return 0;
}

UMAD_EXPORT int umad_set_addr_net(void* umad, __be16 dlid, __be32 dqp, int sl, __be32 qkey) {
  set_address(*static_cast<ib_user_mad*>(umad), dlid, dqp, sl, qkey);
  return 0;
}

UMAD_EXPORT int umad_set_pkey(void* umad, int pkey_index) {
  static_cast<ib_user_mad*>(umad)->addr.pkey_index = static_cast<std::uint16_t>(pkey_index);
  return 0;
}

UMAD_EXPORT int umad_get_pkey(void* umad) {
  return static_cast<ib_user_mad*>(umad)->addr.pkey_index;
}

// ---- For people ----

UMAD_EXPORT int umad_debug(int level) {
  if (level >= 0) set_debug_level(level);
  return debug_level();
}

UMAD_EXPORT void umad_addr_dump(ib_mad_addr_t* addr) {
  guarded([&](NotCancelled&) {
    show_address(*addr);
    return 0;
  });
}

UMAD_EXPORT void umad_dump(void* umad) {
  guarded([&](NotCancelled&) {
    show_header(*static_cast<ib_user_mad*>(umad));
    return 0;
  });
}

UMAD_EXPORT const char* umad_class_str(uint8_t mgmt_class) {
  return class_name(mgmt_class);
}

UMAD_EXPORT const char* umad_method_str(uint8_t mgmt_class, uint8_t method) {
  return method_name(mgmt_class, method);
}

UMAD_EXPORT const char* umad_common_mad_status_str(__be16 status) {
  return common_status_name(be16toh(status));
}

UMAD_EXPORT const char* umad_sa_mad_status_str(__be16 status) {
  return administration_status_name(be16toh(status));
}

UMAD_EXPORT const char* umad_attribute_str(uint8_t mgmt_class, __be16 attr_id) {
  return attribute_name(mgmt_class, be16toh(attr_id));
}

}  // namespace paravane::umad_library
