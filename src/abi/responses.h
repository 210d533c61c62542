// The responses to commands. The device writes each response into the response slot, a buffer in
// guest memory. The guest's driver accepts a response if the field `ack` has the expected value.
// The driver checks the field `err` only after MODIFY_QP.
//
// Source: docs/device-spec.md, sections 2 and 8.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "abi/qp_attributes.h"
#include "abi/srq_attributes.h"
#include "base/wire_int.h"

namespace paravane::abi {

struct ResponseHeader {
  Le64 response;
  Le32 ack;  // kAckBit | opcode; anything else is a failure
  std::uint8_t err;
  std::array<std::uint8_t, 3> reserved;
};
static_assert(sizeof(ResponseHeader) == 16);

struct QueryPortResponse {
  ResponseHeader header;
  Le32 state;
  Le32 max_mtu;
  Le32 active_mtu;
  Le32 gid_tbl_len;
  Le32 port_cap_flags;
  Le32 max_msg_sz;
  Le32 bad_pkey_cntr;
  Le32 qkey_viol_cntr;
  Le16 pkey_tbl_len;
  Le16 lid;
  Le16 sm_lid;
  std::uint8_t lmc;
  std::uint8_t max_vl_num;
  std::uint8_t sm_sl;
  std::uint8_t subnet_timeout;
  std::uint8_t init_type_reply;
  std::uint8_t active_width;
  std::uint8_t active_speed;
  std::uint8_t phys_state;
  std::array<std::uint8_t, 2> reserved;
};
static_assert(sizeof(QueryPortResponse) == 64);
static_assert(offsetof(QueryPortResponse, pkey_tbl_len) == 48);
static_assert(offsetof(QueryPortResponse, phys_state) == 61);

inline constexpr std::uint32_t kPortDown = 1;
inline constexpr std::uint32_t kPortActive = 4;
inline constexpr std::uint8_t kPhysDisabled = 3;
inline constexpr std::uint8_t kPhysLinkUp = 5;
inline constexpr std::uint8_t kWidth4x = 2;
inline constexpr std::uint8_t kSpeedEdr = 32;
inline constexpr std::uint32_t kPortCmSupported = 1u << 16;
inline constexpr std::uint32_t kPortIpBasedGids = 1u << 26;

struct QueryPkeyResponse {
  ResponseHeader header;
  Le16 pkey;
  std::array<std::uint8_t, 6> reserved;
};
static_assert(sizeof(QueryPkeyResponse) == 24);

// CREATE_UC and CREATE_PD return one handle.
struct HandleResponse {
  ResponseHeader header;
  Le32 handle;
  Le32 reserved;
};
static_assert(sizeof(HandleResponse) == 24);

struct CreateMrResponse {
  ResponseHeader header;
  Le32 mr_handle;
  Le32 lkey;
  Le32 rkey;
  Le32 reserved;
};
static_assert(sizeof(CreateMrResponse) == 32);

struct CreateCqResponse {
  ResponseHeader header;
  Le32 cq_handle;
  Le32 cqe;  // echoes the request
};
static_assert(sizeof(CreateCqResponse) == 24);

struct QpGrant {
  Le32 max_send_wr;
  Le32 max_recv_wr;
  Le32 max_send_sge;
  Le32 max_recv_sge;
  Le32 max_inline_data;
};
static_assert(sizeof(QpGrant) == 20);

struct CreateQpResponseV1 {
  ResponseHeader header;
  Le32 qpn;  // number and handle
  QpGrant grant;
};
static_assert(sizeof(CreateQpResponseV1) == 40);

struct CreateQpResponseV2 {
  ResponseHeader header;
  Le32 qpn;
  Le32 qp_handle;
  QpGrant grant;
  Le32 reserved;
};
static_assert(sizeof(CreateQpResponseV2) == 48);

struct CreateSrqResponse {
  ResponseHeader header;
  Le32 srqn;  // handle, also in doorbells and events
  Le32 reserved;
};
static_assert(sizeof(CreateSrqResponse) == 24);

struct QuerySrqResponse {
  ResponseHeader header;
  SrqAttributes attrs;
};
static_assert(sizeof(QuerySrqResponse) == 32);

struct QueryQpResponse {
  ResponseHeader header;
  QpAttributes attrs;
};
static_assert(sizeof(QueryQpResponse) == 176);

}  // namespace paravane::abi
