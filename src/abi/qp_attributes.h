// The attributes of a queue pair in the form that the commands MODIFY_QP and QUERY_QP use. The bits
// of an attribute mask have the values of ib_qp_attr_mask in the Linux kernel.
//
// Source: docs/device-spec.md, section 8.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"

namespace paravane::abi {

struct QpCap {
  Le32 max_send_wr;
  Le32 max_recv_wr;
  Le32 max_send_sge;
  Le32 max_recv_sge;
  Le32 max_inline_data;
  Le32 reserved;
};
static_assert(sizeof(QpCap) == 24);

struct AddressAttributes {
  std::array<std::uint8_t, 16> dgid;
  Le32 flow_label;
  std::uint8_t sgid_index;
  std::uint8_t hop_limit;
  std::uint8_t traffic_class;
  std::uint8_t grh_reserved;
  Le16 dlid;
  Le16 vlan_id;  // never set by Linux
  std::uint8_t sl;
  std::uint8_t src_path_bits;
  std::uint8_t static_rate;
  std::uint8_t ah_flags;
  std::uint8_t port_num;
  std::array<std::uint8_t, 6> dmac;
  std::uint8_t reserved;
};
static_assert(sizeof(AddressAttributes) == 40);
static_assert(offsetof(AddressAttributes, dlid) == 24);
static_assert(offsetof(AddressAttributes, dmac) == 33);

struct QpAttributes {
  Le32 qp_state;
  Le32 cur_qp_state;
  Le32 path_mtu;
  Le32 path_mig_state;
  Le32 qkey;
  Le32 rq_psn;
  Le32 sq_psn;
  Le32 dest_qp_num;
  Le32 qp_access_flags;
  Le16 pkey_index;
  Le16 alt_pkey_index;
  std::uint8_t en_sqd_async_notify;
  std::uint8_t sq_draining;
  std::uint8_t max_rd_atomic;
  std::uint8_t max_dest_rd_atomic;
  std::uint8_t min_rnr_timer;
  std::uint8_t port_num;
  std::uint8_t timeout;
  std::uint8_t retry_cnt;
  std::uint8_t rnr_retry;
  std::uint8_t alt_port_num;
  std::uint8_t alt_timeout;
  std::array<std::uint8_t, 5> reserved;
  QpCap cap;
  AddressAttributes ah_attr;
  AddressAttributes alt_ah_attr;
};
static_assert(sizeof(QpAttributes) == 160);
static_assert(offsetof(QpAttributes, pkey_index) == 36);
static_assert(offsetof(QpAttributes, min_rnr_timer) == 44);
static_assert(offsetof(QpAttributes, cap) == 56);
static_assert(offsetof(QpAttributes, ah_attr) == 80);
static_assert(offsetof(QpAttributes, alt_ah_attr) == 120);

inline constexpr std::uint32_t kQpAttrMaskBits = 0x1F'FFFF;

}  // namespace paravane::abi
