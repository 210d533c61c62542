#include "wire/roce/frame_transport.h"

#include <array>
#include <limits>

#include "wire/roce/header_at.h"

namespace paravane::wire::roce {
namespace {

// What opcode.h says of one code, in one look.
struct CodeRule {
  Extensions has = 0;
  std::uint8_t header_bytes = 0;  // with the base header; 0: no packet has this code
  bool has_payload = false;
};

constexpr auto kCodeRules = [] {
  std::array<CodeRule, std::numeric_limits<std::uint8_t>::max() + 1> rules{};
  for (std::size_t code = 0; code < rules.size(); ++code) {
    const auto has = known_extensions(static_cast<std::uint8_t>(code));
    if (!has) continue;
    const std::size_t bytes = sizeof(BaseHeader) + extension_bytes(*has);
    rules[code] = {.has = *has,
                   .header_bytes = static_cast<std::uint8_t>(bytes),
                   .has_payload = carries_payload(static_cast<Opcode>(code))};
  }
  return rules;
}();

// Takes one header after the other.
class HeaderReader {
 public:
  explicit HeaderReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename Header>
  Header take() {
    const auto header = header_at<Header>(rest_);
    rest_ = rest_.subspan(sizeof(Header));
    return header;
  }

 private:
  std::span<const std::byte> rest_;
};

void read_base(const BaseHeader& base, Packet& packet) {
  packet.opcode = static_cast<Opcode>(base.opcode);
  packet.solicited = (base.flags & kSolicitedEvent) != 0;
  packet.migrated = (base.flags & kMigrated) != 0;
  packet.wants_ack = (base.ack_request & kAckRequest) != 0;
  packet.fecn = (base.reserved & kFecn) != 0;
  packet.becn = (base.reserved & kBecn) != 0;
  packet.pkey = base.pkey.get();
  packet.destination_qp = base.destination_qp.get();
  packet.psn = base.psn.get();
}

// REQUIRES: `headers` contains all headers that the packet has.
void read_extensions(Extensions has, std::span<const std::byte> headers, Packet& packet) {
  HeaderReader reader(headers);
  if ((has & kDeth) != 0) {
    const auto header = reader.take<DatagramHeader>();
    packet.qkey = header.qkey.get();
    packet.source_qp = header.source_qp.get();
  }
  if ((has & kReth) != 0) {
    const auto header = reader.take<RdmaHeader>();
    packet.address = header.address.get();
    packet.rkey = header.rkey.get();
    packet.length = header.length.get();
  }
  if ((has & kAtomicEth) != 0) {
    const auto header = reader.take<AtomicHeader>();
    packet.address = header.address.get();
    packet.rkey = header.rkey.get();
    packet.swap_or_add = header.swap_or_add.get();
    packet.compare = header.compare.get();
  }
  if ((has & kAeth) != 0) {
    const auto header = reader.take<AckHeader>();
    packet.syndrome = header.syndrome;
    packet.message_number = header.message_number.get();
  }
  if ((has & kAtomicAckEth) != 0) packet.original = reader.take<Be64>().get();
  if ((has & kImmDt) != 0) packet.immediate = reader.take<decltype(packet.immediate)>();
  if ((has & kIeth) != 0) packet.invalidated_key = reader.take<Be32>().get();
}

}  // namespace

std::optional<FrameFault> read_transport(std::span<const std::byte> transport, Frame& frame) {
  using enum FrameFault;
  if (transport.size() < sizeof(BaseHeader) + kIcrcBytes) return kTooShort;
  const auto base = header_at<BaseHeader>(transport);
  if ((base.flags & kVersionMask) != 0) return kBadVersion;
  const CodeRule& rule = kCodeRules[base.opcode];
  if (rule.header_bytes == 0) return kUnknownOpcode;
  if (transport.size() < rule.header_bytes + kIcrcBytes) return kTooShort;
  if (transport.size() % 4 != 0) return kBadLength;
  const std::size_t padded = transport.size() - rule.header_bytes - kIcrcBytes;
  const std::size_t padding = (base.flags >> kPadShift) & kPadMask;
  if (padding > padded) return kBadPad;
  if (padded > 0 && !rule.has_payload) return kPayloadNotAllowed;
  if (padded - padding > kMaxPayloadBytes) return kPayloadTooLong;

  read_base(base, frame.packet);
  read_extensions(rule.has, transport.subspan(sizeof(BaseHeader)), frame.packet);
  frame.packet.payload_bytes = static_cast<std::uint32_t>(padded - padding);
  frame.payload = transport.subspan(rule.header_bytes, padded - padding);
  return std::nullopt;
}

}  // namespace paravane::wire::roce
