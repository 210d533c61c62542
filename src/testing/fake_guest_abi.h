// The PVRDMA interface as a guest driver declares it: registers, shared region,
// commands and the driver's own constants.
//
// Written from the device spec apart from abi/, with native integers as the
// driver has them (it runs on x86 only), so that a slip in one of the two shows
// as a failing conformance test instead of cancelling out. Work requests,
// completions and doorbell words come from the kernel's own header.

#pragma once

#include <rdma/vmw_pvrdma-abi.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace paravane::fake {

inline constexpr std::uint32_t kPage = 4096;
inline constexpr std::uint32_t kDriverVersion = 20;  // what Linux 6.1 writes

enum Register : std::uint32_t {
  kRegVersion = 0x00,
  kRegDsrLow = 0x04,
  kRegDsrHigh = 0x08,
  kRegCtl = 0x0C,
  kRegRequest = 0x10,
  kRegErr = 0x14,
  kRegIcr = 0x18,
  kRegImr = 0x1C,
  kRegMacLow = 0x20,
  kRegMacHigh = 0x24,
};
enum Ctl : std::uint32_t { kCtlActivate = 0, kCtlUnquiesce = 1, kCtlReset = 2 };
enum Vector : std::uint16_t { kVectorResponse = 0, kVectorAsync = 1, kVectorCq = 2 };

// The kernel's header shifts into the sign bit; these do not.
inline constexpr std::uint32_t kDoorbellQp = PVRDMA_UAR_QP_OFFSET;
inline constexpr std::uint32_t kDoorbellCq = PVRDMA_UAR_CQ_OFFSET;
inline constexpr std::uint32_t kDoorbellSrq = PVRDMA_UAR_SRQ_OFFSET;
inline constexpr std::uint32_t kRingSend = 1u << 30;
inline constexpr std::uint32_t kRingReceive = 1u << 31;
inline constexpr std::uint32_t kRingArmSolicited = 1u << 29;
inline constexpr std::uint32_t kRingArm = 1u << 30;
inline constexpr std::uint32_t kRingSharedReceive = 1u << 30;
inline constexpr std::uint32_t kRingPoll = 1u << 31;

enum QpTypeCode : std::uint8_t { kTypeGsi = 1, kTypeRc = 2, kTypeUd = 4 };
enum QpStateCode : std::uint32_t {
  kStateReset,
  kStateInit,
  kStateRtr,
  kStateRts,
  kStateSqd,
  kStateSqe,
  kStateErr,
};
enum AttrMask : std::uint32_t {
  kMaskState = 1u << 0,
  kMaskCurState = 1u << 1,
  kMaskSqdNotify = 1u << 2,
  kMaskAccess = 1u << 3,
  kMaskPkeyIndex = 1u << 4,
  kMaskPort = 1u << 5,
  kMaskQkey = 1u << 6,
  kMaskAv = 1u << 7,
  kMaskPathMtu = 1u << 8,
  kMaskTimeout = 1u << 9,
  kMaskRetryCount = 1u << 10,
  kMaskRnrRetry = 1u << 11,
  kMaskRqPsn = 1u << 12,
  kMaskMaxReads = 1u << 13,
  kMaskMinRnrTimer = 1u << 15,
  kMaskSqPsn = 1u << 16,
  kMaskMaxDestReads = 1u << 17,
  kMaskDestQpn = 1u << 20,
};
enum AccessFlag : std::uint32_t {
  kLocalWrite = 1,
  kRemoteWrite = 2,
  kRemoteRead = 4,
  kRemoteAtomic = 8,
  kZeroBased = 32,
};
inline constexpr std::uint32_t kAllAccess =
    kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;
enum MrFlag : std::uint32_t { kMrUser = 0, kMrDma = 1, kMrFastRegister = 2 };
enum SendFlag : std::uint32_t {
  kSendFence = 1,
  kSendSignaled = 2,
  kSendSolicited = 4,
  kSendInline = 8,
};

