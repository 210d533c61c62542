// A peer of other making, played packet by packet beside a queue pair of ours. Used by the tests of
// RocePeer.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/wire_int.h"
#include "testing/roce_rig.h"

namespace paravane::fake {

inline constexpr std::uint32_t kPeerMtu = 256;
inline constexpr std::uint32_t kFirstPsn = 100;  // in both directions
inline constexpr std::uint32_t kTheirQpn = 77;

class RocePeer : public testing::Test {
 protected:
  RocePeer() {
    attributes_.path_mtu = 1;
    attributes_.send_psn = kFirstPsn;
    attributes_.receive_psn = kFirstPsn;
    attributes_.timeout = 18;  // 1.07 s: longer than any wait of a test
    attributes_.retry_count = 2;
    attributes_.max_dest_reads = 1;
    attributes_.av.dmac = RoceRig::mac(1);
    // What we send reaches the peer that the test plays, and no other.
    rig_.wire().set_weather([this](unsigned, const FrameBytes& frame) {
      sent_.push_back(wire::roce::parse_frame(frame)->packet);
      return std::vector<FrameBytes>();
    });
  }
  void connect() {
    EngineRig::bring_up_to(*qp_, verbs::QpState::kReadyToSend, rig_.b().gid(), kTheirQpn,
                           attributes_);
  }

  void hear(wire::roce::Opcode opcode, std::uint32_t psn, std::uint8_t syndrome,
            std::size_t bytes = 0) {
    wire::roce::Packet packet = of_peer(opcode, psn);
    packet.syndrome = syndrome;
    hear(packet, bytes);
  }
  void hear(const wire::roce::Packet& packet, std::size_t bytes = 0) {
    rig_.wire().inject(0, frame_of(packet, payload_of(bytes, packet.psn)));
    ASSERT_TRUE(rig_.run());
  }
  wire::roce::Packet of_peer(wire::roce::Opcode opcode, std::uint32_t psn) const {
    wire::roce::Packet packet;
    packet.route = {.network = wire::roce::Network::kV2Ipv6,
                    .source_mac = RoceRig::mac(1),
                    .destination_mac = RoceRig::mac(0),
                    .source = peer_gid_.raw,
                    .destination = own_gid_.raw,
                    .hop_limit = 64,
                    .udp_source_port = 50'000};
    packet.opcode = opcode;
    packet.destination_qp = qp_->qp->number();
    packet.psn = psn;
    packet.wants_ack = true;
    packet.migrated = is_adapter_;
    return packet;
  }
  wire::roce::Packet acknowledgement(std::uint32_t psn) const {
    wire::roce::Packet packet = of_peer(wire::roce::Opcode::kAcknowledge, psn);
    packet.syndrome = wire::roce::kAcknowledged;
    return packet;
  }
  wire::roce::Packet read_of_peer(std::uint32_t psn, std::uint64_t offset,
                                  std::uint32_t length) const {
    wire::roce::Packet packet = of_peer(wire::roce::Opcode::kReadRequest, psn);
    packet.address = buffer_.start + offset;
    packet.rkey = buffer_.key;
    packet.length = length;
    return packet;
  }
  wire::roce::Packet write_of_peer(std::uint32_t psn) const {
    wire::roce::Packet packet = of_peer(wire::roce::Opcode::kWriteOnly, psn);
    packet.address = buffer_.start;
    packet.rkey = buffer_.key;
    return packet;
  }
  wire::roce::Packet add_of_peer(std::uint32_t psn) const {
    wire::roce::Packet packet = of_peer(wire::roce::Opcode::kFetchAdd, psn);
    packet.address = word_.start;
    packet.rkey = word_.key;
    packet.swap_or_add = 1;
    return packet;
  }

  // What was sent since the last call.
  std::vector<std::uint32_t> sent_psns() {
    std::vector<std::uint32_t> psns;
    for (const wire::roce::Packet& packet : sent_) psns.push_back(packet.psn);
    sent_.clear();
    return psns;
  }
  std::vector<wire::roce::Opcode> sent_opcodes() {
    std::vector<wire::roce::Opcode> opcodes;
    for (const wire::roce::Packet& packet : sent_) opcodes.push_back(packet.opcode);
    sent_.clear();
    return opcodes;
  }
  std::uint64_t word() {
    const std::vector<std::byte> bytes = rig_.a().read(word_, 0, 8);
    Le64 value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value.get();
  }
  // A send of three packets.
  void post_send(std::uint64_t id) {
    qp_->post(send_request(id, {buffer_.sge(0, 3 * kPeerMtu)}));
    ASSERT_TRUE(rig_.run());
  }
  // A READ of four packets.
  void post_read(std::uint64_t id) {
    qp_->post(read_request(id, {buffer_.sge(0, 4 * kPeerMtu)}, 0x1000, 5));
    ASSERT_TRUE(rig_.run());
  }
  void post_long_read(std::uint64_t id) {
    qp_->post(read_request(id, {buffer_.whole()}, 0x1000, 5));
    ASSERT_TRUE(rig_.run());
  }
  // Of a READ, from one packet up to another.
  void hear_data(std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t psn = from; psn < to; ++psn) {
      hear(wire::roce::Opcode::kReadResponseMiddle, psn, wire::roce::kAcknowledged, kPeerMtu);
    }
  }
  std::vector<std::byte> fetched(std::uint32_t packet) {
    return rig_.a().read(buffer_, packet * kPeerMtu, kPeerMtu);
  }

  RoceRig rig_;
  bool is_adapter_ = false;
  verbs::QpAttributes attributes_ = default_attributes();
  std::unique_ptr<EngineQp> qp_ = rig_.a().queue_pair();
  const verbs::Gid own_gid_ = rig_.a().gid();
  const verbs::Gid peer_gid_ = rig_.b().gid();
  const EngineBuffer buffer_ = rig_.a().buffer(16 * kPeerMtu);
  const EngineBuffer word_ = rig_.a().buffer(8);
  std::vector<wire::roce::Packet> sent_;
};

}  // namespace paravane::fake
