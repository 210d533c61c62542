// MODIFY_QP and QUERY_QP: between the guest's layout of the attributes and the
// engine's, field by field. Only attributes whose mask bit is set are read: the
// driver leaves the others uninitialised.

#include <fmt/core.h>

#include "abi/qp_attributes.h"
#include "device/commands/handlers.h"
#include "device/objects.h"

namespace paravane::device {
namespace {

constexpr std::uint32_t kStates = verbs::kQpStateCount;
constexpr std::uint8_t kGrhPresent = 1;

verbs::AddressVector decode_address(const abi::AddressAttributes& from) {
  verbs::AddressVector to;
  to.dgid.raw = from.dgid;
  to.flow_label = from.flow_label.get() & 0xF'FFFF;
  to.sgid_index = from.sgid_index;
  to.hop_limit = from.hop_limit;
  to.traffic_class = from.traffic_class;
  to.service_level = from.sl;
  to.dmac = from.dmac;
  return to;
}

abi::AddressAttributes encode_address(const verbs::AddressVector& from) {
  abi::AddressAttributes to{};
  to.dgid = from.dgid.raw;
  to.flow_label.set(from.flow_label);
  to.sgid_index = from.sgid_index;
  to.hop_limit = from.hop_limit;
  to.traffic_class = from.traffic_class;
  to.sl = from.service_level;
  to.ah_flags = kGrhPresent;
  to.port_num = 1;
  to.dmac = from.dmac;
  return to;
}

// Everything, wanted or not: the engine reads what the mask names.
verbs::QpAttributes decode(const abi::QpAttributes& from) {
  verbs::QpAttributes to;
  to.path_mtu = from.path_mtu.get();
  to.qkey = from.qkey.get();
  to.receive_psn = from.rq_psn.get() & 0xFF'FFFF;
  to.send_psn = from.sq_psn.get() & 0xFF'FFFF;
  to.dest_qpn = from.dest_qp_num.get() & verbs::kQpNumberMask;
  to.access = from.qp_access_flags.get() & 0xF;
  to.pkey_index = from.pkey_index.get();
  to.port = from.port_num;
  to.sqd_async_notify = from.en_sqd_async_notify != 0;
  to.max_reads = from.max_rd_atomic;
  to.max_dest_reads = from.max_dest_rd_atomic;
  to.min_rnr_timer = from.min_rnr_timer;
  to.timeout = from.timeout;
  to.retry_count = from.retry_cnt;
  to.rnr_retry = from.rnr_retry;
  to.av = decode_address(from.ah_attr);
  return to;
}

Result<verbs::QpState> decode_state(std::uint32_t state) {
  if (state >= kStates) return fail(Errc::kInvalidArgument, fmt::format("no state {}", state));
  return static_cast<verbs::QpState>(state);
}

// The two attributes that are enumerations, when they are given.
Status decode_states(const abi::QpAttributes& from, verbs::QpAttrMask mask,
                     verbs::QpAttributes& to) {
  if ((mask & verbs::kAttrState) != 0) {
    const Result<verbs::QpState> state = decode_state(from.qp_state.get());
    if (!state) return std::unexpected(state.error());
    to.state = *state;
  }
  if ((mask & verbs::kAttrCurrentState) != 0) {
    const Result<verbs::QpState> state = decode_state(from.cur_qp_state.get());
    if (!state) return std::unexpected(state.error());
    to.current_state = *state;
  }
  return {};
}

Status check_values(const verbs::QpAttributes& attributes, verbs::QpAttrMask mask,
                    const DeviceLimits& limits) {
  const bool reads_fit =
      ((mask & verbs::kAttrMaxReads) == 0 || attributes.max_reads <= limits.reads_outstanding) &&
      ((mask & verbs::kAttrMaxDestReads) == 0 ||
       attributes.max_dest_reads <= limits.reads_outstanding);
  if (!reads_fit) return fail(Errc::kResourceExhausted, "too many reads outstanding");
  if ((mask & verbs::kAttrPkeyIndex) != 0 && attributes.pkey_index != 0) {
    return fail(Errc::kInvalidArgument, "no such P_Key");
  }
  if ((mask & verbs::kAttrPort) != 0 && attributes.port != 1) {
    return fail(Errc::kInvalidArgument, "no such port");
  }
  return {};
}

abi::QpAttributes encode(const verbs::QpAttributes& from, const QueueCaps& caps) {
  abi::QpAttributes to{};
  to.qp_state.set(static_cast<std::uint32_t>(from.state));
  to.cur_qp_state.set(static_cast<std::uint32_t>(from.state));
  to.path_mtu.set(from.path_mtu);
  to.qkey.set(from.qkey);
  to.rq_psn.set(from.receive_psn);
  to.sq_psn.set(from.send_psn);
  to.dest_qp_num.set(from.dest_qpn);
  to.qp_access_flags.set(from.access);
  to.pkey_index.set(from.pkey_index);
  to.en_sqd_async_notify = from.sqd_async_notify ? 1 : 0;
  to.max_rd_atomic = from.max_reads;
  to.max_dest_rd_atomic = from.max_dest_reads;
  to.min_rnr_timer = from.min_rnr_timer;
  to.port_num = from.port;
  to.timeout = from.timeout;
  to.retry_cnt = from.retry_count;
  to.rnr_retry = from.rnr_retry;
  to.cap.max_send_wr.set(caps.send_requests);
  to.cap.max_recv_wr.set(caps.receive_requests);
  to.cap.max_send_sge.set(caps.send_sges);
  to.cap.max_recv_sge.set(caps.receive_sges);
  to.ah_attr = encode_address(from.av);
  return to;
}

}  // namespace

Result<Progress> modify_qp(CommandScope& scope, const Request& request, Response&) {
  const auto command = request.as<abi::ModifyQpCommand>();
  QueuePair* qp = scope.objects.find_qp(command.qp_handle.get());
  if (qp == nullptr) return fail(Errc::kNotFound, "no such queue pair");
  const verbs::QpAttrMask mask = command.attr_mask.get() & abi::kQpAttrMaskBits;
  verbs::QpAttributes attributes = decode(command.attrs);
  if (Status status = decode_states(command.attrs, mask, attributes); !status) {
    return std::unexpected(status.error());
  }
  // As rdma_cm asks for it always, this is no reason to refuse.
  if (!scope.rules.atomics) attributes.access &= ~verbs::AccessMask{verbs::kAccessRemoteAtomic};
  if (Status status = check_values(attributes, mask, scope.config.limits); !status) {
    return std::unexpected(status.error());
  }
  if (Status status = qp->engine().modify(attributes, mask, scope.now); !status) {
    return std::unexpected(status.error());
  }
  if (qp->engine().state() == verbs::QpState::kReset) {
    qp->note_reset();
    // The guest throws its completions away now; none may come after.
    scope.completion_sink.forget_qp(qp->handle());
  } else {
    qp->engine().kick();  // no doorbell comes for what was posted before
  }
  return Progress::kDone;
}

Result<Progress> query_qp(CommandScope& scope, const Request& request, Response& response) {
  const QueuePair* qp = scope.objects.find_qp(request.as<abi::QueryQpCommand>().qp_handle.get());
  if (qp == nullptr) return fail(Errc::kNotFound, "no such queue pair");
  abi::QueryQpResponse answer{};
  answer.attrs = encode(qp->engine().query(), qp->caps());
  response.set(answer);
  return Progress::kDone;
}

}  // namespace paravane::device
