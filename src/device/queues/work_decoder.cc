#include "device/queues/work_decoder.h"

#include <bit>
#include <iterator>

namespace paravane::device {
namespace {

using verbs::WcStatus;
using verbs::WrOpcode;

constexpr std::uint32_t kPdMask = 0xFF'FFFF;
constexpr std::uint32_t kPageShift = 12;  // whatever the pages' owner mapped them with

struct OpcodeRow {
  bool known = false;
  WrOpcode opcode = WrOpcode::kSend;
};

// By PVRDMA opcode. User space agrees with it for 0..6 and means other things
// from 7 on, none of which it may ask for.
constexpr std::uint32_t kUserOpcodes = 7;
constexpr OpcodeRow kOpcodes[] = {
    {true, WrOpcode::kRdmaWrite},
    {true, WrOpcode::kRdmaWriteWithImm},
    {true, WrOpcode::kSend},
    {true, WrOpcode::kSendWithImm},
    {true, WrOpcode::kRdmaRead},
    {true, WrOpcode::kCompareAndSwap},
    {true, WrOpcode::kFetchAndAdd},
    {},  // LSO
    {true, WrOpcode::kSendWithInvalidate},
    {},  // READ_WITH_INV: the driver posts it with an empty body
    {true, WrOpcode::kLocalInvalidate},
    {true, WrOpcode::kFastRegister},
};

void set_fault(WcStatus status, verbs::SendRequest& out) {
  out.fault = status;
}

}  // namespace

std::uint32_t WorkDecoder::decode_send(const abi::SendHeader& header,
                                       verbs::SendRequest& out) const {
  const std::uint32_t flags = header.send_flags.get();
  out.wr_id = header.wr_id.get();
  out.fault = WcStatus::kSuccess;
  out.signaled = (flags & abi::kSendSignaled) != 0;
  out.solicited = (flags & abi::kSendSolicited) != 0;
  out.fence = (flags & abi::kSendFence) != 0;
  out.sges.count = 0;
  decode_opcode(header, out);
  const std::uint32_t sges = header.num_sge.get();
  if (sges > spec_.max_send_sges) set_fault(WcStatus::kLocalQpOperationError, out);
  return out.fault == WcStatus::kSuccess ? sges : 0;
}

void WorkDecoder::decode_opcode(const abi::SendHeader& header, verbs::SendRequest& out) const {
  const std::uint32_t opcode = header.opcode.get();
  const std::uint32_t known =
      spec_.poster == Poster::kUser ? kUserOpcodes : std::uint32_t{std::size(kOpcodes)};
  const OpcodeRow row = opcode < known ? kOpcodes[opcode] : OpcodeRow{};
  out.opcode = row.opcode;
  const bool fits_datagram = row.opcode == WrOpcode::kSend || row.opcode == WrOpcode::kSendWithImm;
  const bool forbidden = !spec_.atomics && verbs::is_atomic(row.opcode);
  if (!row.known || forbidden || (spec_.datagrams && !fits_datagram))
    return set_fault(WcStatus::kLocalQpOperationError, out);

  switch (row.opcode) {
    case WrOpcode::kSendWithImm: out.imm = header.ex; [[fallthrough]];
    case WrOpcode::kSend:
      if (spec_.datagrams) decode_datagram(header, out);
      return;
    case WrOpcode::kRdmaWriteWithImm: out.imm = header.ex; [[fallthrough]];
    case WrOpcode::kRdmaWrite:
    case WrOpcode::kRdmaRead: {
      const auto body = abi::body_of<abi::RdmaBody>(header);
      out.remote_addr = body.remote_addr.get();
      out.rkey = body.rkey.get();
      return;
    }
    case WrOpcode::kCompareAndSwap:
    case WrOpcode::kFetchAndAdd: {
      const auto body = abi::body_of<abi::AtomicBody>(header);
      out.remote_addr = body.remote_addr.get();
      out.rkey = body.rkey.get();
      out.compare_add = body.compare_add.get();
      out.swap = body.swap.get();
      return;
    }
    case WrOpcode::kSendWithInvalidate:
    case WrOpcode::kLocalInvalidate: out.rkey = std::bit_cast<Le32>(header.ex).get(); return;
    case WrOpcode::kFastRegister: return decode_registration(header, out);
  }
}

void WorkDecoder::decode_registration(const abi::SendHeader& header, verbs::SendRequest& out) {
  const auto body = abi::body_of<abi::FastRegisterBody>(header);
  if (body.page_shift.get() != kPageShift) {
    return set_fault(WcStatus::kMemoryWindowBindError, out);
  }
  out.registration = {.key = body.rkey.get(),
                      .access = body.access_flags.get() & verbs::kAccessKnown,
                      .start = body.iova_start.get(),
                      .length = body.length.get(),
                      .pages = body.page_list_len.get(),
                      .directory = body.pl_pdir_dma.get()};
}

void WorkDecoder::decode_datagram(const abi::SendHeader& header, verbs::SendRequest& out) const {
  const auto body = abi::body_of<abi::UdBody>(header);
  if ((body.av.port_pd.get() & kPdMask) != spec_.protection_domain) {
    return set_fault(WcStatus::kLocalQpOperationError, out);
  }
  const std::uint32_t flow = body.av.sl_tclass_flowlabel.get();
  out.remote_qpn = body.remote_qpn.get() & verbs::kQpNumberMask;
  out.remote_qkey = body.remote_qkey.get();
  out.av.dgid.raw = body.av.dgid;
  out.av.flow_label = flow & 0xF'FFFF;
  out.av.traffic_class = static_cast<std::uint8_t>(flow >> 20);
  out.av.service_level = static_cast<std::uint8_t>(flow >> 28);
  out.av.sgid_index = body.av.gid_index;
  out.av.hop_limit = body.av.hop_limit;
  out.av.dmac = body.av.dmac;
}

std::uint32_t WorkDecoder::decode_receive(const abi::ReceiveHeader& header,
                                          verbs::ReceiveRequest& out) const {
  out.wr_id = header.wr_id.get();
  out.sges.count = 0;
  const std::uint32_t sges = header.num_sge.get();
  const bool fits = sges <= spec_.max_receive_sges;
  out.fault = fits ? WcStatus::kSuccess : WcStatus::kLocalQpOperationError;
  return fits ? sges : 0;
}

}  // namespace paravane::device
