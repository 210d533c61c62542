#include "connection/messages.h"

#include <algorithm>
#include <cassert>

#include "wire/infiniband/local_route.h"

namespace paravane::connection {

namespace communication = wire::infiniband::communication;
using wire::infiniband::ConnectionReject;
using wire::infiniband::ConnectionRequest;
using wire::infiniband::DisconnectReply;
using wire::infiniband::DisconnectRequest;
using wire::infiniband::kMost24Bits;
using wire::infiniband::kMostTimeCode;
using wire::infiniband::MadHeader;
using wire::infiniband::ReadyToUse;

namespace {

MadHeader message_header(std::uint16_t attribute, std::uint64_t transaction) {
  MadHeader header;
  header.management_class = wire::infiniband::management_class::kCommunication;
  header.class_version = wire::infiniband::kCommunicationVersion;
  header.method = wire::infiniband::method::kSend;
  header.transaction.set(transaction);
  header.attribute.set(attribute);
  return header;
}

// One whose body begins with both IDs.
template <typename Message>
Message named_message(std::uint16_t attribute, const Names& names) {
  Message message;
  message.header = message_header(attribute, names.transaction);
  message.local_id.set(names.local);
  message.remote_id.set(names.remote);
  return message;
}

}  // namespace

bool is_possible(const ConnectRequest& request) {
  const auto mtu = static_cast<std::uint8_t>(request.mtu);
  return request.local_qp > wire::infiniband::kServiceQueuePair &&
         request.local_qp < wire::infiniband::kMulticastQueuePair &&
         request.starting_psn <= kMost24Bits && mtu >= 1 && mtu <= 5 &&
         request.ack_timeout <= kMostTimeCode && request.retry_count <= 7 &&
         request.rnr_retry <= 7 && request.packet_rate <= 0x3F &&
         request.private_data.size() <= wire::infiniband::kRequestDataBytes;
}

ConnectionRequest make_request(const ConnectRequest& request, const Names& names) {
  assert(is_possible(request));
  ConnectionRequest message;
  message.header = message_header(communication::kRequest, names.transaction);
  message.local_id.set(names.local);
  message.service.set(request.service);
  message.local_guid.set(request.local_guid);
  message.set_qp_resources(request.local_qp, request.responder_resources);
  message.eec_depth.set(request.initiator_depth);
  message.set_remote_times(kResponseTimeCode, request.has_flow_control);
  message.set_psn_times(request.starting_psn, kResponseTimeCode, request.retry_count);
  message.partition.set(request.partition);
  message.set_mtu_rnr(static_cast<std::uint8_t>(request.mtu), request.rnr_retry);
  message.set_retries_srq(kMostRetries, request.has_shared_receive_queue);
  message.primary.local_lid.set(wire::infiniband::kPermissiveLid);
  message.primary.remote_lid.set(wire::infiniband::kPermissiveLid);
  message.primary.local_gid = request.local_gid;
  message.primary.remote_gid = request.remote_gid;
  message.primary.set_flow_rate(0, request.packet_rate);
  message.primary.hop_limit = kHopLimit;
  message.primary.set_ack_timeout_code(request.ack_timeout);
  std::ranges::copy(request.private_data, message.private_data.begin());
  return message;
}

ReadyToUse make_ready_to_use(const Names& names) {
  return named_message<ReadyToUse>(communication::kReadyToUse, names);
}

DisconnectRequest make_disconnect_request(const Names& names, std::uint32_t remote_qp) {
  auto message = named_message<DisconnectRequest>(communication::kDisconnectRequest, names);
  message.remote_qp.set(remote_qp << 8);
  return message;
}

DisconnectReply make_disconnect_reply(const Names& names) {
  return named_message<DisconnectReply>(communication::kDisconnectReply, names);
}

ConnectionReject make_reject(const Names& names, const RejectWords& words) {
  assert(words.info.size() <= wire::infiniband::kRejectInfoBytes);
  assert(words.private_data.size() <= wire::infiniband::kRejectDataBytes);
  auto message = named_message<ConnectionReject>(communication::kReject, names);
  message.set_answered(words.message);
  message.reason.set(words.reason);
  message.set_info_bytes(words.info.size());
  std::ranges::copy(words.info, message.info.begin());
  std::ranges::copy(words.private_data, message.private_data.begin());
  return message;
}

}  // namespace paravane::connection
