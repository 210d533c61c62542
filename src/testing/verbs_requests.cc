#include "testing/verbs_requests.h"

#include <algorithm>

namespace paravane::fake {

using verbs::QpAttributes;
using verbs::QpAttrMask;
using verbs::QpState;
using verbs::QpType;

namespace {

void fill(verbs::SgeList& list, std::initializer_list<verbs::Sge> sges) {
  assert(sges.size() <= list.entries.size());
  list.count = static_cast<std::uint32_t>(sges.size());
  std::ranges::copy(sges, list.entries.begin());
}

verbs::SendRequest request_of(verbs::WrOpcode opcode, std::uint64_t wr_id,
                              std::initializer_list<verbs::Sge> sges) {
  verbs::SendRequest request;
  request.wr_id = wr_id;
  request.opcode = opcode;
  request.signaled = true;
  fill(request.sges, sges);
  return request;
}

}  // namespace

verbs::SendRequest send_request(std::uint64_t wr_id, std::initializer_list<verbs::Sge> sges) {
  return request_of(verbs::WrOpcode::kSend, wr_id, sges);
}

verbs::SendRequest write_request(std::uint64_t wr_id, std::initializer_list<verbs::Sge> sges,
                                 std::uint64_t remote_addr, std::uint32_t rkey) {
  verbs::SendRequest request = request_of(verbs::WrOpcode::kRdmaWrite, wr_id, sges);
  request.remote_addr = remote_addr;
  request.rkey = rkey;
  return request;
}

verbs::SendRequest read_request(std::uint64_t wr_id, std::initializer_list<verbs::Sge> sges,
                                std::uint64_t remote_addr, std::uint32_t rkey) {
  verbs::SendRequest request = write_request(wr_id, sges, remote_addr, rkey);
  request.opcode = verbs::WrOpcode::kRdmaRead;
  return request;
}

verbs::SendRequest add_request(std::uint64_t wr_id, verbs::Sge result, std::uint64_t remote_addr,
                               std::uint32_t rkey, std::uint64_t addend) {
  verbs::SendRequest request = write_request(wr_id, {result}, remote_addr, rkey);
  request.opcode = verbs::WrOpcode::kFetchAndAdd;
  request.compare_add = addend;
  return request;
}

verbs::SendRequest swap_request(std::uint64_t wr_id, verbs::Sge result, std::uint64_t remote_addr,
                                std::uint32_t rkey, std::uint64_t compare, std::uint64_t swap) {
  verbs::SendRequest request = add_request(wr_id, result, remote_addr, rkey, compare);
  request.opcode = verbs::WrOpcode::kCompareAndSwap;
  request.swap = swap;
  return request;
}

verbs::SendRequest register_request(std::uint64_t wr_id,
                                    const verbs::FastRegistration& registration) {
  verbs::SendRequest request = send_request(wr_id, {});
  request.opcode = verbs::WrOpcode::kFastRegister;
  request.registration = registration;
  return request;
}

verbs::SendRequest invalidate_request(std::uint64_t wr_id, std::uint32_t key) {
  verbs::SendRequest request = send_request(wr_id, {});
  request.opcode = verbs::WrOpcode::kLocalInvalidate;
  request.rkey = key;
  return request;
}

verbs::SendRequest with_invalidate(verbs::SendRequest request, std::uint32_t key) {
  request.opcode = verbs::WrOpcode::kSendWithInvalidate;
  request.rkey = key;
  return request;
}

verbs::ReceiveRequest receive_request(std::uint64_t wr_id, std::initializer_list<verbs::Sge> sges) {
  verbs::ReceiveRequest request;
  request.wr_id = wr_id;
  fill(request.sges, sges);
  return request;
}

verbs::SendRequest with_imm(verbs::SendRequest request, verbs::Immediate imm) {
  request.opcode = request.opcode == verbs::WrOpcode::kRdmaWrite
                       ? verbs::WrOpcode::kRdmaWriteWithImm
                       : verbs::WrOpcode::kSendWithImm;
  request.imm = imm;
  return request;
}

QpAttributes default_attributes() {
  QpAttributes attributes;
  attributes.path_mtu = 5;
  attributes.qkey = 0x1111'1111;
  attributes.access = verbs::kAccessKnown;
  attributes.max_reads = 16;
  attributes.max_dest_reads = 16;
  attributes.min_rnr_timer = 12;
  attributes.timeout = 14;
  attributes.retry_count = 7;
  attributes.rnr_retry = 7;
  return attributes;
}

QpAttrMask required_attributes(QpType type, QpState from, QpState to) {
  const bool is_rc = type == QpType::kReliableConnected;
  if (from == QpState::kReset && to == QpState::kInit) {
    const QpAttrMask port = type == QpType::kGeneralServices ? 0 : QpAttrMask{verbs::kAttrPort};
    return verbs::kAttrPkeyIndex | port | (is_rc ? verbs::kAttrAccess : verbs::kAttrQkey);
  }
  if (from == QpState::kInit && to == QpState::kReadyToReceive && is_rc) {
    return verbs::kAttrAddress | verbs::kAttrPathMtu | verbs::kAttrDestQpn |
           verbs::kAttrReceivePsn | verbs::kAttrMaxDestReads | verbs::kAttrMinRnrTimer;
  }
  if (from == QpState::kReadyToReceive && to == QpState::kReadyToSend) {
    return is_rc ? verbs::kAttrTimeout | verbs::kAttrRetryCount | verbs::kAttrRnrRetry |
                       verbs::kAttrSendPsn | verbs::kAttrMaxReads
                 : QpAttrMask{verbs::kAttrSendPsn};
  }
  return 0;
}

Status move(verbs::QueuePair& qp, QpState to, const QpAttributes& attributes, QpAttrMask extra) {
  QpAttributes wanted = attributes;
  wanted.state = to;
  return qp.modify(wanted,
                   verbs::kAttrState | required_attributes(qp.type(), qp.state(), to) | extra,
                   Instant{});
}

Status bring_up(verbs::QueuePair& qp, QpState to, const QpAttributes& attributes) {
  for (const QpState next : {QpState::kInit, QpState::kReadyToReceive, QpState::kReadyToSend}) {
    if (Status moved = move(qp, next, attributes); !moved) return moved;
    if (next == to) break;
  }
  return {};
}

}  // namespace paravane::fake
