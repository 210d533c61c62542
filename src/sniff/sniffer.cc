#include "sniff/sniffer.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>

#include "base/wire_int.h"
#include "sniff/route.h"
#include "verbs/connection.h"
#include "wire/roce/superframe.h"

namespace paravane::sniff {

using verbs::Direction;
using verbs::Outcome;
using verbs::ReadBytes;
using verbs::RemoteRequest;
using verbs::WrOpcode;
using wire::roce::Opcode;
using wire::roce::Packet;

namespace {

// What a kind of message is called by the place of a packet in it.
struct Words {
  Opcode first;
  Opcode middle;
  Opcode last;
  Opcode only;

  Opcode at(bool is_first, bool is_last) const {
    if (is_first) return is_last ? only : first;
    return is_last ? last : middle;
  }
};

constexpr Words kSend{Opcode::kSendFirst, Opcode::kSendMiddle, Opcode::kSendLast,
                      Opcode::kSendOnly};
constexpr Words kSendImm{Opcode::kSendFirst, Opcode::kSendMiddle, Opcode::kSendLastImm,
                         Opcode::kSendOnlyImm};
constexpr Words kSendInvalidate{Opcode::kSendFirst, Opcode::kSendMiddle,
                                Opcode::kSendLastInvalidate, Opcode::kSendOnlyInvalidate};
constexpr Words kWrite{Opcode::kWriteFirst, Opcode::kWriteMiddle, Opcode::kWriteLast,
                       Opcode::kWriteOnly};
constexpr Words kWriteImm{Opcode::kWriteFirst, Opcode::kWriteMiddle, Opcode::kWriteLastImm,
                          Opcode::kWriteOnlyImm};
constexpr Words kReadResponse{Opcode::kReadResponseFirst, Opcode::kReadResponseMiddle,
                              Opcode::kReadResponseLast, Opcode::kReadResponseOnly};

constexpr Words always(Opcode opcode) {
  return {opcode, opcode, opcode, opcode};
}

Words words_of(WrOpcode opcode) {
  switch (opcode) {
    case WrOpcode::kRdmaWrite: return kWrite;
    case WrOpcode::kRdmaWriteWithImm: return kWriteImm;
    case WrOpcode::kSend: return kSend;
    case WrOpcode::kSendWithImm: return kSendImm;
    case WrOpcode::kSendWithInvalidate: return kSendInvalidate;
    case WrOpcode::kRdmaRead: return always(Opcode::kReadRequest);
    case WrOpcode::kCompareAndSwap: return always(Opcode::kCompareSwap);
    case WrOpcode::kFetchAndAdd: return always(Opcode::kFetchAdd);
    case WrOpcode::kLocalInvalidate:
    case WrOpcode::kFastRegister: break;  // nothing of these leaves
  }
  return kSend;
}

std::uint8_t nak_of(verbs::WcStatus status) {
  using wire::roce::NakCode;
  if (status == verbs::WcStatus::kRemoteInvalidRequest) {
    return wire::roce::refused(NakCode::kInvalidRequest);
  }
  if (status == verbs::WcStatus::kRemoteAccessError) {
    return wire::roce::refused(NakCode::kRemoteAccessError);
  }
  return wire::roce::refused(NakCode::kRemoteOperationalError);
}

// nullopt: there is no response to that on a wire.
std::optional<std::uint8_t> syndrome_of(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::kDone: return wire::roce::kAcknowledged;
    case Outcome::Kind::kReceiverNotReady: return wire::roce::receiver_not_ready(outcome.rnr_timer);
    case Outcome::Kind::kRefused: return nak_of(outcome.status);
    case Outcome::Kind::kNoAnswer:
    case Outcome::Kind::kAnswerLost:
    case Outcome::Kind::kLocalError:
    case Outcome::Kind::kMemoryAbsent: break;
  }
  return std::nullopt;
}

// Whether the queue pair's messages are shown by on_frame().
bool has_packets(const verbs::QueuePair& qp) {
  const verbs::Path* path = qp.connection().last_path();
  return path != nullptr && path->transport->carrier().has_packets();
}

// The same of a datagram. One for many reaches nothing, and leaves the queue pair's path as it was.
bool has_packets(const verbs::QueuePair& qp, const verbs::SendRequest& request) {
  return qp.connection().dgid() == request.av.dgid && has_packets(qp);
}

// The end of a connection that a packet goes to.
std::uint32_t target_of(const verbs::QueuePair& qp, Direction direction) {
  return direction == Direction::kOut ? qp.dest_qpn() : qp.number();
}

}  // namespace

Sniffer::Conversation& Sniffer::conversation_of(const verbs::QueuePair& qp,
                                                const verbs::QpAttributes& attributes) {
  const auto known = conversations_.find(qp.life().low);
  if (known != conversations_.end()) return known->second;
  if (conversations_.size() >= kMaxConversations) conversations_.clear();
  return conversations_
      .emplace(qp.life().low, Conversation{.out = Numbering(attributes.send_psn),
                                           .in = Numbering(attributes.receive_psn)})
      .first->second;
}

