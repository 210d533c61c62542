#include "transport/roce/tap_door.h"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "wire/roce/headers.h"

namespace paravane::transport_roce {
namespace {

// struct virtio_net_hdr of Linux, whose header is no C++, in the byte order of this machine.
struct VnetHeader {
  std::uint8_t flags = 0;
  std::uint8_t gso_type = 0;
  std::uint16_t header_bytes = 0;
  std::uint16_t segment_bytes = 0;  // gso_size
  std::uint16_t checksum_from = 0;
  std::uint16_t checksum_offset = 0;
};
static_assert(sizeof(VnetHeader) == 10);
constexpr std::uint8_t kNeedsChecksum = 1;
constexpr std::uint8_t kGsoNone = 0;
constexpr std::uint8_t kGsoUdp = 5;  // VIRTIO_NET_HDR_GSO_UDP_L4

// Frames with an offload that was not asked for, which are dropped in one call.
constexpr int kMostUnknown = 16;

constexpr std::size_t kMostFrameBytes =
    0xFFFF + sizeof(wire::roce::EthernetHeader) + sizeof(wire::roce::VlanTag);

}  // namespace

TapDoor::TapDoor(UniqueFd tap, bool takes_superframes, std::uint32_t mtu)
    : tap_(std::move(tap)),
      takes_superframes_(takes_superframes),
      header_bytes_(takes_superframes ? sizeof(VnetHeader) : 0),
      mtu_(mtu),
      received_(sizeof(VnetHeader) + kMostFrameBytes) {}

std::optional<FrameDoor::Received> TapDoor::receive() {
  for (int tries = 0; tries < kMostUnknown; ++tries) {
    const ssize_t got = ::read(tap_.get(), received_.data(), received_.size());
    if (got <= static_cast<ssize_t>(header_bytes_)) return std::nullopt;
    counters_.frames_received.add();
    VnetHeader header{};
    std::memcpy(&header, received_.data(), header_bytes_);
    const std::span<const std::byte> frame =
        std::span(received_).first(static_cast<std::size_t>(got)).subspan(header_bytes_);
    if (header.gso_type == kGsoNone) return Received{.bytes = frame};
    if (header.gso_type == kGsoUdp) {
      return Received{.bytes = frame, .segment_bytes = header.segment_bytes};
    }
    counters_.unknown_offloads.add();
  }
  return std::nullopt;
}

// A frame that the kernel will never take is lost, as on a wire.
bool TapDoor::send(const wire::roce::SuperframeWriter::Whole& whole) {
  VnetHeader header{};
  if (whole.segment_bytes != 0) {
    header.flags = kNeedsChecksum;
    header.gso_type = kGsoUdp;
    header.header_bytes = static_cast<std::uint16_t>(whole.udp_at + sizeof(wire::roce::UdpHeader));
    header.segment_bytes = static_cast<std::uint16_t>(whole.segment_bytes);
    header.checksum_from = static_cast<std::uint16_t>(whole.udp_at);
    header.checksum_offset = offsetof(wire::roce::UdpHeader, checksum);
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): iovec knows no const
  auto* bytes = const_cast<std::byte*>(whole.frame.data());
  const std::array parts{iovec{&header, header_bytes_}, iovec{bytes, whole.frame.size()}};
  if (::writev(tap_.get(), parts.data(), parts.size()) >= 0) {
    counters_.frames_sent.add();
    return true;
  }
  if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) return false;
  counters_.frames_lost.add();
  return true;
}

}  // namespace paravane::transport_roce
