#include "wire/roce/superframe_writer.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace paravane::wire::roce {
namespace {

// The longest IPv4 packet, and the longest payload of IPv6, which is the smaller bound of both.
constexpr std::size_t kMostIpBytes = 0xFFFF;

std::uint32_t sum_of(std::span<const std::byte> bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    sum += (std::to_integer<std::uint32_t>(bytes[i]) << 8) +
           std::to_integer<std::uint32_t>(bytes[i + 1]);
  }
  return sum;
}

std::uint16_t folded(std::uint32_t sum) {
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

template <typename Header>
Header header_in(std::span<const std::byte> bytes, std::size_t at) {
  Header header;
  std::memcpy(&header, bytes.data() + at, sizeof(Header));
  return header;
}

template <typename Header>
void put_header(const Header& header, std::span<std::byte> bytes, std::size_t at) {
  std::memcpy(bytes.data() + at, &header, sizeof(Header));
}

constexpr std::size_t kNetworkAt = sizeof(EthernetHeader);

}  // namespace

SuperframeWriter::SuperframeWriter(std::size_t most_packets)
    : most_packets_(most_packets),
      bytes_(kNetworkAt + kMostIpBytes + kMaxPayloadBytes + kMostHeaderBytes + kMostEndBytes) {}

std::size_t SuperframeWriter::segment_of(const Packet& packet) {
  return packet_bytes(packet) - kNetworkAt - network_bytes(packet.route.network);
}

bool SuperframeWriter::takes(const Packet& packet) const {
  if (packets_ == 0) return true;
  if (is_closed_ || packets_ >= most_packets_ || packet.route.network == Network::kV1) return false;
  if (packet.route != first_.route || packet.may_be_fragmented != first_.may_be_fragmented) {
    return false;
  }
  const std::size_t segment = segment_of(packet);
  return segment <= segment_bytes_ && used_ - kNetworkAt + segment <= kMostIpBytes;
}

std::span<std::byte> SuperframeWriter::add(const Packet& packet) {
  assert(takes(packet));
  current_ = packet;
  current_segment_ = segment_of(packet);
  current_at_ = 0;
  if (packets_ == 0) {
    first_ = packet;
    shared_bytes_ = kNetworkAt + network_bytes(packet.route.network);
  } else {
    current_.identification = static_cast<std::uint16_t>(first_.identification + packets_);
    current_at_ = used_ - shared_bytes_;
    std::memcpy(covered_.data(), bytes_.data() + current_at_, shared_bytes_);
  }
  const std::span<std::byte> place = std::span(bytes_).subspan(current_at_);
  return place.subspan(write_headers(current_, place), current_.payload_bytes);
}

void SuperframeWriter::seal() {
  const std::size_t size = shared_bytes_ + current_segment_;
  write_end(current_, std::span(bytes_).subspan(current_at_, size));
  if (packets_ == 0) {
    segment_bytes_ = current_segment_;
  } else {
    std::memcpy(bytes_.data() + current_at_, covered_.data(), shared_bytes_);
    is_closed_ = current_segment_ < segment_bytes_;
  }
  used_ = current_at_ + size;
  ++packets_;
}

void SuperframeWriter::take_back() {
  if (packets_ > 0) std::memcpy(bytes_.data() + current_at_, covered_.data(), shared_bytes_);
}

SuperframeWriter::Whole SuperframeWriter::finish() {
  assert(packets_ > 0);
  const std::span<std::byte> frame = std::span(bytes_).first(used_);
  Whole whole{.frame = frame};
  if (packets_ == 1) return whole;
  const bool is_ipv4 = first_.route.network == Network::kV2Ipv4;
  whole.segment_bytes = segment_bytes_;
  whole.udp_at = shared_bytes_ - sizeof(UdpHeader);
  const auto udp_bytes = static_cast<std::uint16_t>(used_ - whole.udp_at);
  // The kernel wants the sum of the pseudo header, and completes it (RFC 768, RFC 8200 8.1).
  std::uint32_t sum = kProtocolUdp + std::uint32_t{udp_bytes};
  if (is_ipv4) {
    auto header = header_in<Ipv4Header>(frame, kNetworkAt);
    header.total_length.set(static_cast<std::uint16_t>(used_ - kNetworkAt));
    header.checksum.set(0);
    header.checksum.set(checksum_of(header));
    put_header(header, frame, kNetworkAt);
    sum += sum_of(frame.subspan(kNetworkAt + offsetof(Ipv4Header, source), 8));
  } else {
    auto header = header_in<LongHeader>(frame, kNetworkAt);
    header.payload_length.set(udp_bytes);
    put_header(header, frame, kNetworkAt);
    sum += sum_of(frame.subspan(kNetworkAt + offsetof(LongHeader, source), 32));
  }
  auto udp = header_in<UdpHeader>(frame, whole.udp_at);
  udp.length.set(udp_bytes);
  udp.checksum.set(folded(sum));
  put_header(udp, frame, whole.udp_at);
  return whole;
}

void SuperframeWriter::clear() {
  used_ = 0;
  packets_ = 0;
  is_closed_ = false;
}

}  // namespace paravane::wire::roce
