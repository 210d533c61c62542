#include "testing/roce_frames.h"

#include <algorithm>
#include <cstring>

#include "wire/roce/icrc.h"

namespace paravane::fake {

using wire::roce::EthernetHeader;
using wire::roce::Extensions;
using wire::roce::Ipv4Header;
using wire::roce::LongHeader;
using wire::roce::Network;
using wire::roce::Opcode;
using wire::roce::Packet;
using wire::roce::Route;
using wire::roce::UdpHeader;

namespace {

template <typename Header>
Header read(std::span<const std::byte> frame, std::size_t at) {
  Header header;
  std::memcpy(&header, frame.subspan(at, sizeof header).data(), sizeof header);
  return header;
}

template <typename Header>
void write(const Header& header, std::span<std::byte> frame, std::size_t at) {
  std::memcpy(frame.subspan(at, sizeof header).data(), &header, sizeof header);
}

Route route_of(Network network, std::uint32_t number) {
  const auto low = static_cast<std::uint8_t>(number);
  Route route{.network = network,
              .source_mac = {0x52, 0x54, 0, 0x77, 0, low},
              .destination_mac = {0x52, 0x54, 0, 0x78, low, 2},
              .source = {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0, 0xFF, 0xFE, 0x77, 1, low},
              .destination = {0xFD, low, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0, 0xFF, 0xFE, 0x77, 0, 2},
              .flow_label = 0x12345 ^ number,
              .traffic_class = static_cast<std::uint8_t>(0x21 + number),
              .hop_limit = static_cast<std::uint8_t>(9 + number)};
  if (network == Network::kV2Ipv4) {
    route.source = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 77, 1, low};
    route.destination = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, low, 0, 2};
    route.flow_label = 0;
  }
  if (network != Network::kV1) {
    route.udp_source_port = static_cast<std::uint16_t>(0xC123 + number);
  }
  return route;
}

// The lengths in the network headers and the checksum that follows from them.
void set_lengths(Network network, std::span<std::byte> frame) {
  const std::size_t udp_at = base_at(network) - sizeof(UdpHeader);
  const auto udp_bytes = static_cast<std::uint16_t>(frame.size() - udp_at);
  auto udp = read<UdpHeader>(frame, udp_at);
  udp.length.set(udp_bytes);
  write(udp, frame, udp_at);
  if (network == Network::kV2Ipv6) {
    auto ip = read<LongHeader>(frame, kNetworkAt);
    ip.payload_length.set(udp_bytes);
    write(ip, frame, kNetworkAt);
    return;
  }
  auto ip = read<Ipv4Header>(frame, kNetworkAt);
  ip.total_length.set(static_cast<std::uint16_t>(sizeof(Ipv4Header) + udp_bytes));
  write(ip, frame, kNetworkAt);
  mend_checksum(frame);
}

}  // namespace

std::vector<Opcode> all_opcodes() {
  std::vector<Opcode> opcodes;
  for (unsigned code = 0; code < 256; ++code) {
    if (wire::roce::known_extensions(static_cast<std::uint8_t>(code))) {
      opcodes.push_back(static_cast<Opcode>(code));
    }
  }
  return opcodes;
}

