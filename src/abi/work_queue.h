// The work queue entries that guests post to send and receive queues. The guest's kernel driver
// zeroes a send header before it fills it, but the user-space provider does not. A field that does
// not belong to the opcode can therefore contain stale data and must be ignored.
//
// Source: docs/device-spec.md, section 9.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/wire_int.h"

namespace paravane::abi {

struct Sge {
  Le64 addr;
  Le32 length;
  Le32 lkey;
};
static_assert(sizeof(Sge) == 16);

struct ReceiveHeader {
  Le64 wr_id;
  Le32 num_sge;
  Le32 total_len;  // never filled
};
static_assert(sizeof(ReceiveHeader) == 16);

struct SendHeader {
  Le64 wr_id;
  Le32 num_sge;
  Le32 total_len;  // never filled
  Le32 opcode;
  Le32 send_flags;
  std::array<std::byte, 4> ex;  // immediate (raw), or the rkey to invalidate (little-endian)
  Le32 reserved;
  std::array<std::byte, 48> body;  // one of the bodies below, according to the opcode
};
static_assert(sizeof(SendHeader) == 80);
static_assert(offsetof(SendHeader, ex) == 24);
static_assert(offsetof(SendHeader, body) == 32);

struct RdmaBody {
  Le64 remote_addr;
  Le32 rkey;
  Le32 reserved;
};
static_assert(sizeof(RdmaBody) == 16);

struct AtomicBody {
  Le64 remote_addr;
  Le64 compare_add;
  Le64 swap;
  Le32 rkey;
  Le32 reserved;
};
static_assert(sizeof(AtomicBody) == 32);
static_assert(offsetof(AtomicBody, rkey) == 24);

struct FastRegisterBody {
  Le64 iova_start;
  Le64 pl_pdir_dma;
  Le32 page_shift;
  Le32 page_list_len;
  Le32 length;
  Le32 access_flags;
  Le32 rkey;
  Le32 reserved;
};
static_assert(sizeof(FastRegisterBody) == 40);

struct UdAddress {
  Le32 port_pd;  // 23:0 PD handle, 31:24 port
  Le32 sl_tclass_flowlabel;
  std::array<std::uint8_t, 16> dgid;
  std::uint8_t src_path_bits;
  std::uint8_t gid_index;
  std::uint8_t stat_rate;
  std::uint8_t hop_limit;
  std::array<std::uint8_t, 6> dmac;
  std::array<std::uint8_t, 6> reserved;
};
static_assert(sizeof(UdAddress) == 40);
static_assert(offsetof(UdAddress, src_path_bits) == 24);
static_assert(offsetof(UdAddress, dmac) == 28);

struct UdBody {
  Le32 remote_qpn;
  Le32 remote_qkey;
  UdAddress av;
};
static_assert(sizeof(UdBody) == 48);

// The body of `header` read as one of the structs above.
template <typename Body>
Body body_of(const SendHeader& header) {
  static_assert(sizeof(Body) <= sizeof(header.body));
  Body body;
  std::memcpy(&body, header.body.data(), sizeof(body));
  return body;
}

// Opcodes as the guest's kernel numbers them. User space posts the numbers of libibverbs, which are
// the same from 0 to 6 and have other meanings from 7 on.
enum WorkOpcode : std::uint32_t {
  kWrRdmaWrite = 0,
  kWrRdmaWriteWithImm = 1,
  kWrSend = 2,
  kWrSendWithImm = 3,
  kWrRdmaRead = 4,
  kWrCompareSwap = 5,
  kWrFetchAdd = 6,
  kWrSendWithInvalidate = 8,
  kWrLocalInvalidate = 10,
  kWrFastRegister = 11,
};

enum SendFlags : std::uint32_t {
  kSendFence = 1u << 0,
  kSendSignaled = 1u << 1,
  kSendSolicited = 1u << 2,
  kSendInline = 1u << 3,  // ignored, because there is no inline data
  kSendIpChecksum = 1u << 4,
};

}  // namespace paravane::abi
