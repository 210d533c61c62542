// CommunicationManager: makes and ends reliable connections with other nodes, by InfiniBand's
// messages of connection management (IBTA volume 1, chapter 12). This is the side that asks, the
// active one; a node that asks for a connection with us is told that no such service is here.
//
// A connection goes: connect() sends REQ; on_reply() tells of the peer's REP; ready_to_use() sends
// RTU, once the caller's queue pair can receive; then disconnect() or the peer ends it. A peer's
// MRA lengthens the wait for REP, at most to kMostWait in all.
//
// The owner hands in what arrives at queue pair 1 in this class, calls advance() when
// next_deadline() has come, and may have one listener for all connections. A message counts only if
// it names the connection by its ID, comes from the GID that was asked, and, once known, names the
// peer's ID too (12.9). Other messages are counted and passed over, but a request is rejected, and
// a disconnection of a connection that is unknown here is agreed to, as Linux does.
//
// Bounded: the connections, those remembered after their end, what advance() sends, and what is
// sent for a message that arrives (at most one, and of messages that no connection expects only so
// many in a second). The thread of its owner only; it has no clock. Throws std::bad_alloc where
// memory lacks.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include "base/instant.h"
#include "base/result.h"
#include "base/timers.h"
#include "connection/answer_allowance.h"
#include "connection/communication_counters.h"
#include "connection/connection_events.h"
#include "connection/datagram_port.h"
#include "connection/ended_connections.h"
#include "connection/messages.h"
#include "connection/scrambled_numbers.h"
#include "wire/infiniband/communication.h"
#include "wire/infiniband/mad.h"

namespace paravane::connection {

class CommunicationManager {
 public:
  static constexpr std::size_t kMostConnections = 1024;
  static constexpr unsigned kRequestTries = 15;
  static constexpr unsigned kDisconnectTries = 5;
  // Between tries: an answer takes no longer.
  static constexpr Duration kResponseTime = wire::infiniband::time_of_code(kResponseTimeCode);
  // For REP, from the first REQ on, whatever a peer says and however full the port is.
  static constexpr Duration kMostWait = std::chrono::seconds(30);
  // After the port had no room.
  static constexpr Duration kNoRoomPause = std::chrono::milliseconds(20);
  // Between two answers to a peer that says the same again.
  static constexpr Duration kAnswerPause = std::chrono::milliseconds(20);
  static constexpr std::size_t kMostSentByAdvance = 64;
  // In a second: to strangers, and to peers of connections that have ended.
  static constexpr unsigned kMostAnswersToStrangers = 32;
  static constexpr unsigned kMostAnswersToLate = 128;

  using Gid = wire::infiniband::Gid;
  using Mad = std::span<const std::byte, wire::infiniband::kMadBytes>;

  // Both outlive us. `seed` is random, and another one in each run.
  CommunicationManager(DatagramPort& port, ConnectionListener& listener, std::uint64_t seed);
  CommunicationManager(const CommunicationManager&) = delete;
  CommunicationManager& operator=(const CommunicationManager&) = delete;

  // Fails if a value does not fit its field, or there are too many connections.
  Result<ConnectionId> connect(const ConnectRequest& request, Instant now);

  // After on_reply(): sends RTU, and again each time that the peer repeats its REP. false: the
  // connection has ended meanwhile, or has no reply.
  bool ready_to_use(ConnectionId id, Instant now);
  // After on_reply(): the reply is not good enough. The connection has ended. What does not fit
  // into kRejectDataBytes is cut off. false: as above.
  bool reject(ConnectionId id, std::uint16_t reason, std::span<const std::byte> private_data,
              Instant now);
  // Of a connection with a reply: on_disconnected() follows. One without ends at once, silently, as
  // with forget(). false: there is no such connection, or it is being disconnected.
  bool disconnect(ConnectionId id, Instant now);
  // It has ended, without an event. A peer that was asked and has not replied is told; others
  // notice it by their queue pair, or when they ask.
  void forget(ConnectionId id, Instant now);

