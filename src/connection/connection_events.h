// What a connection is asked for with, and what becomes of it: the values between the
// CommunicationManager and the program that connects.
//
// Numbers of queue pairs and PSNs have 24 bits. Times are codes of IBTA, 4.096 us * 2^code, with a
// code of 5 bits. Plain values; spans are valid during the call.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/infiniband/communication.h"
#include "wire/infiniband/datagram.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::connection {

// The local communication ID of a connection. 0: none.
enum class ConnectionId : std::uint32_t { kNone = 0 };

// Over RoCE the two GIDs are IP addresses, of the same IP version. The peer must have the remote
// one, and have a route to the local one from it, or it says "invalid GID" (12).
struct ConnectRequest {
  wire::infiniband::Gid remote_gid{};
  wire::infiniband::Gid local_gid{};
  // Of the channel adapter. With the local queue pair it names this end of a connection: a peer
  // that remembers a connection with both says "stale connection" (10). So a queue pair's number is
  // taken anew for each connection.
  std::uint64_t local_guid = 0;
  std::uint64_t service = 0;
  std::uint32_t local_qp = 0;
  std::uint32_t starting_psn = 0;  // with which the peer begins to send (IBTA 12.7)
  std::uint16_t partition = 0xFFFF;
  wire::infiniband::Mtu mtu = wire::infiniband::Mtu::k1024;
  std::uint8_t responder_resources = 0;  // RDMA reads of the peer that are served here at once
  std::uint8_t initiator_depth = 0;      // RDMA reads that are sent to the peer at once
  std::uint8_t ack_timeout = 18;         // the peer waits so long for an acknowledgement: a code
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t packet_rate = 7;  // 40 Gb/s; a code of IBTA
  bool has_flow_control = true;  // end to end
  bool has_shared_receive_queue = false;
  std::span<const std::byte> private_data{};  // at most wire::infiniband::kRequestDataBytes
};

// From the peer. The depths are what it says; they may be above what was asked for: Linux's SRP
// target says 4 for both, whatever it was told.
struct Reply {
  std::uint32_t remote_qp = 0;
  std::uint32_t starting_psn = 0;        // with which this end begins to send
  std::uint64_t remote_guid = 0;         // of its channel adapter
  std::uint8_t responder_resources = 0;  // RDMA reads of this end that the peer serves at once
  std::uint8_t initiator_depth = 0;      // RDMA reads that the peer sends at once
  std::uint8_t rnr_retry = 0;            // with which this end sends
  std::uint8_t target_ack_delay = 0;     // a code
  bool has_flow_control = false;
  std::span<const std::byte, wire::infiniband::kReplyDataBytes> private_data;
};

struct Rejection {
  std::uint16_t reason = 0;  // of wire::infiniband::reject_reason, or another
  wire::infiniband::AnsweredMessage message{};
  std::span<const std::byte> info{};  // additional information (ARI), as long as the peer says
  std::span<const std::byte, wire::infiniband::kRejectDataBytes> private_data;
};

enum class Ending : std::uint8_t {
  kByPeer,    // it disconnected
  kByUs,      // it agreed, or does not know the connection any more
  kNoAnswer,  // to our disconnecting
};

// Each of the last three ends the connection: nothing more is told of it. All may call the manager.
class ConnectionListener {
 public:
  virtual ~ConnectionListener() = default;
  // ready_to_use() or reject() must follow, within 15 s as Linux waits, or the peer gives up.
  virtual void on_reply(ConnectionId id, const Reply& reply) = 0;
  virtual void on_rejected(ConnectionId id, const Rejection& rejection) = 0;
  // No reply came.
  virtual void on_timed_out(ConnectionId id) = 0;
  virtual void on_disconnected(ConnectionId id, Ending ending) = 0;
};

}  // namespace paravane::connection
