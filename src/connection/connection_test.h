// What tests of this room share: a port that records, a listener that records, and the messages of
// a peer.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "connection/communication_manager.h"
#include "connection/connection_events.h"
#include "connection/datagram_port.h"
#include "connection/messages.h"
#include "wire/infiniband/communication.h"
#include "wire/infiniband/mad.h"

namespace paravane::connection::fake {

// One on Ethernet: an IPv4 address.
constexpr wire::infiniband::Gid gid_of(std::uint8_t last) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 192, 168, 1, last};
}

class RecordingPort final : public DatagramPort {
 public:
  struct Sent {
    wire::infiniband::Gid to{};
    wire::infiniband::MadBytes mad{};

    template <typename Message>
    Message as() const {
      return wire::infiniband::part_of<Message>(mad, 0);
    }
    wire::infiniband::MadHeader header() const { return as<wire::infiniband::MadHeader>(); }
    std::uint16_t attribute() const { return header().attribute.get(); }
  };

  bool send(const wire::infiniband::Gid& to,
            std::span<const std::byte, wire::infiniband::kMadBytes> mad) override {
    if (room == 0) return false;
    --room;
    sent.push_back({.to = to});
    std::ranges::copy(mad, sent.back().mad.begin());
    return true;
  }
  std::size_t count(std::uint16_t attribute) const {
    return static_cast<std::size_t>(std::ranges::count(sent, attribute, &Sent::attribute));
  }
  Sent take_last() {
    const Sent last = sent.back();
    sent.pop_back();
    return last;
  }

  std::vector<Sent> sent;
  std::size_t room = 1'000'000;
};

class RecordingConnections final : public ConnectionListener {
 public:
  enum class Kind : std::uint8_t { kReply, kRejected, kTimedOut, kDisconnected };
  struct Event {
    Kind kind{};
    ConnectionId id{};
    Reply reply{.private_data = kNoReplyData};  // its private data is in `data`
    std::uint16_t reason = 0;
    wire::infiniband::AnsweredMessage message{};
    std::vector<std::byte> info{};
    std::vector<std::byte> data{};
    Ending ending{};
  };

  void on_reply(ConnectionId id, const Reply& reply) override {
    Event event{.kind = Kind::kReply, .id = id};
    event.data.assign(reply.private_data.begin(), reply.private_data.end());
    event.reply.remote_qp = reply.remote_qp;
    event.reply.starting_psn = reply.starting_psn;
    event.reply.remote_guid = reply.remote_guid;
    event.reply.responder_resources = reply.responder_resources;
    event.reply.initiator_depth = reply.initiator_depth;
    event.reply.rnr_retry = reply.rnr_retry;
    event.reply.target_ack_delay = reply.target_ack_delay;
    event.reply.has_flow_control = reply.has_flow_control;
    put(event);
  }
  void on_rejected(ConnectionId id, const Rejection& rejection) override {
    Event event{.kind = Kind::kRejected,
                .id = id,
                .reason = rejection.reason,
                .message = rejection.message};
    event.info.assign(rejection.info.begin(), rejection.info.end());
    event.data.assign(rejection.private_data.begin(), rejection.private_data.end());
    put(event);
  }
  void on_timed_out(ConnectionId id) override { put({.kind = Kind::kTimedOut, .id = id}); }
  void on_disconnected(ConnectionId id, Ending ending) override {
    put({.kind = Kind::kDisconnected, .id = id, .ending = ending});
  }
  // The only event since the last call.
  Event take() {
    EXPECT_EQ(events.size(), 1u);
    if (events.empty()) return {};
    const Event event = events.front();
    events.clear();
    return event;
  }

  std::vector<Event> events;
  std::function<void(const Event&)> then;

 private:
  static constexpr std::array<std::byte, wire::infiniband::kReplyDataBytes> kNoReplyData{};
  void put(const Event& event) {
    events.push_back(event);
    if (then) then(event);
  }
};

