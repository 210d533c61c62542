// The commands of the guest's driver. The driver writes each command into the command slot, a
// buffer in guest memory, and the device reads kRequestBytes from it. Only the bytes of the
// command's own struct are meaningful. The rest of the slot can contain arbitrary data.
//
// Source: docs/device-spec.md, section 8.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "abi/qp_attributes.h"
#include "abi/srq_attributes.h"
#include "base/wire_int.h"

namespace paravane::abi {

inline constexpr std::size_t kRequestBytes = 184;
inline constexpr std::size_t kResponseBytes = 176;
inline constexpr std::uint32_t kAckBit = 0x8000'0000;

enum Command : std::uint32_t {
  kQueryPort = 0,
  kQueryPkey = 1,
  kCreatePd = 2,
  kDestroyPd = 3,
  kCreateMr = 4,
  kDestroyMr = 5,
  kCreateCq = 6,
  kResizeCq = 7,
  kDestroyCq = 8,
  kCreateQp = 9,
  kModifyQp = 10,
  kQueryQp = 11,
  kDestroyQp = 12,
  kCreateUc = 13,
  kDestroyUc = 14,
  kCreateBind = 15,
  kDestroyBind = 16,
  kCreateSrq = 17,
  kModifySrq = 18,
  kQuerySrq = 19,
  kDestroySrq = 20,
};
inline constexpr std::uint32_t kCommandCount = 21;

struct CommandHeader {
  Le64 response;  // a cookie, which the response repeats
  Le32 cmd;
  Le32 reserved;
};
static_assert(sizeof(CommandHeader) == 16);

struct QueryPortCommand {
  CommandHeader header;
  std::uint8_t port_num;
  std::array<std::uint8_t, 7> reserved;
};
static_assert(sizeof(QueryPortCommand) == 24);

struct QueryPkeyCommand {
  CommandHeader header;
  std::uint8_t port_num;
  std::uint8_t index;
  std::array<std::uint8_t, 6> reserved;
};
static_assert(sizeof(QueryPkeyCommand) == 24);

struct CreateUcCommand {
  CommandHeader header;
  Le64 pfn;  // frame number of the doorbell page
};
static_assert(sizeof(CreateUcCommand) == 24);

// DESTROY_UC, CREATE_PD (the handle of a context), DESTROY_PD, DESTROY_MR, DESTROY_CQ, DESTROY_QP,
// QUERY_SRQ and DESTROY_SRQ carry one handle.
struct HandleCommand {
  CommandHeader header;
  Le32 handle;
  Le32 reserved;
};
static_assert(sizeof(HandleCommand) == 24);

struct CreateMrCommand {
  CommandHeader header;
  Le64 start;
  Le64 length;
  Le64 pdir_dma;
  Le32 pd_handle;
  Le32 access_flags;
  Le32 flags;
  Le32 nchunks;
};
static_assert(sizeof(CreateMrCommand) == 56);
static_assert(offsetof(CreateMrCommand, pd_handle) == 40);

enum MrFlags : std::uint32_t { kMrDma = 1, kMrFastRegister = 2 };
inline constexpr std::uint32_t kAccessZeroBased = 1u << 5;

struct CreateCqCommand {
  CommandHeader header;
  Le64 pdir_dma;
  Le32 ctx_handle;
  Le32 cqe;
  Le32 nchunks;
  Le32 reserved;
};
static_assert(sizeof(CreateCqCommand) == 40);

struct CreateQpCommand {
  CommandHeader header;
  Le64 pdir_dma;
  Le32 pd_handle;
  Le32 send_cq_handle;
  Le32 recv_cq_handle;
  Le32 srq_handle;
  Le32 max_send_wr;
  Le32 max_recv_wr;
  Le32 max_send_sge;
  Le32 max_recv_sge;
  Le32 max_inline_data;
  Le32 lkey;
  Le32 access_flags;
  Le16 total_chunks;
  Le16 send_chunks;
  Le16 max_atomic_arg;
  std::uint8_t sq_sig_all;
  std::uint8_t qp_type;
  std::uint8_t is_srq;
  std::array<std::uint8_t, 3> reserved;
};
static_assert(sizeof(CreateQpCommand) == 80);
static_assert(offsetof(CreateQpCommand, total_chunks) == 68);
static_assert(offsetof(CreateQpCommand, is_srq) == 76);

enum QpTypeCode : std::uint8_t { kQpTypeGsi = 1, kQpTypeRc = 2, kQpTypeUd = 4 };

struct ModifyQpCommand {
  CommandHeader header;
  Le32 qp_handle;
  Le32 attr_mask;
  QpAttributes attrs;
};
static_assert(sizeof(ModifyQpCommand) == kRequestBytes);

struct QueryQpCommand {
  CommandHeader header;
  Le32 qp_handle;
  Le32 attr_mask;
};
static_assert(sizeof(QueryQpCommand) == 24);

struct CreateBindCommand {
  CommandHeader header;
  Le32 mtu;
  Le32 vlan;
  Le32 index;
  std::array<std::uint8_t, 16> new_gid;
  std::uint8_t gid_type;
  std::array<std::uint8_t, 3> reserved;
};
static_assert(sizeof(CreateBindCommand) == 48);
static_assert(offsetof(CreateBindCommand, new_gid) == 28);

struct DestroyBindCommand {
  CommandHeader header;
  Le32 index;
  std::array<std::uint8_t, 16> dest_gid;
  Le32 reserved;
};
static_assert(sizeof(DestroyBindCommand) == 40);

struct CreateSrqCommand {
  CommandHeader header;
  Le64 pdir_dma;
  Le32 pd_handle;
  Le32 nchunks;
  SrqAttributes attrs;
  std::uint8_t srq_type;
  std::array<std::uint8_t, 7> reserved;
};
static_assert(sizeof(CreateSrqCommand) == 56);

struct ModifySrqCommand {
  CommandHeader header;
  Le32 srq_handle;
  Le32 attr_mask;
  SrqAttributes attrs;
};
static_assert(sizeof(ModifySrqCommand) == 40);

}  // namespace paravane::abi
