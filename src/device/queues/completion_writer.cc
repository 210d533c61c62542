#include "device/queues/completion_writer.h"

#include <bit>
#include <utility>

namespace paravane::device {

abi::CqeOpcode cqe_opcode(verbs::WcOpcode opcode) {
  switch (opcode) {
    case verbs::WcOpcode::kSend: return abi::kCqeSend;
    case verbs::WcOpcode::kRdmaWrite: return abi::kCqeRdmaWrite;
    case verbs::WcOpcode::kRdmaRead: return abi::kCqeRdmaRead;
    case verbs::WcOpcode::kCompareAndSwap: return abi::kCqeCompareSwap;
    case verbs::WcOpcode::kFetchAndAdd: return abi::kCqeFetchAdd;
    case verbs::WcOpcode::kLocalInvalidate: return abi::kCqeLocalInvalidate;
    case verbs::WcOpcode::kFastRegister: return abi::kCqeFastRegister;
    case verbs::WcOpcode::kReceive: return abi::kCqeReceive;
    case verbs::WcOpcode::kReceiveRdmaWithImm: return abi::kCqeReceiveRdmaWithImm;
  }
  std::unreachable();
}

abi::Cqe make_cqe(const verbs::Completion& completion, Reader reader) {
  std::uint32_t flags = 0;
  if (completion.with_grh) {
    flags |= abi::kCqeGrh;
    if (reader == Reader::kKernel) flags |= abi::kCqeWithNetworkHeader;
  }
  if (completion.with_imm) flags |= abi::kCqeWithImm;
  // To a user program the bit means something else; it saw its own key go.
  const bool tells_key = completion.invalidated_key && reader == Reader::kKernel;
  if (tells_key) flags |= abi::kCqeWithInvalidate;

  abi::Cqe cqe{};
  cqe.wr_id.set(completion.wr_id);
  cqe.qp.set(completion.qp_tag);
  cqe.opcode.set(cqe_opcode(completion.opcode));
  cqe.status.set(static_cast<std::uint32_t>(completion.status));
  cqe.byte_len.set(completion.byte_len);
  if (completion.with_imm) cqe.imm_data = completion.imm;
  // Not raw as an immediate is, but a number of the device's.
  if (tells_key) cqe.imm_data = std::bit_cast<verbs::Immediate>(Le32(*completion.invalidated_key));
  cqe.src_qp.set(completion.source_qpn);
  cqe.wc_flags.set(flags);
  cqe.sl = completion.service_level;
  cqe.port_num = 1;
  if (completion.with_grh) {
    cqe.network_hdr_type = static_cast<std::uint8_t>(completion.network_header);
  }
  return cqe;
}

}  // namespace paravane::device
