#include "connection/communication_manager.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/wire_int.h"

namespace paravane::connection {

namespace reject_reason = wire::infiniband::reject_reason;
using wire::infiniband::AnsweredMessage;

CommunicationManager::CommunicationManager(DatagramPort& port, ConnectionListener& listener,
                                           std::uint64_t seed)
    : port_(port), listener_(listener), numbers_(seed) {}

// ---- Orders ----

Result<ConnectionId> CommunicationManager::connect(const ConnectRequest& request, Instant now) {
  if (!is_possible(request))
    return fail(Errc::kInvalidArgument,
                "a request for a connection has a value that does not fit its field");
  if (connections_.size() >= kMostConnections)
    return fail(Errc::kResourceExhausted, "there are " + std::to_string(kMostConnections) +
                                              " connections already, which is the most");
  const std::uint32_t id = new_id();
  Connection& connection = connections_[id];
  connection.peer = request.remote_gid;
  connection.local_guid = request.local_guid;
  connection.local_qp = request.local_qp;
  connection.names = {.local = id, .transaction = numbers_.next_transaction()};
  connection.give_up = now + kMostWait;
  set_message(connection, make_request(request, connection.names));
  counters_.requests_sent.add();
  counters_.most_connections.raise_to(connections_.size());
  send_message(connection, now);
  return ConnectionId{id};
}

std::uint32_t CommunicationManager::new_id() {
  std::uint32_t id = numbers_.next();
  while (connections_.contains(id) || ended_.contains(id)) id = numbers_.next();
  return id;
}

bool CommunicationManager::ready_to_use(ConnectionId id, Instant now) {
  Connection* connection = find(id);
  if (connection == nullptr || connection->state != State::kReplied) return false;
  connection->state = State::kReady;
  connection->give_up = now + kMostWait;
  connection->may_answer = now + kAnswerPause;
  set_message(*connection, make_ready_to_use(connection->names));
  send_message(*connection, now);
  return true;
}

bool CommunicationManager::reject(ConnectionId id, std::uint16_t reason,
                                  std::span<const std::byte> private_data, Instant now) {
  Connection* connection = find(id);
  if (connection == nullptr || connection->state != State::kReplied) return false;
  const std::size_t bytes = std::min(private_data.size(), wire::infiniband::kRejectDataBytes);
  // Sent once: if it is lost, the peer repeats its reply, and is told that there is no connection.
  send(connection->peer,
       bytes_of(make_reject(connection->names, {.message = AnsweredMessage::kReply,
                                                .reason = reason,
                                                .private_data = private_data.first(bytes)})));
  end(*connection, now);
  return true;
}

bool CommunicationManager::disconnect(ConnectionId id, Instant now) {
  Connection* connection = find(id);
  if (connection == nullptr || connection->state == State::kDisconnecting) return false;
  if (connection->state == State::kRequested) {
    forget(id, now);
    return true;
  }
  connection->state = State::kDisconnecting;
  connection->give_up = now + kMostWait;
  connection->names.transaction = numbers_.next_transaction();
  set_message(*connection, make_disconnect_request(connection->names, connection->remote_qp));
  send_message(*connection, now);
  return true;
}

void CommunicationManager::forget(ConnectionId id, Instant now) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  if (connection->state == State::kRequested) send_time_out(*connection);
  end(*connection, now);
}

// ---- Sending ----

template <typename Message>
void CommunicationManager::set_message(Connection& connection, const Message& message) {
  std::ranges::copy(bytes_of(message), connection.message.begin());
  connection.tries = 0;
}

void CommunicationManager::send_message(Connection& connection, Instant now) {
  if (!send(connection.peer, connection.message)) {
    set_timer(connection, now + kNoRoomPause);
    return;
  }
  if (connection.tries > 0) counters_.messages_repeated.add();
  ++connection.tries;
  // RTU has no answer: the peer asks again for it with its REP.
  set_timer(connection, connection.state == State::kReady ? kNever : now + kResponseTime);
}

void CommunicationManager::set_timer(Connection& connection, Instant due) {
  timers_.cancel(std::exchange(connection.timer, TimerId::kNone));
  if (due == kNever) return;
  connection.timer =
      timers_.set(std::min(due, connection.give_up),
                  [this, id = connection.names.local](Instant now) { on_timer(id, now); });
}

bool CommunicationManager::has_failed(const Connection& connection, Instant now) const {
  const unsigned most =
      connection.state == State::kDisconnecting ? kDisconnectTries : kRequestTries;
  return connection.tries >= most || now >= connection.give_up;
}

void CommunicationManager::on_timer(std::uint32_t id, Instant now) {
  Connection& connection = connections_.at(id);
  connection.timer = TimerId::kNone;
  if (!has_failed(connection, now)) return send_message(connection, now);
  switch (connection.state) {
    case State::kRequested:
      counters_.time_outs.add();
      send_time_out(connection);
      end(connection, now);
      return listener_.on_timed_out(ConnectionId{id});
    case State::kDisconnecting: return end_disconnected(connection, Ending::kNoAnswer, now);
    case State::kReplied:
    case State::kReady: return;
  }
}

bool CommunicationManager::send(const Gid& to, Mad mad) {
  const bool is_sent = port_.send(to, mad);
  (is_sent ? counters_.messages_sent : counters_.not_sent).add();
  return is_sent;
}

// A peer that has been at work on the request finds it by the GUID of our adapter and our ID
// (12.6.7.2, reason 4).
void CommunicationManager::send_time_out(const Connection& connection) {
  const Be64 guid(connection.local_guid);
  send(connection.peer,
       bytes_of(make_reject(connection.names, {.message = AnsweredMessage::kOther,
                                               .reason = reject_reason::kTimeout,
                                               .info = std::as_bytes(std::span(&guid, 1))})));
}

void CommunicationManager::end(Connection& connection, Instant now) {
  timers_.cancel(connection.timer);
  const std::uint32_t id = connection.names.local;
  EndedConnections::Ended ended{.peer = connection.peer, .local_qp = connection.local_qp};
  if (connection.state != State::kRequested) ended.remote_id = connection.names.remote;
  ended_.put(id, ended, now);
  connections_.erase(id);
}

void CommunicationManager::end_disconnected(Connection& connection, Ending ending, Instant now) {
  const ConnectionId id{connection.names.local};
  if (ending == Ending::kByPeer) counters_.disconnected_by_peer.add();
  if (ending == Ending::kNoAnswer) counters_.disconnects_unanswered.add();
  end(connection, now);
  listener_.on_disconnected(id, ending);
}

CommunicationManager::Connection* CommunicationManager::find(ConnectionId id) {
  const auto found = connections_.find(static_cast<std::uint32_t>(id));
  return found != connections_.end() ? &found->second : nullptr;
}

}  // namespace paravane::connection