  // `from`: the GID of the port that sent the datagram.
  void receive(const Gid& from, Mad mad, Instant now);
  Instant next_deadline() { return timers_.next_deadline(); }
  // Sends at most kMostSentByAdvance messages; the next deadline may have come already.
  void advance(Instant now) { timers_.run_due(now, kMostSentByAdvance); }

  std::size_t size() const { return connections_.size(); }
  std::size_t remembered() const { return ended_.size(); }
  const CommunicationCounters& counters() const { return counters_; }

 private:
  enum class State : std::uint8_t {
    kRequested,      // REQ was sent
    kReplied,        // REP came; the caller decides
    kReady,          // RTU was sent
    kDisconnecting,  // DREQ was sent
  };
  struct Connection {
    State state = State::kRequested;
    Gid peer{};
    std::uint64_t local_guid = 0;
    std::uint32_t local_qp = 0;
    std::uint32_t remote_qp = 0;
    Names names{};
    wire::infiniband::MadBytes message{};  // the last one of ours, to be sent again
    unsigned tries = 0;                    // of it
    Instant give_up = kNever;              // though tries are left
    Instant may_answer = Instant::min();
    TimerId timer = TimerId::kNone;
  };
  using Connections = std::unordered_map<std::uint32_t, Connection>;

  std::uint32_t new_id();
  Connection* find(ConnectionId id);
  // Of a message, if its sender is the peer.
  Connection* find_peers(const Gid& from, std::uint32_t id);

  template <typename Message>
  void set_message(Connection& connection, const Message& message);
  // Sends the message, and sets the timer for the next try.
  void send_message(Connection& connection, Instant now);
  void set_timer(Connection& connection, Instant due);
  void on_timer(std::uint32_t id, Instant now);
  bool has_failed(const Connection& connection, Instant now) const;
  bool send(const Gid& to, Mad mad);
  void send_time_out(const Connection& connection);
  // The connection is no more; the reference, too.
  void end(Connection& connection, Instant now);
  void end_disconnected(Connection& connection, Ending ending, Instant now);

  // What arrives.
  void take_request(const Gid& from, const wire::infiniband::ConnectionRequest& request,
                    Instant now);
  void take_wait(const Gid& from, const wire::infiniband::ReceiptAcknowledge& wait, Instant now);
  void take_reject(const Gid& from, const wire::infiniband::ConnectionReject& reject, Instant now);
  void take_reply(const Gid& from, const wire::infiniband::ConnectionReply& reply, Instant now);
  void take_first_reply(Connection& connection, const wire::infiniband::ConnectionReply& reply);
  void take_reply_again(Connection& connection, const wire::infiniband::ConnectionReply& reply,
                        Instant now);
  void take_disconnect(const Gid& from, const wire::infiniband::DisconnectRequest& request,
                       Instant now);
  void take_disconnect_reply(const Gid& from, const wire::infiniband::DisconnectReply& reply,
                             Instant now);
  // Of a connection that is not there.
  void take_late_reply(const Gid& from, const wire::infiniband::ConnectionReply& reply,
                       Instant now);
  void take_late_disconnect(const Gid& from, const wire::infiniband::DisconnectRequest& request,
                            Instant now);
  void send_disconnect_reply(const Gid& to, const wire::infiniband::DisconnectRequest& request);
  bool may_answer(AnswerAllowance& allowance, Instant now);

  DatagramPort& port_;
  ConnectionListener& listener_;
  ScrambledNumbers numbers_;
  CommunicationCounters counters_;
  Connections connections_;  // by local ID
  EndedConnections ended_;
  AnswerAllowance strangers_{kMostAnswersToStrangers};
  AnswerAllowance late_{kMostAnswersToLate};
  TimerQueue timers_;
};

}  // namespace paravane::connection
