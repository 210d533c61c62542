#include "wire/roce/superframe.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "wire/roce/frame_transport.h"
#include "wire/roce/header_at.h"
#include "wire/roce/icrc.h"

namespace paravane::wire::roce {
namespace {

constexpr std::size_t kLeastSegmentBytes = sizeof(BaseHeader) + kIcrcBytes;

// Network headers and base header: what the CRC masks, and therefore has in one piece.
class SegmentHeaders {
 public:
  SegmentHeaders(const Envelope& envelope, std::uint16_t identification,
                 std::span<const std::byte> segment) {
    const std::size_t udp_at = envelope.network.size() - sizeof(UdpHeader);
    const auto udp_bytes = static_cast<std::uint16_t>(sizeof(UdpHeader) + segment.size());
    if (envelope.route.network == Network::kV2Ipv4) {
      auto ip = header_at<Ipv4Header>(envelope.network);
      ip.total_length.set(static_cast<std::uint16_t>(sizeof(Ipv4Header) + udp_bytes));
      ip.identification.set(identification);
      put(ip);
    } else {
      auto ip = header_at<LongHeader>(envelope.network);
      ip.payload_length.set(udp_bytes);
      put(ip);
    }
    auto udp = header_at<UdpHeader>(envelope.network, udp_at);
    udp.length.set(udp_bytes);
    put(udp);
    put(header_at<BaseHeader>(segment));
  }

  std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }

 private:
  template <typename Header>
  void put(const Header& header) {
    std::memcpy(bytes_.data() + size_, &header, sizeof header);
    size_ += sizeof header;
  }

  std::array<std::byte, sizeof(LongHeader) + sizeof(UdpHeader) + sizeof(BaseHeader)> bytes_;
  std::size_t size_ = 0;
};

}  // namespace

std::expected<Superframe, FrameFault> Superframe::open(std::span<const std::byte> frame,
                                                       std::size_t segment_bytes) {
  const auto envelope = open_envelope(frame);
  if (!envelope) return std::unexpected(envelope.error());
  const std::size_t all = envelope->transport.size();
  if (envelope->route.network == Network::kV1 || segment_bytes < kLeastSegmentBytes ||
      segment_bytes > all) {
    return std::unexpected(FrameFault::kBadSegments);
  }
  const std::size_t last = all % segment_bytes;
  if (last != 0 && last < kLeastSegmentBytes) return std::unexpected(FrameFault::kBadSegments);
  return Superframe(*envelope, segment_bytes);
}

std::size_t Superframe::segments() const {
  return taken_ + (envelope_.transport.size() + segment_bytes_ - 1) / segment_bytes_;
}

bool Superframe::is_whole(std::span<const std::byte> segment, std::uint16_t identification) const {
  IcrcBuilder crc(envelope_.route.network,
                  SegmentHeaders(envelope_, identification, segment).bytes());
  const std::size_t after_base = segment.size() - sizeof(BaseHeader) - kIcrcBytes;
  crc.add(segment.subspan(sizeof(BaseHeader), after_base));
  return std::ranges::equal(crc.finish(), segment.last(kIcrcBytes));
}

std::optional<std::uint16_t> Superframe::find_identification(std::span<const std::byte> segment) {
  const bool is_ipv4 = envelope_.route.network == Network::kV2Ipv4;
  const std::uint16_t first = is_ipv4 ? envelope_.identification : 0;
  const auto counted = static_cast<std::uint16_t>(first + (is_ipv4 ? taken_ : 0));
  if (counts_.value_or(true) && is_whole(segment, counted)) {
    if (counted != first) counts_ = true;
    return counted;
  }
  if (counts_.value_or(false) || counted == first || !is_whole(segment, first)) return std::nullopt;
  counts_ = false;
  return first;
}

std::optional<std::expected<Frame, FrameFault>> Superframe::next() {
  if (envelope_.transport.empty()) return std::nullopt;
  const auto segment =
      envelope_.transport.first(std::min(segment_bytes_, envelope_.transport.size()));
  envelope_.transport = envelope_.transport.subspan(segment.size());

  std::expected<Frame, FrameFault> parsed;
  parsed->packet.route = envelope_.route;
  parsed->packet.may_be_fragmented = envelope_.may_be_fragmented;
  const auto fault = read_transport(segment, *parsed);
  const auto identification = fault ? std::nullopt : find_identification(segment);
  ++taken_;
  if (fault) return std::unexpected(*fault);
  if (!identification) return std::unexpected(FrameFault::kBadIcrc);
  parsed->packet.identification = *identification;
  return parsed;
}

}  // namespace paravane::wire::roce
