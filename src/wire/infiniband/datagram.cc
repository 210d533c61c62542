#include "wire/infiniband/datagram.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "wire/infiniband/subnet_management.h"
#include "wire/roce/header_at.h"
#include "wire/roce/headers.h"
#include "wire/roce/opcode.h"

namespace paravane::wire::infiniband {
namespace {

using roce::BaseHeader;
using roce::DatagramHeader;
using roce::header_at;
using roce::LongHeader;
using roce::Opcode;

static_assert(kLeastDatagramBytes ==
              sizeof(LocalRouteHeader) + sizeof(BaseHeader) + sizeof(DatagramHeader));
static_assert(kGlobalRouteBytes == sizeof(LongHeader));

constexpr unsigned kIpVersion = 6;

std::unexpected<DatagramRefusal> refuse(DatagramRefusal why) {
  return std::unexpected(why);
}

std::expected<GlobalRoute, DatagramRefusal> read_global(std::span<const std::byte> bytes,
                                                        std::size_t following) {
  const auto header = header_at<LongHeader>(bytes);
  const std::uint32_t first = header.version_class_flow.get();
  if (first >> 28 != kIpVersion) return refuse(DatagramRefusal::kVersion);
  if (header.next_header != roce::kNextHeaderIba) return refuse(DatagramRefusal::kNoTransport);
  if (header.payload_length.get() < following) return refuse(DatagramRefusal::kLong);
  if (header.payload_length.get() > following) return refuse(DatagramRefusal::kShort);
  return GlobalRoute{.source = header.source,
                     .destination = header.destination,
                     .flow_label = first & roce::kFlowLabelMask,
                     .traffic_class = static_cast<std::uint8_t>(first >> 20),
                     .hop_limit = header.hop_limit};
}

LongHeader global_header(const GlobalRoute& global, std::size_t following) {
  LongHeader header;
  header.version_class_flow.set((kIpVersion << 28) | (std::uint32_t{global.traffic_class} << 20) |
                                (global.flow_label & roce::kFlowLabelMask));
  header.payload_length.set(static_cast<std::uint16_t>(following));
  header.next_header = roce::kNextHeaderIba;
  header.hop_limit = global.hop_limit;
  header.source = global.source;
  header.destination = global.destination;
  return header;
}

}  // namespace

std::expected<Datagram, DatagramRefusal> read_datagram(std::span<const std::byte> packet) {
  if (packet.size() < kLeastDatagramBytes) return refuse(DatagramRefusal::kShort);
  if (packet.size() > kMostPacketBytes) return refuse(DatagramRefusal::kLong);
  const auto route = header_at<LocalRouteHeader>(packet);
  const std::size_t stated = route.words() * 4;
  if (packet.size() + kInvariantCrcBytes < stated) return refuse(DatagramRefusal::kShort);
  if (packet.size() + kInvariantCrcBytes > stated) return refuse(DatagramRefusal::kLong);
  if (route.link_version() != 0) return refuse(DatagramRefusal::kVersion);

  Datagram datagram;
  DatagramHeaders& headers = datagram.headers;
  headers.source = route.source.get();
  headers.destination = route.destination.get();
  headers.lane = route.lane();
  headers.service_level = route.service_level();
  std::span<const std::byte> rest = packet.subspan(sizeof route);

  if (route.next() == NextHeader::kGlobalRoute) {
    if (rest.size() < kGlobalRouteBytes + sizeof(BaseHeader) + sizeof(DatagramHeader))
      return refuse(DatagramRefusal::kShort);
    const auto global = read_global(rest, rest.size() - kGlobalRouteBytes + kInvariantCrcBytes);
    if (!global) return refuse(global.error());
    headers.global = *global;
    rest = rest.subspan(kGlobalRouteBytes);
  } else if (route.next() != NextHeader::kTransport) {
    return refuse(DatagramRefusal::kNoTransport);
  }

  const auto base = header_at<BaseHeader>(rest);
  const auto opcode = static_cast<Opcode>(base.opcode);
  if (opcode != Opcode::kDatagramOnly && opcode != Opcode::kDatagramOnlyImm)
    return refuse(DatagramRefusal::kOpcode);
  if ((base.flags & roce::kVersionMask) != 0) return refuse(DatagramRefusal::kVersion);
  headers.partition = base.pkey.get();
  headers.is_solicited = (base.flags & roce::kSolicitedEvent) != 0;
  headers.destination_qp = base.destination_qp.get();
  headers.packet_number = base.psn.get();
  const auto extension = header_at<DatagramHeader>(rest, sizeof base);
  headers.qkey = extension.qkey.get();
  headers.source_qp = extension.source_qp.get();
  rest = rest.subspan(sizeof base + sizeof extension);

  if (opcode == Opcode::kDatagramOnlyImm) {
    if (rest.size() < sizeof(Be32)) return refuse(DatagramRefusal::kShort);
    headers.immediate = header_at<Be32>(rest).get();
    rest = rest.subspan(sizeof(Be32));
  }
  const std::size_t padding = (base.flags >> roce::kPadShift) & roce::kPadMask;
  if (padding > rest.size()) return refuse(DatagramRefusal::kPadding);
  if (rest.size() > kMostPayloadBytes) return refuse(DatagramRefusal::kLong);
  datagram.payload = rest.first(rest.size() - padding);
  return datagram;
}

void write_datagram(const DatagramHeaders& headers, std::span<const std::byte> payload,
                    std::vector<std::byte>& packet) {
  assert(payload.size() <= kMostPayloadBytes);
  const std::size_t padding = (4 - payload.size() % 4) % 4;
  const std::size_t transport = sizeof(BaseHeader) + sizeof(DatagramHeader) +
                                (headers.immediate ? sizeof(Be32) : 0) + payload.size() + padding;
  const std::size_t all =
      sizeof(LocalRouteHeader) + (headers.global ? kGlobalRouteBytes : 0) + transport;
  packet.resize(all);
  std::byte* out = packet.data();
  const auto put = [&out](const auto& header) {
    std::memcpy(out, &header, sizeof header);
    out += sizeof header;
  };

  LocalRouteHeader route;
  route.set_lane(headers.lane);
  route.set_level_next(headers.service_level,
                       headers.global ? NextHeader::kGlobalRoute : NextHeader::kTransport);
  route.destination.set(headers.destination);
  route.length.set(static_cast<std::uint16_t>((all + kInvariantCrcBytes) / 4));
  route.source.set(headers.source);
  put(route);
  if (headers.global) put(global_header(*headers.global, transport + kInvariantCrcBytes));

  BaseHeader base;
  base.opcode = static_cast<std::uint8_t>(headers.immediate ? Opcode::kDatagramOnlyImm
                                                            : Opcode::kDatagramOnly);
  base.flags = static_cast<std::uint8_t>((headers.is_solicited ? roce::kSolicitedEvent : 0) |
                                         (padding << roce::kPadShift));
  base.pkey.set(headers.partition);
  base.destination_qp.set(headers.destination_qp);
  base.psn.set(headers.packet_number);
  put(base);
  DatagramHeader extension;
  extension.qkey.set(headers.qkey);
  extension.source_qp.set(headers.source_qp);
  put(extension);
  if (headers.immediate) put(Be32(*headers.immediate));
  out = std::copy(payload.begin(), payload.end(), out);
  std::fill_n(out, padding, std::byte{0});
}

}  // namespace paravane::wire::infiniband