// A peer's message about a connection that our request named `ours`; the peer calls it `theirs`.
template <typename Message>
Message peers_message(std::uint16_t attribute, std::uint32_t theirs, std::uint32_t ours) {
  Message message;
  message.header.management_class = wire::infiniband::management_class::kCommunication;
  message.header.class_version = wire::infiniband::kCommunicationVersion;
  message.header.method = wire::infiniband::method::kSend;
  message.header.transaction.set(0x7777);
  message.header.attribute.set(attribute);
  message.local_id.set(theirs);
  message.remote_id.set(ours);
  return message;
}

inline wire::infiniband::ConnectionReply reply_of_peer(std::uint32_t theirs, std::uint32_t ours,
                                                       std::uint32_t qp) {
  auto reply = peers_message<wire::infiniband::ConnectionReply>(
      wire::infiniband::communication::kReply, theirs, ours);
  reply.qp.set(qp << 8);
  return reply;
}

inline wire::infiniband::ConnectionReject reject_of_peer(
    std::uint32_t theirs, std::uint32_t ours, std::uint16_t reason,
    wire::infiniband::AnsweredMessage message = wire::infiniband::AnsweredMessage::kRequest) {
  auto reject = peers_message<wire::infiniband::ConnectionReject>(
      wire::infiniband::communication::kReject, theirs, ours);
  reject.reason.set(reason);
  reject.set_answered(message);
  return reject;
}

inline wire::infiniband::DisconnectRequest disconnect_of_peer(std::uint32_t theirs,
                                                              std::uint32_t ours,
                                                              std::uint32_t our_qp) {
  auto request = peers_message<wire::infiniband::DisconnectRequest>(
      wire::infiniband::communication::kDisconnectRequest, theirs, ours);
  request.remote_qp.set(our_qp << 8);
  return request;
}

inline wire::infiniband::ReceiptAcknowledge wait_of_peer(
    std::uint32_t theirs, std::uint32_t ours, std::uint8_t code,
    wire::infiniband::AnsweredMessage message = wire::infiniband::AnsweredMessage::kRequest) {
  auto wait = peers_message<wire::infiniband::ReceiptAcknowledge>(
      wire::infiniband::communication::kReceiptAcknowledge, theirs, ours);
  wait.message = static_cast<std::uint8_t>(static_cast<unsigned>(message) << 6);
  wait.service_timeout = static_cast<std::uint8_t>(code << 3);
  return wait;
}

// A manager with its surroundings, and one peer.
struct ManagerRig {
  static constexpr std::uint32_t kOurQp = 0x1234;
  static constexpr std::uint32_t kTheirQp = 0x4321;
  static constexpr std::uint32_t kTheirId = 0xBEEF;
  static constexpr std::uint64_t kOurGuid = 0x0002'C903'0000'0048;
  static constexpr auto kPeer = gid_of(2);

  using Kind = RecordingConnections::Kind;

  ConnectionId connect(std::uint8_t peer = 2) {
    const auto id = manager.connect({.remote_gid = gid_of(peer),
                                     .local_gid = gid_of(1),
                                     .local_guid = kOurGuid,
                                     .service = 0x1122,
                                     .local_qp = kOurQp},
                                    now);
    return id.value_or(ConnectionId::kNone);
  }
  static std::uint32_t number(ConnectionId id) { return static_cast<std::uint32_t>(id); }
  template <typename Message>
  void hear(const Message& message, const wire::infiniband::Gid& from = kPeer) {
    manager.receive(from, bytes_of(message), now);
  }
  // With a reply.
  ConnectionId replied() {
    const ConnectionId id = connect();
    hear(reply_of_peer(kTheirId, number(id), kTheirQp));
    events.events.clear();
    return id;
  }
  ConnectionId ready() {
    const ConnectionId id = replied();
    manager.ready_to_use(id, now);
    return id;
  }
  void pass(Duration duration) {
    const Instant end = now + duration;
    while (manager.next_deadline() <= end) {
      now = std::max(now, manager.next_deadline());
      manager.advance(now);
    }
    now = end;
  }

  RecordingPort port;
  RecordingConnections events;
  CommunicationManager manager{port, events, 0x5EED};
  Instant now{std::chrono::hours(1)};
};

}  // namespace paravane::connection::fake
