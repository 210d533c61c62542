#include "bench/roce_messages.h"

#include <algorithm>
#include <cstring>

#include "bench/cores.h"
#include "bench/question.h"
#include "wire/roce/frame.h"
#include "wire/roce/superframe.h"

namespace paravane::bench {

using transport_roce::FrameDoor;
using wire::roce::Opcode;
using wire::roce::Packet;
using wire::roce::Superframe;
using wire::roce::SuperframeWriter;

void send_all(FrameDoor& door, SuperframeWriter& writer) {
  if (writer.empty()) return;
  const auto whole = writer.finish();
  while (!door.send(whole)) pause_core();
  writer.clear();
}

Packet RoceMessages::packet(std::uint32_t number) const {
  const bool is_first = number == 0;
  const bool is_last = number + 1 == packets();
  Packet packet;
  if (is_first) {
    packet.opcode = reads ? (is_last ? Opcode::kReadResponseOnly : Opcode::kReadResponseFirst)
                          : (is_last ? Opcode::kWriteOnly : Opcode::kWriteFirst);
  } else {
    packet.opcode = reads ? (is_last ? Opcode::kReadResponseLast : Opcode::kReadResponseMiddle)
                          : (is_last ? Opcode::kWriteLast : Opcode::kWriteMiddle);
  }
  packet.destination_qp = 2;
  packet.payload_bytes = std::min(mtu, bytes - number * mtu);
  packet.length = bytes;
  packet.wants_ack = is_last;
  return packet;
}

RoceFrames::RoceFrames(const RoceMessages& messages, const wire::roce::Route& route,
                       FrameDoor& door)
    : messages_(messages),
      door_(door),
      route_(route),
      payload_(messages.bytes, std::byte{0x5A}),
      writer_(door.most_packets()) {}

void RoceFrames::send_message() {
  for (std::uint32_t number = 0; number < messages_.packets(); ++number, ++packets_) {
    Packet packet = messages_.packet(number);
    packet.route = route_;
    packet.psn = static_cast<std::uint32_t>(packets_ & 0xFF'FFFF);
    if (!writer_.takes(packet)) flush();
    const auto place = writer_.add(packet);
    std::memcpy(place.data(), payload_.data() + std::uint64_t{number} * messages_.mtu,
                place.size());
    writer_.seal();
  }
}

void RoceFrames::flush() {
  send_all(door_, writer_);
}

std::uint64_t read_frame(const FrameDoor::Received& received, std::uint64_t& bytes) {
  std::uint64_t packets = 0;
  const auto take = [&](const std::expected<wire::roce::Frame, wire::roce::FrameFault>& frame) {
    demand(frame.has_value(), "a packet of the blast is damaged");
    bytes += frame->payload.size();
    ++packets;
  };
  if (received.segment_bytes == 0) {
    take(wire::roce::parse_frame(received.bytes));
    return packets;
  }
  auto superframe = Superframe::open(received.bytes, received.segment_bytes);
  demand(superframe.has_value(), "a superframe of the blast is damaged");
  while (const auto frame = superframe->next()) take(*frame);
  return packets;
}

}  // namespace paravane::bench
