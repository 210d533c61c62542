// FakeGuest: moving queue pairs through their states.

#include <algorithm>
#include <cstring>

#include "testing/fake_guest.h"

namespace paravane::fake {
namespace {

constexpr std::uint8_t kRoceHopLimit = 64;

}  // namespace

QpAttributes FakeGuest::garbage_attributes() {
  QpAttributes attributes{};
  std::memset(static_cast<void*>(&attributes), 0xC7, sizeof attributes);
  return attributes;
}

bool FakeGuest::modify(FakeQp& qp, const QpAttributes& attributes, std::uint32_t mask) {
  ModifyQp request{};
  request.qp_handle = qp.handle;
  request.attr_mask = mask;
  request.attrs = attributes;
  if (run(request).refused()) return false;
  if ((mask & kMaskState) != 0) qp.state = attributes.qp_state;
  return true;
}

bool FakeGuest::to_init(FakeQp& qp, std::uint32_t access, std::uint32_t qkey) {
  QpAttributes attributes = garbage_attributes();
  attributes.qp_state = kStateInit;
  attributes.pkey_index = 0;
  std::uint32_t mask = kMaskState | kMaskPkeyIndex;
  if (qp.spec().type != kTypeGsi) {
    attributes.port_num = 1;
    mask |= kMaskPort;
  }
  if (qp.spec().type == kTypeRc) {
    attributes.qp_access_flags = access;
    mask |= kMaskAccess;
  } else {
    attributes.qkey = qkey;
    mask |= kMaskQkey;
  }
  return modify(qp, attributes, mask);
}

bool FakeGuest::to_rtr(FakeQp& qp, const GidBytes& dgid, std::uint32_t dest_qpn,
                       const RcOptions& options) {
  QpAttributes attributes = garbage_attributes();
  attributes.qp_state = kStateRtr;
  attributes.path_mtu = options.path_mtu;
  attributes.dest_qp_num = dest_qpn;
  attributes.rq_psn = options.psn;
  attributes.max_dest_rd_atomic = options.reads;
  attributes.min_rnr_timer = options.min_rnr_timer;
  AhAttributes& ah = attributes.ah_attr;
  ah = {};
  std::ranges::copy(dgid, ah.dgid);
  ah.sgid_index = options.sgid_index;
  ah.hop_limit = kRoceHopLimit;
  ah.ah_flags = 1;
  ah.port_num = 1;
  std::ranges::copy(options.dmac, ah.dmac);
  return modify(qp, attributes,
                kMaskState | kMaskAv | kMaskPathMtu | kMaskDestQpn | kMaskRqPsn |
                    kMaskMaxDestReads | kMaskMinRnrTimer);
}

bool FakeGuest::to_rts(FakeQp& qp, const RcOptions& options) {
  QpAttributes attributes = garbage_attributes();
  attributes.qp_state = kStateRts;
  attributes.sq_psn = options.psn;
  std::uint32_t mask = kMaskState | kMaskSqPsn;
  if (qp.spec().type == kTypeRc) {
    attributes.timeout = options.timeout;
    attributes.retry_cnt = options.retry_count;
    attributes.rnr_retry = options.rnr_retry;
    attributes.max_rd_atomic = options.reads;
    mask |= kMaskTimeout | kMaskRetryCount | kMaskRnrRetry | kMaskMaxReads;
  }
  return modify(qp, attributes, mask);
}

bool FakeGuest::to_state(FakeQp& qp, std::uint32_t state) {
  QpAttributes attributes = garbage_attributes();
  attributes.qp_state = state;
  return modify(qp, attributes, kMaskState);
}

bool FakeGuest::to_reset(FakeQp& qp) {
  if (!to_state(qp, kStateReset)) return false;
  qp.forget_ring_contents();
  return true;
}

bool FakeGuest::connect(FakeQp& qp, const GidBytes& dgid, std::uint32_t dest_qpn,
                        const RcOptions& options) {
  return to_init(qp, options.access) && to_rtr(qp, dgid, dest_qpn, options) && to_rts(qp, options);
}

bool FakeGuest::start_datagrams(FakeQp& qp, std::uint32_t qkey) {
  return to_init(qp, 0, qkey) && to_state(qp, kStateRtr) && to_rts(qp);
}

QpAttributes FakeGuest::query(FakeQp& qp) {
  QueryQp request{};
  request.qp_handle = qp.handle;
  request.attr_mask = ~0u;
  const auto outcome = run(request);
  demand(outcome.accepted(), "QUERY_QP was refused");
  qp.state = outcome.response.attrs.qp_state;
  return outcome.response.attrs;
}

pvrdma_av FakeGuest::address_vector(const FakePd& pd, const GidBytes& dgid,
                                    std::uint8_t gid_index) const {
  pvrdma_av av{};
  av.port_pd = pd.handle | (1u << 24);
  std::ranges::copy(dgid, av.dgid);
  av.src_path_bits = 0x80;
  av.gid_index = gid_index;
  av.hop_limit = kRoceHopLimit;
  return av;
}

}  // namespace paravane::fake
