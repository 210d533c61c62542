// The completion queue element (CQE), which the device writes and the guest reads, and the values
// of its fields. The opcodes of completions are numbered differently from those of work requests
// (abi/work_queue.h).
//
// Source: docs/device-spec.md, section 7.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"

namespace paravane::abi {

struct Cqe {
  Le64 wr_id;
  Le64 qp;  // the QP handle
  Le32 opcode;
  Le32 status;
  Le32 byte_len;
  std::array<std::byte, 4> imm_data;  // as it stood in the sender's request
  Le32 src_qp;                        // the sender's QP number
  Le32 wc_flags;
  Le32 vendor_err;
  Le16 pkey_index;
  Le16 slid;
  std::uint8_t sl;
  std::uint8_t dlid_path_bits;
  std::uint8_t port_num;
  std::array<std::uint8_t, 6> smac;
  std::uint8_t network_hdr_type;
  std::array<std::uint8_t, 6> reserved;
};
static_assert(sizeof(Cqe) == 64);
static_assert(offsetof(Cqe, status) == 20);
static_assert(offsetof(Cqe, imm_data) == 28);
static_assert(offsetof(Cqe, sl) == 48);
static_assert(offsetof(Cqe, network_hdr_type) == 57);

enum CqeOpcode : std::uint32_t {
  kCqeSend = 0,
  kCqeRdmaWrite = 1,
  kCqeRdmaRead = 2,
  kCqeCompareSwap = 3,
  kCqeFetchAdd = 4,
  kCqeLocalInvalidate = 7,
  kCqeFastRegister = 8,
  kCqeReceive = 128,
  kCqeReceiveRdmaWithImm = 129,
};

// The device never sets any other bit. User programs give some of them another meaning, and those
// for a VLAN and a source MAC address would confuse the guest's connection manager.
enum CqeFlags : std::uint32_t {
  kCqeGrh = 1u << 0,
  kCqeWithImm = 1u << 1,
  kCqeWithInvalidate = 1u << 2,     // kernel CQs only
  kCqeWithNetworkHeader = 1u << 6,  // kernel CQs only
};

}  // namespace paravane::abi
