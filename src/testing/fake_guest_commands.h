// The commands as the driver declares them (device spec 7). A request names its
// opcode and its response; NoResponse means that the driver does not wait.
// Native integers, as in fake_guest_abi.h.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace paravane::fake {

inline constexpr std::size_t kRequestBytes = 184;   // the union the driver copies in
inline constexpr std::size_t kResponseBytes = 176;  // and out
inline constexpr std::uint32_t kAckFlag = 0x80000000;

struct RequestHeader {
  std::uint64_t response;
  std::uint32_t cmd;
  std::uint32_t reserved;
};
struct ResponseHeader {
  std::uint64_t response;
  std::uint32_t ack;
  std::uint8_t err;
  std::uint8_t reserved[3];
};
struct NoResponse {
  ResponseHeader header;
};

struct PortAttributes {
  std::uint32_t state, max_mtu, active_mtu, gid_tbl_len, port_cap_flags, max_msg_sz, bad_pkey_cntr,
      qkey_viol_cntr;
  std::uint16_t pkey_tbl_len, lid, sm_lid;
  std::uint8_t lmc, max_vl_num, sm_sl, subnet_timeout, init_type_reply, active_width, active_speed,
      phys_state;
  std::uint8_t reserved[2];
};
struct QueryPortResponse {
  ResponseHeader header;
  PortAttributes attrs;
};
struct QueryPort {
  static constexpr std::uint32_t kOpcode = 0;
  using Response = QueryPortResponse;
  RequestHeader header;
  std::uint8_t port_num;
  std::uint8_t reserved[7];
};
static_assert(sizeof(QueryPort) == 24 && sizeof(QueryPortResponse) == 64);

struct QueryPkeyResponse {
  ResponseHeader header;
  std::uint16_t pkey;
  std::uint8_t reserved[6];
};
struct QueryPkey {
  static constexpr std::uint32_t kOpcode = 1;
  using Response = QueryPkeyResponse;
  RequestHeader header;
  std::uint8_t port_num;
  std::uint8_t index;
  std::uint8_t reserved[6];
};
static_assert(sizeof(QueryPkey) == 24 && sizeof(QueryPkeyResponse) == 24);

// CREATE_PD, CREATE_UC, ...: one handle comes back.
struct HandleResponse {
  ResponseHeader header;
  std::uint32_t handle;
  std::uint32_t reserved;
};
template <std::uint32_t kCommand, typename Answer>
struct HandleRequest {
  static constexpr std::uint32_t kOpcode = kCommand;
  using Response = Answer;
  RequestHeader header;
  std::uint32_t handle;
  std::uint32_t reserved;
};
using CreatePd = HandleRequest<2, HandleResponse>;  // `handle`: the context
using DestroyPd = HandleRequest<3, NoResponse>;
using DestroyMr = HandleRequest<5, NoResponse>;
using DestroyCq = HandleRequest<8, NoResponse>;
using DestroyQp = HandleRequest<12, NoResponse>;
using DestroyUc = HandleRequest<14, NoResponse>;
using DestroySrq = HandleRequest<20, NoResponse>;

struct CreateMrResponse {
  ResponseHeader header;
  std::uint32_t mr_handle, lkey, rkey, reserved;
};
struct CreateMr {
  static constexpr std::uint32_t kOpcode = 4;
  using Response = CreateMrResponse;
  RequestHeader header;
  std::uint64_t start, length, pdir_dma;
  std::uint32_t pd_handle, access_flags, flags, nchunks;
};
static_assert(sizeof(CreateMr) == 56 && sizeof(CreateMrResponse) == 32);

struct CreateCqResponse {
  ResponseHeader header;
  std::uint32_t cq_handle, cqe;
};
struct CreateCq {
  static constexpr std::uint32_t kOpcode = 6;
  using Response = CreateCqResponse;
  RequestHeader header;
  std::uint64_t pdir_dma;
  std::uint32_t ctx_handle, cqe, nchunks, reserved;
};
static_assert(sizeof(CreateCq) == 40 && sizeof(CreateCqResponse) == 24);

struct ResizeCq {
  static constexpr std::uint32_t kOpcode = 7;
  using Response = HandleResponse;
  RequestHeader header;
  std::uint32_t cq_handle, cqe;
};

// Both layouts of the answer begin with the number; what follows depends on the
// version, so the driver looks at it by index.
struct CreateQpResponse {
  ResponseHeader header;
  std::uint32_t words[8];  // v1: qpn + 5 limits; v2: qpn, handle, 5 limits
};
struct CreateQp {
  static constexpr std::uint32_t kOpcode = 9;
  using Response = CreateQpResponse;
  RequestHeader header;
  std::uint64_t pdir_dma;
  std::uint32_t pd_handle, send_cq_handle, recv_cq_handle, srq_handle, max_send_wr, max_recv_wr,
      max_send_sge, max_recv_sge, max_inline_data, lkey, access_flags;
  std::uint16_t total_chunks, send_chunks, max_atomic_arg;
  std::uint8_t sq_sig_all, qp_type, is_srq;
  std::uint8_t reserved[3];
};
static_assert(sizeof(CreateQp) == 80 && offsetof(CreateQp, is_srq) == 76);