void Sniffer::on_request(verbs::QueuePair& qp, Direction direction, const RemoteRequest& request,
                         const ReadBytes& bytes) {
  if (has_packets(qp)) return;
  const verbs::QpAttributes attributes = qp.query();
  const auto route = connection_route(qp, attributes, direction, config_.mac);
  if (!route) return;
  Conversation& conversation = conversation_of(qp, attributes);
  Numbering& numbering = direction == Direction::kOut ? conversation.out : conversation.in;
  Message message{.direction = direction, .timestamp_ns = config_.clock()};
  message.mtu = mtu_bytes(attributes.path_mtu);
  message.first_psn = numbering.first_of(request.serial, packets_of(request.length, message.mtu));
  message.packet.route = *route;
  message.packet.destination_qp = target_of(qp, direction);
  show_request(message, request, bytes);
}

void Sniffer::show_request(Message& message, const RemoteRequest& request, const ReadBytes& bytes) {
  const bool brings = verbs::brings_bytes(request.opcode);
  message.length = brings ? 0 : request.length;
  Packet& packet = message.packet;
  packet.address = request.remote_addr;
  packet.rkey = request.rkey;
  packet.length = static_cast<std::uint32_t>(request.length);
  const bool swaps = request.opcode == WrOpcode::kCompareAndSwap;
  packet.swap_or_add = swaps ? request.swap : request.compare_add;
  packet.compare = swaps ? request.compare_add : 0;
  packet.immediate = request.imm;
  packet.invalidated_key = request.rkey;

  const Words words = words_of(request.opcode);
  const std::uint32_t packets = packets_of(message.length, message.mtu);
  // What was refused at its beginning has no more than a beginning here.
  const bool is_whole = brings || bytes;
  for (std::uint32_t i = 0; i < packets; ++i) {
    if (i == 1 && !is_whole) return;
    if (i == kMaxPackets - 1 && i < packets - 1) {
      ring_.count_dropped(config_.interface, packets - 1 - i);
      i = packets - 1;
    }
    const bool is_last = i == packets - 1;
    packet.opcode = words.at(i == 0, is_last);
    packet.solicited = request.solicited && is_last && !brings;
    packet.wants_ack = is_last;
    packet.psn = message.first_psn.plus(i).value();
    show_packet(message, std::uint64_t{i} * message.mtu, bytes);
  }
}

void Sniffer::on_answer(verbs::QueuePair& qp, Direction direction, const RemoteRequest& request,
                        const Outcome& outcome, const ReadBytes& bytes) {
  if (has_packets(qp)) return;
  const std::optional<std::uint8_t> syndrome = syndrome_of(outcome);
  const verbs::QpAttributes attributes = qp.query();
  const auto route = connection_route(qp, attributes, direction, config_.mac);
  if (!route || !syndrome) return;
  Conversation& conversation = conversation_of(qp, attributes);
  // An answer that goes out is to a request that came in.
  Numbering& numbering = direction == Direction::kOut ? conversation.in : conversation.out;
  Message message{.direction = direction, .timestamp_ns = config_.clock()};
  message.mtu = mtu_bytes(attributes.path_mtu);
  const std::uint32_t numbers = packets_of(request.length, message.mtu);
  message.first_psn = numbering.first_of(request.serial, numbers);
  const bool is_done = outcome.kind == Outcome::Kind::kDone;
  Packet& packet = message.packet;
  packet.route = *route;
  packet.destination_qp = target_of(qp, direction);
  packet.syndrome = *syndrome;
  packet.message_number = is_done ? numbering.count_done(request.serial) : numbering.done();
  packet.psn = message.first_psn.value();
  packet.opcode = Opcode::kAcknowledge;
  if (is_done && request.opcode == WrOpcode::kRdmaRead) {
    message.length = request.length;
    return show_read_response(message, bytes);
  }
  if (is_done && verbs::is_atomic(request.opcode)) {
    Le64 original;
    if (!bytes || !bytes(0, std::as_writable_bytes(std::span(&original, 1)))) return;
    packet.opcode = Opcode::kAtomicAcknowledge;
    packet.original = original.get();
  } else if (is_done) {
    packet.psn = message.first_psn.plus(numbers - 1).value();
  }
  show_packet(message, 0, {});
}

void Sniffer::show_read_response(Message& message, const ReadBytes& bytes) {
  const std::uint32_t packets = packets_of(message.length, message.mtu);
  for (std::uint32_t i = 0; i < packets; ++i) {
    if (i == kMaxPackets - 1 && i < packets - 1) {
      ring_.count_dropped(config_.interface, packets - 1 - i);
      i = packets - 1;
    }
    message.packet.opcode = kReadResponse.at(i == 0, i == packets - 1);
    message.packet.psn = message.first_psn.plus(i).value();
    show_packet(message, std::uint64_t{i} * message.mtu, bytes);
  }
}