Packet packet_of(Network network, Opcode opcode, std::uint32_t number) {
  Packet packet{.route = route_of(network, number),
                .opcode = opcode,
                .solicited = (number & 1) != 0,
                .migrated = (number & 2) != 0,
                .wants_ack = (number & 4) != 0,
                .fecn = (number & 8) != 0,
                .becn = (number & 16) != 0,
                .pkey = static_cast<std::uint16_t>(0xFFFF - number),
                .destination_qp = 0x123456 + number,
                .psn = 0xABCDEF + number};
  if (network == Network::kV2Ipv4) {
    packet.identification = static_cast<std::uint16_t>(0x8123 + number);
    packet.may_be_fragmented = (number & 32) != 0;
  }
  const Extensions has = extensions_of(opcode);
  if ((has & wire::roce::kDeth) != 0) {
    packet.qkey = 0x80010000 + number;
    packet.source_qp = 0x654321 + number;
  }
  if ((has & (wire::roce::kReth | wire::roce::kAtomicEth)) != 0) {
    packet.address = 0x7F00'1234'5678'9000 + number;
    packet.rkey = 0x99AABBCC + number;
  }
  if ((has & wire::roce::kReth) != 0) packet.length = 0x7A7B7C7D + number;
  if ((has & wire::roce::kAtomicEth) != 0) {
    packet.swap_or_add = 0x1122'3344'5566'7788 + number;
    packet.compare = 0x99AA'BBCC'DDEE'FF00 + number;
  }
  if ((has & wire::roce::kAeth) != 0) {
    packet.syndrome = static_cast<std::uint8_t>(wire::roce::kAcknowledged + number);
    packet.message_number = 0xFEDCBA - number;
  }
  if ((has & wire::roce::kAtomicAckEth) != 0) packet.original = 0x0102'0304'0506'0708 + number;
  if ((has & wire::roce::kImmDt) != 0) {
    packet.immediate = {std::byte{0xDE}, std::byte{0xAD}, std::byte{0xBE},
                        std::byte(number & 0xFF)};
  }
  if ((has & wire::roce::kIeth) != 0) packet.invalidated_key = 0x55667788 + number;
  return packet;
}

FrameBytes payload_of(std::size_t bytes, std::uint32_t number) {
  FrameBytes payload(bytes);
  for (std::size_t i = 0; i < bytes; ++i) payload[i] = std::byte((i * 7 + number + 1) & 0xFF);
  return payload;
}

FrameBytes frame_of(Packet packet, std::span<const std::byte> payload) {
  packet.payload_bytes = static_cast<std::uint32_t>(payload.size());
  FrameBytes frame(packet_bytes(packet) + wire::roce::kMostHeaderBytes);
  const std::size_t headers = write_headers(packet, frame);
  std::ranges::copy(payload, frame.begin() + static_cast<std::ptrdiff_t>(headers));
  frame.resize(packet_bytes(packet));
  write_end(packet, frame);
  return frame;
}

std::size_t base_at(Network network) {
  return kNetworkAt + network_bytes(network);
}

void mend_checksum(std::span<std::byte> frame) {
  auto ip = read<Ipv4Header>(frame, kNetworkAt);
  ip.checksum.set(0);
  ip.checksum.set(checksum_of(ip));
  write(ip, frame, kNetworkAt);
}

void mend_icrc(Network network, std::span<std::byte> frame) {
  const auto covered =
      frame.subspan(kNetworkAt, frame.size() - kNetworkAt - wire::roce::kIcrcBytes);
  std::ranges::copy(icrc_of(network, covered), frame.last(wire::roce::kIcrcBytes).begin());
}

FrameBytes merged(std::span<const FrameBytes> frames) {
  FrameBytes whole = frames.front();
  const auto type = read<EthernetHeader>(whole, 0).type.get();
  const Network network = type == wire::roce::kEtherTypeIpv4 ? Network::kV2Ipv4 : Network::kV2Ipv6;
  for (const FrameBytes& frame : frames.subspan(1)) {
    whole.insert(whole.end(), frame.begin() + static_cast<std::ptrdiff_t>(base_at(network)),
                 frame.end());
  }
  set_lengths(network, whole);
  return whole;
}

FrameBytes segment_of(Network network, std::span<const std::byte> superframe,
                      std::size_t segment_bytes, std::size_t number, bool counts) {
  const auto udp = read<UdpHeader>(superframe, base_at(network) - sizeof(UdpHeader));
  const std::size_t all = udp.length.get() - sizeof(UdpHeader);
  const std::size_t done = number * segment_bytes;
  const auto headers = superframe.first(base_at(network));
  const auto segment =
      superframe.subspan(base_at(network) + done, std::min(segment_bytes, all - done));
  FrameBytes frame(headers.begin(), headers.end());
  frame.insert(frame.end(), segment.begin(), segment.end());
  if (network == Network::kV2Ipv4 && counts) {
    auto ip = read<Ipv4Header>(frame, kNetworkAt);
    ip.identification.set(static_cast<std::uint16_t>(ip.identification.get() + number));
    write(ip, std::span(frame), kNetworkAt);
  }
  set_lengths(network, frame);
  return frame;
}

}  // namespace paravane::fake
