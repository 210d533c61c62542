// Our structs must have the layout the Linux driver was compiled with. Where the
// installed kernel header has it, we compare with the header; if this file
// compiles, those layouts agree. Commands are private to the kernel, so their
// offsets are written by hand here, from docs/device-spec.md.

#include <gtest/gtest.h>
#include <rdma/vmw_pvrdma-abi.h>

#include <bit>
#include <cstddef>

#include "abi/commands.h"
#include "abi/completion.h"
#include "abi/registers.h"
#include "abi/responses.h"
#include "abi/ring_state.h"
#include "abi/shared_region.h"
#include "abi/uar.h"
#include "abi/work_queue.h"

namespace paravane::abi {
namespace {

static_assert(kUarHandleMask == PVRDMA_UAR_HANDLE_MASK);
static_assert(kUarQpOffset == PVRDMA_UAR_QP_OFFSET);
static_assert(kUarCqOffset == PVRDMA_UAR_CQ_OFFSET);
static_assert(kUarSrqOffset == PVRDMA_UAR_SRQ_OFFSET);
static_assert(kUarQpSend == static_cast<std::uint32_t>(PVRDMA_UAR_QP_SEND));
static_assert(kUarCqArm == static_cast<std::uint32_t>(PVRDMA_UAR_CQ_ARM));
static_assert(kUarCqArmSolicited == static_cast<std::uint32_t>(PVRDMA_UAR_CQ_ARM_SOL));

static_assert(sizeof(Sge) == sizeof(pvrdma_sge));
static_assert(offsetof(Sge, lkey) == offsetof(pvrdma_sge, lkey));

static_assert(sizeof(ReceiveHeader) == sizeof(pvrdma_rq_wqe_hdr));
static_assert(offsetof(ReceiveHeader, num_sge) == offsetof(pvrdma_rq_wqe_hdr, num_sge));

static_assert(sizeof(SendHeader) == sizeof(pvrdma_sq_wqe_hdr));
static_assert(offsetof(SendHeader, opcode) == offsetof(pvrdma_sq_wqe_hdr, opcode));
static_assert(offsetof(SendHeader, send_flags) == offsetof(pvrdma_sq_wqe_hdr, send_flags));
static_assert(offsetof(SendHeader, ex) == offsetof(pvrdma_sq_wqe_hdr, ex));
static_assert(offsetof(SendHeader, body) == offsetof(pvrdma_sq_wqe_hdr, wr));
static_assert(offsetof(SendHeader, body) + offsetof(RdmaBody, rkey) ==
              offsetof(pvrdma_sq_wqe_hdr, wr.rdma.rkey));
static_assert(offsetof(SendHeader, body) + offsetof(AtomicBody, rkey) ==
              offsetof(pvrdma_sq_wqe_hdr, wr.atomic.rkey));
static_assert(offsetof(SendHeader, body) + offsetof(AtomicBody, swap) ==
              offsetof(pvrdma_sq_wqe_hdr, wr.atomic.swap));
static_assert(offsetof(SendHeader, body) + offsetof(FastRegisterBody, rkey) ==
              offsetof(pvrdma_sq_wqe_hdr, wr.fast_reg.rkey));
static_assert(offsetof(SendHeader, body) + offsetof(UdBody, av) ==
              offsetof(pvrdma_sq_wqe_hdr, wr.ud.av));

static_assert(sizeof(UdAddress) == sizeof(pvrdma_av));
static_assert(offsetof(UdAddress, dgid) == offsetof(pvrdma_av, dgid));
static_assert(offsetof(UdAddress, gid_index) == offsetof(pvrdma_av, gid_index));
static_assert(offsetof(UdAddress, dmac) == offsetof(pvrdma_av, dmac));

static_assert(sizeof(Cqe) == sizeof(pvrdma_cqe));
static_assert(offsetof(Cqe, status) == offsetof(pvrdma_cqe, status));
static_assert(offsetof(Cqe, imm_data) == offsetof(pvrdma_cqe, imm_data));
static_assert(offsetof(Cqe, src_qp) == offsetof(pvrdma_cqe, src_qp));
static_assert(offsetof(Cqe, wc_flags) == offsetof(pvrdma_cqe, wc_flags));
static_assert(offsetof(Cqe, pkey_index) == offsetof(pvrdma_cqe, pkey_index));
static_assert(offsetof(Cqe, port_num) == offsetof(pvrdma_cqe, port_num));
static_assert(offsetof(Cqe, network_hdr_type) == offsetof(pvrdma_cqe, network_hdr_type));

static_assert(kWrSend == std::uint32_t{PVRDMA_WR_SEND});
static_assert(kWrRdmaRead == std::uint32_t{PVRDMA_WR_RDMA_READ});
static_assert(kWrSendWithInvalidate == std::uint32_t{PVRDMA_WR_SEND_WITH_INV});
static_assert(kWrLocalInvalidate == std::uint32_t{PVRDMA_WR_LOCAL_INV});
static_assert(kWrFastRegister == std::uint32_t{PVRDMA_WR_FAST_REG_MR});
static_assert(kCqeFetchAdd == std::uint32_t{PVRDMA_WC_FETCH_ADD});
static_assert(kCqeLocalInvalidate == std::uint32_t{PVRDMA_WC_LOCAL_INV});
static_assert(kCqeFastRegister == std::uint32_t{PVRDMA_WC_FAST_REG_MR});
static_assert(kCqeReceive == std::uint32_t{PVRDMA_WC_RECV});
static_assert(kCqeReceiveRdmaWithImm == std::uint32_t{PVRDMA_WC_RECV_RDMA_WITH_IMM});
static_assert(kCqeWithNetworkHeader == std::uint32_t{PVRDMA_WC_WITH_NETWORK_HDR_TYPE});

// docs/device-spec.md, "Commands".
static_assert(offsetof(CreateMrCommand, start) == 16);
static_assert(offsetof(CreateMrCommand, length) == 24);
static_assert(offsetof(CreateMrCommand, pdir_dma) == 32);
static_assert(offsetof(CreateMrCommand, access_flags) == 44);
static_assert(offsetof(CreateMrCommand, flags) == 48);
static_assert(offsetof(CreateMrCommand, nchunks) == 52);
static_assert(offsetof(CreateCqCommand, ctx_handle) == 24);
static_assert(offsetof(CreateCqCommand, cqe) == 28);
static_assert(offsetof(CreateCqCommand, nchunks) == 32);
static_assert(offsetof(CreateSrqCommand, pd_handle) == 24);
static_assert(offsetof(CreateSrqCommand, attrs) == 32);
static_assert(offsetof(CreateSrqCommand, srq_type) == 48);
static_assert(offsetof(ModifySrqCommand, attrs) + offsetof(SrqAttributes, srq_limit) == 32);
static_assert(offsetof(CreateQpCommand, pd_handle) == 24);
static_assert(offsetof(CreateQpCommand, srq_handle) == 36);
static_assert(offsetof(CreateQpCommand, max_recv_sge) == 52);
static_assert(offsetof(CreateQpCommand, access_flags) == 64);
static_assert(offsetof(CreateQpCommand, send_chunks) == 70);
static_assert(offsetof(CreateQpCommand, sq_sig_all) == 74);
static_assert(offsetof(CreateQpCommand, qp_type) == 75);
static_assert(offsetof(ModifyQpCommand, attrs) == 24);
static_assert(24 + offsetof(QpAttributes, dest_qp_num) == 52);
static_assert(24 + offsetof(QpAttributes, en_sqd_async_notify) == 64);
static_assert(24 + offsetof(QpAttributes, alt_timeout) == 74);
static_assert(24 + offsetof(QpAttributes, ah_attr) == 104);
static_assert(offsetof(CreateBindCommand, index) == 24);
static_assert(offsetof(CreateBindCommand, gid_type) == 44);
static_assert(offsetof(DestroyBindCommand, dest_gid) == 20);
static_assert(offsetof(QueryPortResponse, port_cap_flags) == 32);
static_assert(offsetof(QueryPortResponse, active_width) == 59);
static_assert(offsetof(CreateMrResponse, rkey) == 24);
static_assert(offsetof(CreateCqResponse, cqe) == 20);
static_assert(offsetof(CreateQpResponseV1, grant) == 20);
static_assert(offsetof(CreateQpResponseV2, grant) == 24);
static_assert(offsetof(QueryQpResponse, attrs) + offsetof(QpAttributes, cap) == 72);
static_assert(offsetof(QueryQpResponse, attrs) + offsetof(QpAttributes, ah_attr) == 96);

TEST(Layout, SendHeaderReadsTheSameThroughBothDefinitions) {
  pvrdma_sq_wqe_hdr kernel{};
  kernel.wr_id = 0x1122334455667788;
  kernel.num_sge = 3;
  kernel.opcode = PVRDMA_WR_ATOMIC_CMP_AND_SWP;
  kernel.wr.atomic.remote_addr = 0xA1A2A3A4A5A6A7A8;
  kernel.wr.atomic.rkey = 0xCAFE01;

  const auto ours = std::bit_cast<SendHeader>(kernel);

  EXPECT_EQ(ours.wr_id.get(), 0x1122334455667788u);
  EXPECT_EQ(ours.num_sge.get(), 3u);
  EXPECT_EQ(ours.opcode.get(), kWrCompareSwap);
  const auto body = body_of<AtomicBody>(ours);
  EXPECT_EQ(body.remote_addr.get(), 0xA1A2A3A4A5A6A7A8u);
  EXPECT_EQ(body.rkey.get(), 0xCAFE01u);
}

TEST(Layout, RdmaAndAtomicBodiesKeepTheirKeysInDifferentPlaces) {
  SendHeader header{};
  header.body[8] = std::byte{0x11};   // rdma.rkey
  header.body[24] = std::byte{0x22};  // atomic.rkey

  EXPECT_EQ(body_of<RdmaBody>(header).rkey.get(), 0x11u);
  EXPECT_EQ(body_of<AtomicBody>(header).rkey.get(), 0x22u);
}

TEST(Layout, CqeReadsTheSameThroughBothDefinitions) {
  Cqe ours{};
  ours.qp.set(77);
  ours.byte_len.set(4096);
  ours.imm_data = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  ours.network_hdr_type = 1;

  const auto kernel = std::bit_cast<pvrdma_cqe>(ours);

  EXPECT_EQ(kernel.qp, 77u);
  EXPECT_EQ(kernel.byte_len, 4096u);
  EXPECT_EQ(kernel.imm_data, 0x04030201u);  // a little-endian host reading raw bytes
  EXPECT_EQ(kernel.network_hdr_type, 1u);
}

}  // namespace
}  // namespace paravane::abi