void Sniffer::on_datagram(verbs::QueuePair& qp, Direction direction,
                          const verbs::DatagramSource& source, const verbs::SendRequest& request,
                          std::uint64_t length, const ReadBytes& bytes) {
  const bool came_in_packet = source.header.has_value();
  const bool is_ours = direction == Direction::kOut;
  if (length > kMaxPayloadBytes || came_in_packet || (is_ours && has_packets(qp, request))) return;
  Conversation& conversation = conversation_of(qp, qp.query());
  if (is_ours) {
    // A way that was full: the same one again, which has not left before.
    if (request.serial == conversation.last_datagram) return;
    conversation.last_datagram = request.serial;
  }
  Message message{.direction = direction,
                  .mtu = kMaxPayloadBytes,
                  .length = length,
                  .timestamp_ns = config_.clock()};
  Packet& packet = message.packet;
  packet.route = datagram_route(source, request, direction, config_.mac);
  const bool with_imm = request.opcode == WrOpcode::kSendWithImm;
  packet.opcode = with_imm ? Opcode::kDatagramOnlyImm : Opcode::kDatagramOnly;
  packet.solicited = request.solicited;
  packet.destination_qp = request.remote_qpn;
  packet.psn = (is_ours ? conversation.out : conversation.in).first_of(0, 1).value();
  packet.qkey = source.qkey;
  packet.source_qp = source.qpn;
  packet.immediate = request.imm;
  show_packet(message, 0, bytes);
}

// The packet that carries the message's bytes from `offset` on.
void Sniffer::show_packet(const Message& message, std::uint64_t offset, const ReadBytes& bytes) {
  Packet packet = message.packet;
  packet.payload_bytes =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(message.mtu, message.length - offset));
  const std::size_t original = wire::roce::packet_bytes(packet);
  const std::size_t keep =
      config_.keep_bytes == 0 ? original : std::min<std::size_t>(config_.keep_bytes, original);
  // Also keeps a slow reader from costing the VM more than that.
  if (!ring_.has_room(keep)) return ring_.count_dropped(config_.interface, 1);
  const auto frame = std::span(scratch_);
  const std::size_t headers = wire::roce::write_headers(packet, frame);
  std::size_t kept = std::min(keep, headers);
  if (keep > headers) {
    const std::size_t payload = std::min<std::size_t>(keep - headers, packet.payload_bytes);
    if (payload == 0 || (bytes && bytes(offset, frame.subspan(headers, payload)))) {
      kept = headers + payload;
      if (payload == packet.payload_bytes) {
        wire::roce::write_end(packet, frame.first(original));
        kept = keep;
      }
    }
  }
  push(message.direction, message.timestamp_ns, original, frame.first(kept));
}

// A frame with several packets is shown as the kernel splits it.
void Sniffer::on_frame(Direction direction, std::span<const std::byte> frame,
                       std::size_t segment_bytes) {
  if (segment_bytes == 0) return show_frame(direction, frame);
  auto superframe = wire::roce::Superframe::open(frame, segment_bytes);
  if (!superframe) return show_frame(direction, frame);
  if (superframe->segments() > wire::roce::Superframe::kMostOfLinux) {
    return ring_.count_dropped(config_.interface, 1);  // refused as a whole, too
  }
  while (const auto one = superframe->next()) {
    if (!*one) {
      ring_.count_dropped(config_.interface, 1);
      continue;
    }
    const Packet& packet = (*one)->packet;
    const std::size_t headers = wire::roce::write_headers(packet, scratch_);
    std::ranges::copy((*one)->payload, std::span(scratch_).subspan(headers).begin());
    const auto whole = std::span(scratch_).first(wire::roce::packet_bytes(packet));
    wire::roce::write_end(packet, whole);
    show_frame(direction, whole);
  }
}

void Sniffer::show_frame(Direction direction, std::span<const std::byte> frame) {
  const std::size_t keep = config_.keep_bytes == 0
                               ? frame.size()
                               : std::min<std::size_t>(config_.keep_bytes, frame.size());
  if (!ring_.has_room(keep)) return ring_.count_dropped(config_.interface, 1);
  push(direction, config_.clock(), frame.size(), frame.first(keep));
}

void Sniffer::push(Direction direction, std::uint64_t timestamp_ns, std::size_t original,
                   std::span<const std::byte> kept) {
  ring_.push({.timestamp_ns = timestamp_ns,
              .interface = config_.interface,
              .original_bytes = static_cast<std::uint32_t>(original),
              .kept_bytes = static_cast<std::uint32_t>(kept.size()),
              .is_outbound = direction == Direction::kOut},
             kept);
}

}  // namespace paravane::sniff
