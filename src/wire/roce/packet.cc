#include "wire/roce/packet.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>

namespace paravane::wire::roce {
namespace {

std::size_t padding_of(const Packet& packet) {
  return (4 - packet.payload_bytes % 4) % 4;
}

// Base header and extensions, by code.
constexpr auto kTransportHeaderBytes = [] {
  std::array<std::uint8_t, std::numeric_limits<std::uint8_t>::max() + 1> bytes{};
  for (std::size_t code = 0; code < bytes.size(); ++code) {
    const Extensions has = extensions_of(static_cast<Opcode>(code));
    bytes[code] = static_cast<std::uint8_t>(sizeof(BaseHeader) + extension_bytes(has));
  }
  return bytes;
}();

// From the base header to the end.
std::size_t transport_bytes(const Packet& packet) {
  return kTransportHeaderBytes[static_cast<std::uint8_t>(packet.opcode)] + packet.payload_bytes +
         padding_of(packet) + kIcrcBytes;
}

// Puts one header behind the other.
class Writer {
 public:
  explicit Writer(std::span<std::byte> out) : out_(out) {}

  template <typename Header>
  void put(const Header& header) {
    assert(out_.size() - written_ >= sizeof(Header));
    std::memcpy(out_.data() + written_, &header, sizeof(Header));
    written_ += sizeof(Header);
  }
  std::size_t written() const { return written_; }

 private:
  std::span<std::byte> out_;
  std::size_t written_ = 0;
};

void put_ethernet(const Route& route, Writer& writer) {
  EthernetHeader header{.destination = route.destination_mac, .source = route.source_mac, .type{}};
  switch (route.network) {
    case Network::kV1: header.type.set(kEtherTypeRoceV1); break;
    case Network::kV2Ipv4: header.type.set(kEtherTypeIpv4); break;
    case Network::kV2Ipv6: header.type.set(kEtherTypeIpv6); break;
  }
  writer.put(header);
}

void put_ipv4(const Packet& packet, std::size_t udp_bytes, Writer& writer) {
  const Route& route = packet.route;
  Ipv4Header header;
  header.type_of_service = route.traffic_class;
  header.total_length.set(static_cast<std::uint16_t>(sizeof(Ipv4Header) + udp_bytes));
  header.identification.set(packet.identification);
  header.flags_fragment.set(packet.may_be_fragmented ? 0 : kDoNotFragment);
  header.time_to_live = route.hop_limit;
  std::copy_n(route.source.end() - 4, 4, header.source.begin());
  std::copy_n(route.destination.end() - 4, 4, header.destination.begin());
  header.checksum.set(checksum_of(header));
  writer.put(header);
}

void put_long_header(const Route& route, std::size_t following_bytes, Writer& writer) {
  LongHeader header;
  header.version_class_flow.set((6u << 28) | (std::uint32_t{route.traffic_class} << 20) |
                                (route.flow_label & kFlowLabelMask));
  header.payload_length.set(static_cast<std::uint16_t>(following_bytes));
  header.next_header = route.network == Network::kV1 ? kNextHeaderIba : kProtocolUdp;
  header.hop_limit = route.hop_limit;
  header.source = route.source;
  header.destination = route.destination;
  writer.put(header);
}

void put_network(const Packet& packet, Writer& writer) {
  const Route& route = packet.route;
  const std::size_t transport = transport_bytes(packet);
  const std::size_t udp_bytes = sizeof(UdpHeader) + transport;
  switch (route.network) {
    case Network::kV1: return put_long_header(route, transport, writer);
    case Network::kV2Ipv4: put_ipv4(packet, udp_bytes, writer); break;
    case Network::kV2Ipv6: put_long_header(route, udp_bytes, writer); break;
  }
  UdpHeader udp;
  udp.source_port.set(route.udp_source_port);
  udp.length.set(static_cast<std::uint16_t>(udp_bytes));
  writer.put(udp);
}

void put_base(const Packet& packet, Writer& writer) {
  BaseHeader header;
  header.opcode = static_cast<std::uint8_t>(packet.opcode);
  header.flags = static_cast<std::uint8_t>((packet.solicited ? kSolicitedEvent : 0) |
                                           (packet.migrated ? kMigrated : 0) |
                                           (padding_of(packet) << kPadShift));
  header.pkey.set(packet.pkey);
  header.reserved =
      static_cast<std::uint8_t>((packet.fecn ? kFecn : 0) | (packet.becn ? kBecn : 0));
  header.destination_qp.set(packet.destination_qp);
  header.ack_request = packet.wants_ack ? kAckRequest : 0;
  header.psn.set(packet.psn);
  writer.put(header);
}

void put_extensions(const Packet& packet, Writer& writer) {
  const Extensions has = extensions_of(packet.opcode);
  if ((has & kDeth) != 0) {
    writer.put(DatagramHeader{.qkey = Be32(packet.qkey), .source_qp = Be24(packet.source_qp)});
  }
  if ((has & kReth) != 0) {
    writer.put(RdmaHeader{
        .address = Be64(packet.address), .rkey = Be32(packet.rkey), .length = Be32(packet.length)});
  }
  if ((has & kAtomicEth) != 0) {
    writer.put(AtomicHeader{.address = Be64(packet.address),
                            .rkey = Be32(packet.rkey),
                            .swap_or_add = Be64(packet.swap_or_add),
                            .compare = Be64(packet.compare)});
  }
  if ((has & kAeth) != 0) {
    writer.put(
        AckHeader{.syndrome = packet.syndrome, .message_number = Be24(packet.message_number)});
  }
  if ((has & kAtomicAckEth) != 0) writer.put(Be64(packet.original));
  if ((has & kImmDt) != 0) writer.put(packet.immediate);
  if ((has & kIeth) != 0) writer.put(Be32(packet.invalidated_key));
  if ((has & kCongestion) != 0) writer.put(CongestionHeader{});
}

}  // namespace

std::size_t packet_bytes(const Packet& packet) {
  return sizeof(EthernetHeader) + network_bytes(packet.route.network) + transport_bytes(packet);
}

std::size_t write_headers(const Packet& packet, std::span<std::byte> out) {
  Writer writer(out);
  put_ethernet(packet.route, writer);
  put_network(packet, writer);
  put_base(packet, writer);
  put_extensions(packet, writer);
  return writer.written();
}

void write_end(const Packet& packet, std::span<std::byte> whole) {
  assert(whole.size() == packet_bytes(packet));
  const auto end = whole.last(padding_of(packet) + kIcrcBytes);
  std::ranges::fill(end, std::byte{0});
  const auto covered =
      whole.subspan(sizeof(EthernetHeader), whole.size() - sizeof(EthernetHeader) - kIcrcBytes);
  std::ranges::copy(icrc_of(packet.route.network, covered), whole.last(kIcrcBytes).begin());
}

std::uint16_t udp_source_port(std::uint32_t flow_label, std::uint32_t local_qp,
                              std::uint32_t remote_qp) {
  std::uint32_t label = flow_label & kFlowLabelMask;
  if (label == 0) {
    std::uint64_t hash = std::uint64_t{local_qp} * remote_qp;
    hash ^= hash >> 20;
    hash ^= hash >> 40;
    label = static_cast<std::uint32_t>(hash & kFlowLabelMask);
  }
  return static_cast<std::uint16_t>(((label & 0x3FFF) ^ (label >> 14)) | 0xC000);
}

}  // namespace paravane::wire::roce