enum AsyncEventType : std::uint32_t {
  kEventCqError = 0,
  kEventQpFatal = 1,
  kEventQpRequestError = 2,
  kEventQpAccessError = 3,
  kEventSqDrained = 5,
  kEventDeviceFatal = 8,
  kEventPortActive = 9,
  kEventPortError = 10,
  kEventSrqError = 14,
  kEventSrqLimitReached = 15,
  kEventLastWqeReached = 16,
};

struct RingPages {
  std::uint32_t num_pages;
  std::uint32_t pad;
  std::uint64_t pdir_dma;
};

struct Capabilities {
  std::uint64_t fw_ver;
  std::uint64_t node_guid;
  std::uint64_t sys_image_guid;
  std::uint64_t max_mr_size;
  std::uint64_t page_size_cap;
  std::uint64_t atomic_arg_sizes;
  std::uint32_t ex_comp_mask;
  std::uint32_t device_cap_flags2;
  std::uint32_t max_fa_bit_boundary;
  std::uint32_t log_max_atomic_inline_arg;
  std::uint32_t vendor_id;
  std::uint32_t vendor_part_id;
  std::uint32_t hw_ver;
  std::uint32_t max_qp;
  std::uint32_t max_qp_wr;
  std::uint32_t device_cap_flags;
  std::uint32_t max_sge;
  std::uint32_t max_sge_rd;
  std::uint32_t max_cq;
  std::uint32_t max_cqe;
  std::uint32_t max_mr;
  std::uint32_t max_pd;
  std::uint32_t max_qp_rd_atom;
  std::uint32_t max_ee_rd_atom;
  std::uint32_t max_res_rd_atom;
  std::uint32_t max_qp_init_rd_atom;
  std::uint32_t max_ee_init_rd_atom;
  std::uint32_t max_ee;
  std::uint32_t max_rdd;
  std::uint32_t max_mw;
  std::uint32_t max_raw_ipv6_qp;
  std::uint32_t max_raw_ethy_qp;
  std::uint32_t max_mcast_grp;
  std::uint32_t max_mcast_qp_attach;
  std::uint32_t max_total_mcast_qp_attach;
  std::uint32_t max_ah;
  std::uint32_t max_fmr;
  std::uint32_t max_map_per_fmr;
  std::uint32_t max_srq;
  std::uint32_t max_srq_wr;
  std::uint32_t max_srq_sge;
  std::uint32_t max_uar;
  std::uint32_t gid_tbl_len;
  std::uint16_t max_pkeys;
  std::uint8_t local_ca_ack_delay;
  std::uint8_t phys_port_cnt;
  std::uint8_t mode;
  std::uint8_t atomic_ops;
  std::uint8_t bmme_flags;
  std::uint8_t gid_types;
  std::uint32_t max_fast_reg_page_list_len;
};
static_assert(sizeof(Capabilities) == 208);
static_assert(offsetof(Capabilities, max_qp) == 76);
static_assert(offsetof(Capabilities, max_srq) == 176);
static_assert(offsetof(Capabilities, gid_types) == 203);

struct SharedRegion {
  std::uint32_t driver_version;
  std::uint32_t pad;
  std::uint64_t gos_info;
  std::uint64_t cmd_slot_dma;
  std::uint64_t resp_slot_dma;
  RingPages async_ring_pages;
  RingPages cq_ring_pages;
  std::uint64_t uar_pfn;
  Capabilities caps;
};
static_assert(sizeof(SharedRegion) == 280 && offsetof(SharedRegion, caps) == 72);

// First 16 bytes of every ring's header page.
struct RingWords {
  std::uint32_t tx_prod_tail;
  std::uint32_t tx_cons_head;
  std::uint32_t rx_prod_tail;
  std::uint32_t rx_cons_head;
};

struct AsyncEvent {
  std::uint32_t type;
  std::uint32_t info;
  friend bool operator==(const AsyncEvent&, const AsyncEvent&) = default;
};

}  // namespace paravane::fake