struct QpCap {
  std::uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data, reserved;
};
struct AhAttributes {
  std::uint8_t dgid[16];
  std::uint32_t flow_label;
  std::uint8_t sgid_index, hop_limit, traffic_class, reserved1;
  std::uint16_t dlid, vlan_id;
  std::uint8_t sl, src_path_bits, static_rate, ah_flags, port_num, dmac[6], reserved2;
};
static_assert(sizeof(AhAttributes) == 40 && offsetof(AhAttributes, dmac) == 33);
struct QpAttributes {
  std::uint32_t qp_state, cur_qp_state, path_mtu, path_mig_state, qkey, rq_psn, sq_psn, dest_qp_num,
      qp_access_flags;
  std::uint16_t pkey_index, alt_pkey_index;
  std::uint8_t en_sqd_async_notify, sq_draining, max_rd_atomic, max_dest_rd_atomic, min_rnr_timer,
      port_num, timeout, retry_cnt, rnr_retry, alt_port_num, alt_timeout, reserved[5];
  QpCap cap;
  AhAttributes ah_attr, alt_ah_attr;
};
static_assert(sizeof(QpAttributes) == 160 && offsetof(QpAttributes, ah_attr) == 80);
struct ModifyQp {
  static constexpr std::uint32_t kOpcode = 10;
  using Response = HandleResponse;  // only its header counts
  RequestHeader header;
  std::uint32_t qp_handle, attr_mask;
  QpAttributes attrs;
};
static_assert(sizeof(ModifyQp) == kRequestBytes);

struct QueryQpResponse {
  ResponseHeader header;
  QpAttributes attrs;
};
static_assert(sizeof(QueryQpResponse) == kResponseBytes);
struct QueryQp {
  static constexpr std::uint32_t kOpcode = 11;
  using Response = QueryQpResponse;
  RequestHeader header;
  std::uint32_t qp_handle, attr_mask;
};

// CREATE_UC: the 32-bit frame number of old drivers is the low half of this.
struct CreateUc {
  static constexpr std::uint32_t kOpcode = 13;
  using Response = HandleResponse;
  RequestHeader header;
  std::uint64_t pfn;
};

struct CreateBind {
  static constexpr std::uint32_t kOpcode = 15;
  using Response = NoResponse;
  RequestHeader header;
  std::uint32_t mtu, vlan, index;
  std::uint8_t new_gid[16];
  std::uint8_t gid_type, reserved[3];
};
static_assert(sizeof(CreateBind) == 48 && offsetof(CreateBind, new_gid) == 28);
struct DestroyBind {
  static constexpr std::uint32_t kOpcode = 16;
  using Response = NoResponse;
  RequestHeader header;
  std::uint32_t index;
  std::uint8_t dest_gid[16], reserved[4];
};
static_assert(sizeof(DestroyBind) == 40);

struct CreateSrq {
  static constexpr std::uint32_t kOpcode = 17;
  using Response = HandleResponse;
  RequestHeader header;
  std::uint64_t pdir_dma;
  std::uint32_t pd_handle, nchunks, max_wr, max_sge, srq_limit, reserved1;
  std::uint8_t srq_type, reserved2[7];
};
static_assert(sizeof(CreateSrq) == 56);
struct QuerySrqResponse {
  ResponseHeader header;
  std::uint32_t max_wr, max_sge, srq_limit, reserved;
};
static_assert(sizeof(QuerySrqResponse) == 32);
using QuerySrq = HandleRequest<19, QuerySrqResponse>;
enum SrqMask : std::uint32_t { kMaskSrqMaxWr = 1, kMaskSrqLimit = 2 };
struct ModifySrq {
  static constexpr std::uint32_t kOpcode = 18;
  using Response = NoResponse;
  RequestHeader header;
  std::uint32_t srq_handle, attr_mask, max_wr, max_sge, srq_limit, reserved;
};
static_assert(sizeof(ModifySrq) == 40 && offsetof(ModifySrq, srq_limit) == 32);

// What became of one command, as the driver sees it.
template <typename Response>
struct CommandOutcome {
  std::uint32_t opcode = 0;
  std::uint32_t err = 0;  // of the ERR register
  bool answered = false;  // vector 0 came
  Response response{};    // the response slot after it came

  // The driver takes the answer for a success.
  bool accepted() const {
    if (err != 0) return false;
    if constexpr (std::is_same_v<Response, NoResponse>) return true;
    return answered && response.header.ack == (kAckFlag | opcode) && response.header.err == 0;
  }
  bool refused() const { return !accepted(); }
};

}  // namespace paravane::fake
