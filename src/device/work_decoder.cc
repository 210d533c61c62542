#include "device/work_decoder.h"

#include <iterator>

namespace paravane::device {
namespace {

using verbs::WcStatus;
using verbs::WrOpcode;

constexpr std::uint32_t kPdMask = 0xFF'FFFF;

struct OpcodeRow {
  bool known = false;
  WrOpcode opcode = WrOpcode::kSend;
  bool offered = false;  // executed by this device; not for atomics and registrations yet
};

// By PVRDMA opcode. User space agrees with it for 0..6 and means other things
// from 7 on, none of which it may ask for.
constexpr std::uint32_t kUserOpcodes = 7;
constexpr OpcodeRow kOpcodes[] = {
    {true, WrOpcode::kRdmaWrite, true},
    {true, WrOpcode::kRdmaWriteWithImm, true},
    {true, WrOpcode::kSend, true},
    {true, WrOpcode::kSendWithImm, true},
    {true, WrOpcode::kRdmaRead, true},
    {true, WrOpcode::kCompareAndSwap, false},
    {true, WrOpcode::kFetchAndAdd, false},
    {},  // LSO
    {true, WrOpcode::kSendWithInvalidate, false},
    {},  // READ_WITH_INV: the driver posts it with an empty body
    {true, WrOpcode::kLocalInvalidate, false},
    {true, WrOpcode::kFastRegister, false},
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
  if (!row.known || !row.offered) return set_fault(WcStatus::kLocalQpOperationError, out);

  switch (row.opcode) {
    case WrOpcode::kSendWithImm: out.imm = header.ex; [[fallthrough]];
    case WrOpcode::kSend:
      if (spec_.datagrams) decode_datagram(header, out);
      return;
    case WrOpcode::kRdmaWriteWithImm: out.imm = header.ex; [[fallthrough]];
    case WrOpcode::kRdmaWrite:
    case WrOpcode::kRdmaRead: {
      if (spec_.datagrams) return set_fault(WcStatus::kLocalQpOperationError, out);
      const auto body = abi::body_of<abi::RdmaBody>(header);
      out.remote_addr = body.remote_addr.get();
      out.rkey = body.rkey.get();
      return;
    }
    case WrOpcode::kCompareAndSwap:
    case WrOpcode::kFetchAndAdd:
    case WrOpcode::kSendWithInvalidate:
    case WrOpcode::kLocalInvalidate:
    case WrOpcode::kFastRegister: return set_fault(WcStatus::kLocalQpOperationError, out);
  }
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

void append_sges(std::span<const abi::Sge> from, verbs::SgeList& list) {
  for (const abi::Sge& sge : from) {
    list.entries[list.count++] = {sge.addr.get(), sge.length.get(), sge.lkey.get()};
  }
}

}  // namespace paravane::device
