// A host that is who it says it is, and then says anything: what tests say as it, to a
// host that has one queue pair for it.
//
// Owner thread only.

#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "testing/engine_rig.h"
#include "testing/raw_peer.h"
#include "testing/tcp_rig.h"
#include "transport/tcp/socket_stream.h"

namespace paravane::fake {

inline constexpr std::uint32_t kTheirQpn = 77;
inline constexpr std::uint32_t kLink = 9;
inline constexpr std::uint64_t kHuge = std::uint64_t{1} << 63;
inline constexpr verbs::HostId kPeer{2};

class TcpHostile : public testing::Test {
 protected:
  TcpHostile() {
    attributes_.timeout = 10;  // 4 ms
    attributes_.retry_count = 1;
    EngineRig::bring_up_to(*qp_, verbs::QpState::kReadyToSend, rig_.b().gid(), kTheirQpn,
                           attributes_);
    meet(true);
    peer_->add_hello();
    say();
    peer_->drain();
  }

  // A new channel of the peer's, before anything is said.
  void meet(bool sealed, bool seals_payload = true) {
    std::array<int, 2> sockets{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets.data()),
              0);
    const transport_channel::Seal::Key key{std::byte{3}};
    transport_channel::ChannelConfig config{.host = kPeer, .seals_payload = seals_payload};
    if (sealed) config.send_key = config.receive_key = key;
    ASSERT_TRUE(rig_.tcp(0).open(
        config, std::make_unique<transport_tcp::SocketStream>(UniqueFd(sockets[0])), rig_.now()));
    peer_ = std::make_unique<RawPeer>(
        UniqueFd(sockets[1]),
        sealed ? std::optional<transport_channel::Seal::Key>(key) : std::nullopt, seals_payload);
    known_losses_ = rig_.losses(0).size();
  }
  void turns(int count = 20) {
    for (int i = 0; i < count; ++i) rig_.turn_one(0);
  }
  void say(const RawPeer::Bytes& bytes) {
    ASSERT_TRUE(peer_->send(bytes));
    turns();
  }
  void say() { say(peer_->take()); }

  // Why the channel ended; empty: it has not.
  std::string loss() {
    const auto& all = rig_.losses(0);
    EXPECT_LE(all.size(), known_losses_ + 1) << "named once";
    return all.size() > known_losses_ ? all.back() : std::string();
  }
  bool is_open() { return rig_.tcp(0).channel_to(kPeer) != nullptr; }

  wire::Open open_frame(std::uint32_t link = kLink) {
    wire::Open frame{};
    frame.link.set(link);
    frame.requester_qpn.set(kTheirQpn);
    frame.responder_qpn.set(qp_->qp->number());
    frame.gid_type.set(2);
    frame.requester_gid = rig_.b().gid().raw;
    frame.responder_gid = rig_.a().gid().raw;
    frame.segment.set(0);
    frame.requester_life.set(1);
    frame.responder_life.set(0);
    return frame;
  }
  wire::Request request_frame(verbs::WrOpcode opcode, std::uint64_t serial, std::uint64_t length,
                              const EngineBuffer* buffer = nullptr) {
    wire::Request frame{};
    frame.link.set(kLink);
    frame.serial.set(serial);
    frame.opcode.set(std::to_underlying(opcode));
    frame.solicited.set(0);
    frame.rkey.set(buffer != nullptr ? buffer->key : 0);
    frame.remote_addr.set(buffer != nullptr ? buffer->start : 0);
    frame.length.set(length);
    frame.compare_add.set(0);
    frame.swap.set(0);
    return frame;
  }
  static wire::More more_frame(std::uint64_t offset, std::uint32_t link = kLink) {
    return {.link = Le32(link), .offset = Le64(offset)};
  }

  TcpRig rig_;
  verbs::QpAttributes attributes_ = default_attributes();
  std::unique_ptr<EngineQp> qp_ = rig_.a().queue_pair();
  std::unique_ptr<RawPeer> peer_;
  std::size_t known_losses_ = 0;
};

// What every case that is only dropped must leave: a queue pair that takes a message.
class TcpHostileLinked : public TcpHostile {
 protected:
  TcpHostileLinked() {
    peer_->add(open_frame());
    say();
  }
  void takes_a_message(std::uint64_t serial) {
    qp_->post(receive_request(serial, {}));
    peer_->add(request_frame(verbs::WrOpcode::kSend, serial, 0));
    say();
    ASSERT_GE(qp_->receives.size(), 1u);
    EXPECT_EQ(qp_->receives.all().back().wr_id, serial);
    EXPECT_EQ(loss(), "");
  }
};

}  // namespace paravane::fake
