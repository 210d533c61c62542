// What arrives for a CommunicationManager.

#include <algorithm>

#include "connection/communication_manager.h"

namespace paravane::connection {

namespace communication = wire::infiniband::communication;
namespace reject_reason = wire::infiniband::reject_reason;
using wire::infiniband::AnsweredMessage;
using wire::infiniband::ConnectionReject;
using wire::infiniband::ConnectionReply;
using wire::infiniband::ConnectionRequest;
using wire::infiniband::DisconnectReply;
using wire::infiniband::DisconnectRequest;
using wire::infiniband::MadHeader;
using wire::infiniband::part_of;
using wire::infiniband::ReceiptAcknowledge;

namespace {

bool is_communication(const MadHeader& header) {
  return header.base_version == 1 &&
         header.management_class == wire::infiniband::management_class::kCommunication &&
         header.class_version == wire::infiniband::kCommunicationVersion &&
         header.method == wire::infiniband::method::kSend;
}

// What a peer asks for in MRA, and the time that its message takes.
Duration wait_of(std::uint8_t service_code) {
  return wire::infiniband::time_of_code(service_code) + CommunicationManager::kResponseTime;
}

// Neither one of management nor that of multicasts.
bool can_be_connected(std::uint32_t qp) {
  return qp > wire::infiniband::kServiceQueuePair && qp < wire::infiniband::kMulticastQueuePair;
}

}  // namespace

void CommunicationManager::receive(const Gid& from, Mad mad, Instant now) {
  counters_.messages_received.add();
  const auto header = part_of<MadHeader>(mad, 0);
  if (!is_communication(header)) return counters_.bad_headers.add();
  switch (header.attribute.get()) {
    case communication::kRequest:
      return take_request(from, part_of<ConnectionRequest>(mad, 0), now);
    case communication::kReceiptAcknowledge:
      return take_wait(from, part_of<ReceiptAcknowledge>(mad, 0), now);
    case communication::kReject: return take_reject(from, part_of<ConnectionReject>(mad, 0), now);
    case communication::kReply: return take_reply(from, part_of<ConnectionReply>(mad, 0), now);
    case communication::kDisconnectRequest:
      return take_disconnect(from, part_of<DisconnectRequest>(mad, 0), now);
    case communication::kDisconnectReply:
      return take_disconnect_reply(from, part_of<DisconnectReply>(mad, 0), now);
    // RTU is for a side that was asked.
    case communication::kReadyToUse: return counters_.unknown_connections.add();
    default: return counters_.bad_headers.add();
  }
}

CommunicationManager::Connection* CommunicationManager::find_peers(const Gid& from,
                                                                   std::uint32_t id) {
  Connection* connection = find(ConnectionId{id});
  if (connection == nullptr) {
    counters_.unknown_connections.add();
    return nullptr;
  }
  if (connection->peer == from) return connection;
  counters_.foreign_senders.add();
  return nullptr;
}

bool CommunicationManager::may_answer(AnswerAllowance& allowance, Instant now) {
  if (allowance.take(now)) return true;
  counters_.unanswered_floods.add();
  return false;
}

void CommunicationManager::take_request(const Gid& from, const ConnectionRequest& request,
                                        Instant now) {
  counters_.strangers_requests.add();
  if (!may_answer(strangers_, now)) return;
  send(from,
       bytes_of(make_reject(
           {.remote = request.local_id.get(), .transaction = request.header.transaction.get()},
           {.message = AnsweredMessage::kRequest, .reason = reject_reason::kInvalidServiceId})));
}

void CommunicationManager::take_wait(const Gid& from, const ReceiptAcknowledge& wait, Instant now) {
  Connection* connection = find_peers(from, wait.remote_id.get());
  if (connection == nullptr) return;
  if (connection->state != State::kRequested || wait.answered() != AnsweredMessage::kRequest)
    return counters_.wrong_states.add();
  counters_.waits.add();
  set_timer(*connection, now + wait_of(wait.service_code()));
}

void CommunicationManager::take_reject(const Gid& from, const ConnectionReject& reject,
                                       Instant now) {
  Connection* connection = find_peers(from, reject.remote_id.get());
  if (connection == nullptr) return;
  if (connection->state == State::kRequested) {
    // "Other" is what a peer says that remembers a connection of the same name.
    if (reject.answered() != AnsweredMessage::kRequest &&
        reject.answered() != AnsweredMessage::kOther)
      return counters_.wrong_states.add();
  } else if (reject.local_id.get() != connection->names.remote) {
    return counters_.wrong_names.add();
  }
  // It does not know the connection any more.
  if (connection->state == State::kDisconnecting)
    return end_disconnected(*connection, Ending::kByUs, now);
  counters_.rejections.add();
  const ConnectionId id{connection->names.local};
  end(*connection, now);
  const std::size_t info = std::min(reject.info_bytes(), reject.info.size());
  listener_.on_rejected(id, {.reason = reject.reason.get(),
                             .message = reject.answered(),
                             .info = std::span(reject.info).first(info),
                             .private_data = reject.private_data});
}

void CommunicationManager::take_reply(const Gid& from, const ConnectionReply& reply, Instant now) {
  if (find(ConnectionId{reply.remote_id.get()}) == nullptr)
    return take_late_reply(from, reply, now);
  Connection* connection = find_peers(from, reply.remote_id.get());
  if (connection == nullptr) return;
  if (connection->state == State::kRequested)
    take_first_reply(*connection, reply);
  else
    take_reply_again(*connection, reply, now);
}

void CommunicationManager::take_first_reply(Connection& connection, const ConnectionReply& reply) {
  if (!can_be_connected(reply.local_qp())) return counters_.impossible_values.add();
  counters_.replies.add();
  connection.state = State::kReplied;
  connection.names.remote = reply.local_id.get();
  connection.remote_qp = reply.local_qp();
  set_timer(connection, kNever);
  listener_.on_reply(ConnectionId{connection.names.local},
                     {.remote_qp = reply.local_qp(),
                      .starting_psn = reply.starting_psn(),
                      .remote_guid = reply.local_guid.get(),
                      .responder_resources = reply.responder_resources,
                      .initiator_depth = reply.initiator_depth,
                      .rnr_retry = reply.rnr_retry(),
                      .target_ack_delay = reply.ack_delay_code(),
                      .has_flow_control = reply.has_flow_control(),
                      .private_data = reply.private_data});
}

void CommunicationManager::take_reply_again(Connection& connection, const ConnectionReply& reply,
                                            Instant now) {
  if (reply.local_id.get() != connection.names.remote || reply.local_qp() != connection.remote_qp)
    return counters_.wrong_names.add();
  counters_.duplicates.add();
  // Our RTU was lost, or comes late.
  if (connection.state != State::kReady || now < connection.may_answer) return;
  connection.may_answer = now + kAnswerPause;
  send(connection.peer, connection.message);
}

// The peer has a connection that is no more here.
void CommunicationManager::take_late_reply(const Gid& from, const ConnectionReply& reply,
                                           Instant now) {
  const EndedConnections::Ended* ended = ended_.find(reply.remote_id.get(), now);
  if (ended == nullptr || ended->peer != from) return counters_.unknown_connections.add();
  if (ended->remote_id && *ended->remote_id != reply.local_id.get())
    return counters_.wrong_names.add();
  counters_.duplicates.add();
  if (!may_answer(late_, now)) return;
  send(from, bytes_of(make_reject({.local = reply.remote_id.get(),
                                   .remote = reply.local_id.get(),
                                   .transaction = reply.header.transaction.get()},
                                  {.message = AnsweredMessage::kReply,
                                   .reason = reject_reason::kInvalidCommunicationId})));
}

void CommunicationManager::take_disconnect(const Gid& from, const DisconnectRequest& request,
                                           Instant now) {
  if (find(ConnectionId{request.remote_id.get()}) == nullptr)
    return take_late_disconnect(from, request, now);
  Connection* connection = find_peers(from, request.remote_id.get());
  if (connection == nullptr) return;
  if (connection->state == State::kRequested) return counters_.wrong_states.add();
  if (request.local_id.get() != connection->names.remote ||
      request.remote_qp_number() != connection->local_qp)
    return counters_.wrong_names.add();
  send_disconnect_reply(from, request);
  // Both may disconnect at once.
  const bool is_ours = connection->state == State::kDisconnecting;
  end_disconnected(*connection, is_ours ? Ending::kByUs : Ending::kByPeer, now);
}

// Our DREP was lost, or the connection is one of an earlier run: the peer is let go, or it would
// call a new connection of the same queue pair stale.
void CommunicationManager::take_late_disconnect(const Gid& from, const DisconnectRequest& request,
                                                Instant now) {
  const EndedConnections::Ended* ended = ended_.find(request.remote_id.get(), now);
  if (ended == nullptr) {
    counters_.unknown_connections.add();
    if (may_answer(strangers_, now)) send_disconnect_reply(from, request);
    return;
  }
  if (ended->peer != from) return counters_.foreign_senders.add();
  if (ended->remote_id != request.local_id.get() || ended->local_qp != request.remote_qp_number())
    return counters_.wrong_names.add();
  counters_.duplicates.add();
  if (may_answer(late_, now)) send_disconnect_reply(from, request);
}

void CommunicationManager::send_disconnect_reply(const Gid& to, const DisconnectRequest& request) {
  send(to, bytes_of(make_disconnect_reply({.local = request.remote_id.get(),
                                           .remote = request.local_id.get(),
                                           .transaction = request.header.transaction.get()})));
}

void CommunicationManager::take_disconnect_reply(const Gid& from, const DisconnectReply& reply,
                                                 Instant now) {
  Connection* connection = find_peers(from, reply.remote_id.get());
  if (connection == nullptr) return;
  if (connection->state != State::kDisconnecting) return counters_.wrong_states.add();
  if (reply.local_id.get() != connection->names.remote) return counters_.wrong_names.add();
  end_disconnected(*connection, Ending::kByUs, now);
}

}  // namespace paravane::connection
