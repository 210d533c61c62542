// Frames with RoCE packets: what a stranger on the network may send. The first byte says whether
// checksum and CRC are made right, so that what is behind them is reached; the next two are the
// segment size of a superframe; the rest is the frame, which is parsed as one frame and as a
// superframe. Nothing outside of it is read. What is accepted and written again is the same, but
// for what the CRC leaves out, reserved bits and padding; and a superframe's packets are those of
// the frames into which the kernel would split it, or of frames that all have the identification of
// the first, as adapters send them, but not some of these and some of those.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>

#include "fuzz_bytes.h"
#include "promise.h"
#include "testing/roce_frames.h"
#include "wire/roce/frame_network.h"
#include "wire/roce/header_at.h"
#include "wire/roce/icrc.h"
#include "wire/roce/superframe.h"

namespace paravane::wire::roce {
namespace {

using fake::require;

using fake::FrameBytes;

constexpr std::size_t kTypeAt = offsetof(EthernetHeader, type);

void clear(FrameBytes& frame, std::size_t at, std::size_t bytes, std::uint8_t kept = 0) {
  for (std::byte& byte : std::span(frame).subspan(at, bytes)) byte &= std::byte{kept};
}

// Without tag and padding.
FrameBytes plain(std::span<const std::byte> frame, const Envelope& envelope) {
  FrameBytes bytes(frame.begin(), frame.begin() + kTypeAt);
  const auto* type = envelope.network.data() - sizeof(EthernetHeader::type);
  bytes.insert(bytes.end(), type, type + sizeof(EthernetHeader::type));
  bytes.insert(bytes.end(), envelope.network.begin(), envelope.network.end());
  bytes.insert(bytes.end(), envelope.transport.begin(), envelope.transport.end());
  return bytes;
}

// What a writer would have put in the place of what a reader ignores. REQUIRES: `bytes` is plain
// and was accepted as `frame`.
void make_canonical(FrameBytes& bytes, const Frame& frame) {
  const Network network = frame.packet.route.network;
  const std::size_t base = fake::base_at(network);
  if (network == Network::kV2Ipv4) fake::mend_checksum(bytes);
  if (network != Network::kV1) clear(bytes, base - sizeof(UdpHeader::checksum), 2);
  clear(bytes, base + offsetof(BaseHeader, reserved), 1, kFecn | kBecn);
  clear(bytes, base + offsetof(BaseHeader, ack_request), 1, kAckRequest);
  const std::size_t extensions = base + sizeof(BaseHeader);
  const Extensions has = extensions_of(frame.packet.opcode);
  if ((has & kDeth) != 0) clear(bytes, extensions + offsetof(DatagramHeader, reserved), 1);
  if ((has & kCongestion) != 0) clear(bytes, extensions, sizeof(CongestionHeader));
  const std::size_t padding = (4 - frame.payload.size() % 4) % 4;
  clear(bytes, bytes.size() - kIcrcBytes - padding, padding);
  fake::mend_icrc(network, bytes);
}

std::optional<Frame> check_frame(std::span<const std::byte> bytes,
                                 std::optional<FrameFault>& fault) {
  const auto frame = parse_frame(bytes);
  fault = frame ? std::nullopt : std::optional(frame.error());
  if (!frame) return std::nullopt;
  const auto envelope = open_envelope(bytes);
  require(envelope.has_value());
  require(frame->packet.payload_bytes == frame->payload.size());
  require(frame->payload.data() > bytes.data() &&
          frame->payload.data() + frame->payload.size() + kIcrcBytes <=
              bytes.data() + bytes.size());
  FrameBytes theirs = plain(bytes, *envelope);
  make_canonical(theirs, *frame);
  require(fake::frame_of(frame->packet, frame->payload) == theirs);
  return *frame;
}

void check_superframe(std::span<const std::byte> bytes, std::size_t segment_bytes) {
  auto superframe = Superframe::open(bytes, segment_bytes);
  if (!superframe) return;
  const auto envelope = open_envelope(bytes);
  require(envelope.has_value() && envelope->route.network != Network::kV1);
  const FrameBytes whole = plain(bytes, *envelope);
  const std::size_t segments = superframe->segments();
  require(segments >= 1 && segments <= whole.size() / sizeof(BaseHeader));
  std::optional<bool> counts;  // as the packets that were accepted do, once one shows it
  for (std::size_t i = 0; i < segments; ++i) {
    const auto frame = superframe->next();
    require(frame.has_value());
    const auto segment = [&](bool counted) {
      return fake::segment_of(envelope->route.network, whole, segment_bytes, i, counted);
    };
    const FrameBytes counted = segment(true);
    const FrameBytes same = segment(false);
    std::optional<FrameFault> fault;
    const auto alone_same = check_frame(same, fault);
    const auto alone = check_frame(counted, fault);
    if (!frame->has_value()) {
      require(!alone || counts == false);
      require(!alone_same || counts == true);
      require(alone || frame->error() == *fault);
      continue;
    }
    const bool counts_here = alone && counts != false;
    require(counts_here || (alone_same && counts != true));
    const Frame& expected = counts_here ? *alone : *alone_same;
    require((*frame)->packet == expected.packet);
    require(std::ranges::equal((*frame)->payload, expected.payload));
    if (counted != same) counts = counts_here;
  }
  require(!superframe->next().has_value());
}

// Sets the checksum, and the CRC of each packet.
void mend(FrameBytes& frame, std::size_t segment_bytes) {
  constexpr std::size_t kEnd = fake::kNetworkAt + sizeof(Ipv4Header);
  if (frame.size() >= kEnd && header_at<EthernetHeader>(frame).type.get() == kEtherTypeIpv4) {
    fake::mend_checksum(frame);
  }
  const auto envelope = open_envelope(frame);
  if (!envelope) return;
  const Network network = envelope->route.network;
  const FrameBytes whole = plain(frame, *envelope);
  const auto at = static_cast<std::size_t>(envelope->transport.data() - frame.data());
  const std::size_t all = envelope->transport.size();
  const bool splits = network != Network::kV1 && segment_bytes > 0 && segment_bytes < all;
  const std::size_t step = splits ? segment_bytes : all;
  for (std::size_t done = 0; done + sizeof(BaseHeader) + kIcrcBytes <= all; done += step) {
    FrameBytes one = splits ? fake::segment_of(network, whole, step, done / step) : whole;
    if (one.size() < fake::base_at(network) + sizeof(BaseHeader) + kIcrcBytes) break;
    fake::mend_icrc(network, one);
    const auto end = static_cast<std::ptrdiff_t>(at + std::min(done + step, all));
    std::copy(one.end() - kIcrcBytes, one.end(), frame.begin() + end - kIcrcBytes);
  }
}

}  // namespace
}  // namespace paravane::wire::roce

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paravane::wire::roce;
  constexpr std::size_t kBefore = 3;
  if (size < kBefore) return 0;
  paravane::fake::FuzzBytes input(data, kBefore);
  const bool mends = (input.u8() & 1) != 0;
  const std::size_t segment_bytes = input.u16();
  const auto rest = std::as_bytes(std::span(data, size).subspan(kBefore));
  FrameBytes frame(rest.begin(), rest.end());  // its end is where reading must stop
  if (mends) mend(frame, segment_bytes);
  std::optional<FrameFault> fault;
  static_cast<void>(check_frame(frame, fault));
  check_superframe(frame, segment_bytes);
  return 0;
}
