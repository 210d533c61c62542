#include "verbs/request_check.h"

#include "verbs/queue_pair.h"
#include "verbs/sge_walk.h"
#include "verbs/transport.h"

namespace paravane::verbs {
namespace {

bool is_supported(QpType type, WrOpcode opcode) {
  switch (opcode) {
    case WrOpcode::kSend:
    case WrOpcode::kSendWithImm: return true;
    case WrOpcode::kRdmaWrite:
    case WrOpcode::kRdmaWriteWithImm:
    case WrOpcode::kRdmaRead:
    case WrOpcode::kCompareAndSwap:
    case WrOpcode::kFetchAndAdd:
    case WrOpcode::kSendWithInvalidate:
    case WrOpcode::kLocalInvalidate:
    case WrOpcode::kFastRegister: return type == QpType::kReliableConnected;
  }
  return false;
}

}  // namespace

AccessMask local_need(WrOpcode opcode) {
  return brings_bytes(opcode) ? AccessMask{kAccessLocalWrite} : 0;
}

WcOpcode completion_opcode(WrOpcode opcode) {
  switch (opcode) {
    case WrOpcode::kRdmaWrite:
    case WrOpcode::kRdmaWriteWithImm: return WcOpcode::kRdmaWrite;
    case WrOpcode::kSend:
    case WrOpcode::kSendWithImm:
    case WrOpcode::kSendWithInvalidate: return WcOpcode::kSend;
    case WrOpcode::kRdmaRead: return WcOpcode::kRdmaRead;
    case WrOpcode::kCompareAndSwap: return WcOpcode::kCompareAndSwap;
    case WrOpcode::kFetchAndAdd: return WcOpcode::kFetchAndAdd;
    case WrOpcode::kLocalInvalidate: return WcOpcode::kLocalInvalidate;
    case WrOpcode::kFastRegister: return WcOpcode::kFastRegister;
  }
  return WcOpcode::kSend;
}

RemoteRequest as_the_peer_sees(const QueuePair& qp, const SendRequest& request) {
  return {.opcode = request.opcode,
          .solicited = request.solicited,
          .source_qpn = qp.number(),
          .remote_addr = request.remote_addr,
          .rkey = request.rkey,
          .length = request.sges.total_bytes(),
          .imm = request.imm,
          .compare_add = request.compare_add,
          .swap = request.swap,
          .serial = request.serial};
}

WordChange word_change(WrOpcode opcode, std::uint64_t compare_add, std::uint64_t swap) {
  const bool adds = opcode == WrOpcode::kFetchAndAdd;
  return {.kind = adds ? WordChange::Kind::kFetchAndAdd : WordChange::Kind::kCompareAndSwap,
          .operand = compare_add,
          .swap = swap};
}

WcStatus check_send(QpType type, const QpAttributes& attributes, PdNumber pd,
                    MemoryRegionTable& regions, const SendRequest& request) {
  if (request.fault != WcStatus::kSuccess) return request.fault;
  if (!is_supported(type, request.opcode)) return WcStatus::kLocalQpOperationError;
  // No read may be outstanding, so none may be asked for; atomics count as reads.
  if (brings_bytes(request.opcode) && attributes.max_reads == 0) {
    return WcStatus::kLocalQpOperationError;
  }
  const std::uint64_t length = request.sges.total_bytes();
  if (is_atomic(request.opcode) && length != kAtomicBytes) return WcStatus::kLocalLengthError;
  const std::uint64_t longest =
      type == QpType::kReliableConnected ? kMaxMessageBytes : kMaxDatagramBytes;
  if (length > longest) return WcStatus::kLocalLengthError;
  if (length <= kSliceBytes) return WcStatus::kSuccess;  // gather() judges it, whole
  const AccessVerdict verdict =
      check_sges(regions, pd, request.sges, length, local_need(request.opcode));
  return verdict == AccessVerdict::kOk ? WcStatus::kSuccess : WcStatus::kLocalProtectionError;
}

}  // namespace paravane::verbs
