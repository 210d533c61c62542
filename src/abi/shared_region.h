// The device shared region (DSR), 280 bytes in guest memory. The guest fills the first 72 bytes and
// then writes the region's address to the registers DSRLOW and DSRHIGH. The device writes its
// capabilities to the remaining bytes before it completes the write to DSRHIGH, and never changes
// them later, because the driver reads them repeatedly.
//
// Source: docs/device-spec.md, section 4.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"

namespace paravane::abi {

struct RingPages {
  Le32 num_pages;  // ring state page included
  Le32 pad;
  Le64 pdir_dma;
};
static_assert(sizeof(RingPages) == 16);

struct DeviceCaps {
  Le64 fw_ver;
  Be64 node_guid;
  Be64 sys_image_guid;
  Le64 max_mr_size;
  Le64 page_size_cap;
  Le64 atomic_arg_sizes;
  Le32 ex_comp_mask;
  Le32 device_cap_flags2;
  Le32 max_fa_bit_boundary;
  Le32 log_max_atomic_inline_arg;
  Le32 vendor_id;
  Le32 vendor_part_id;
  Le32 hw_ver;
  Le32 max_qp;
  Le32 max_qp_wr;
  Le32 device_cap_flags;
  Le32 max_sge;
  Le32 max_sge_rd;
  Le32 max_cq;
  Le32 max_cqe;
  Le32 max_mr;
  Le32 max_pd;
  Le32 max_qp_rd_atom;
  Le32 max_ee_rd_atom;
  Le32 max_res_rd_atom;
  Le32 max_qp_init_rd_atom;
  Le32 max_ee_init_rd_atom;
  Le32 max_ee;
  Le32 max_rdd;
  Le32 max_mw;
  Le32 max_raw_ipv6_qp;
  Le32 max_raw_ethy_qp;
  Le32 max_mcast_grp;
  Le32 max_mcast_qp_attach;
  Le32 max_total_mcast_qp_attach;
  Le32 max_ah;
  Le32 max_fmr;
  Le32 max_map_per_fmr;
  Le32 max_srq;
  Le32 max_srq_wr;
  Le32 max_srq_sge;
  Le32 max_uar;
  Le32 gid_tbl_len;
  Le16 max_pkeys;
  std::uint8_t local_ca_ack_delay;
  std::uint8_t phys_port_cnt;
  std::uint8_t mode;
  std::uint8_t atomic_ops;
  std::uint8_t bmme_flags;
  std::uint8_t gid_types;
  Le32 max_fast_reg_page_list_len;
};
static_assert(sizeof(DeviceCaps) == 208);
static_assert(offsetof(DeviceCaps, page_size_cap) == 32);
static_assert(offsetof(DeviceCaps, vendor_id) == 64);
static_assert(offsetof(DeviceCaps, max_qp) == 76);
static_assert(offsetof(DeviceCaps, max_sge) == 88);
static_assert(offsetof(DeviceCaps, max_pd) == 108);
static_assert(offsetof(DeviceCaps, max_qp_init_rd_atom) == 124);
static_assert(offsetof(DeviceCaps, max_ah) == 164);
static_assert(offsetof(DeviceCaps, max_uar) == 188);
static_assert(offsetof(DeviceCaps, max_pkeys) == 196);
static_assert(offsetof(DeviceCaps, mode) == 200);
static_assert(offsetof(DeviceCaps, max_fast_reg_page_list_len) == 204);

// The part that the guest writes.
struct SharedRegionHead {
  Le32 driver_version;
  Le32 pad;
  Le32 gos_info;
  Le32 gos_pad;
  Le64 cmd_slot_dma;
  Le64 resp_slot_dma;
  RingPages async_ring;
  RingPages cq_ring;
  Le64 uar_pfn;
};
static_assert(sizeof(SharedRegionHead) == 72);
static_assert(offsetof(SharedRegionHead, cmd_slot_dma) == 16);
static_assert(offsetof(SharedRegionHead, async_ring) == 32);
static_assert(offsetof(SharedRegionHead, cq_ring) == 48);
static_assert(offsetof(SharedRegionHead, uar_pfn) == 64);

struct SharedRegion {
  SharedRegionHead head;
  DeviceCaps caps;
};
static_assert(sizeof(SharedRegion) == 280);
static_assert(offsetof(SharedRegion, caps) == 72);

inline constexpr std::uint8_t kModeRoce = 0;

enum AtomicOps : std::uint8_t { kAtomicCompareSwap = 1, kAtomicFetchAdd = 2 };
// Linux offers its memory management extensions only if the device reports all three.
enum BmmeFlags : std::uint8_t {
  kBmmeLocalInvalidate = 1,
  kBmmeRemoteInvalidate = 2,
  kBmmeFastRegister = 4,
};

}  // namespace paravane::abi
