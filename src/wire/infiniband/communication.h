// Defines the messages of InfiniBand's connection manager (CM) for reliable connections: REQ, MRA,
// REJ, REP, RTU, DREQ and DREP (IBTA volume 1, 12.6 and 12.7), and the header that a connection by
// IP addresses has at the beginning of REQ's private data (annex A11).
//
// All are MADs of 256 bytes, with the method Send. Where several values share a word, the comment
// has them from the highest bit down, with their number of bits, and functions take them apart; the
// setters replace the whole word. "Local" is in each message the side that sends it. Numbers are in
// the byte order of the wire. Plain values and pure functions; any thread.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"
#include "wire/infiniband/datagram.h"
#include "wire/infiniband/mad.h"

namespace paravane::wire::infiniband {

inline constexpr std::uint8_t kCommunicationVersion = 2;  // 16.7

// Attributes of the class (12.6).
namespace communication {
inline constexpr std::uint16_t kRequest = 0x0010;             // REQ
inline constexpr std::uint16_t kReceiptAcknowledge = 0x0011;  // MRA
inline constexpr std::uint16_t kReject = 0x0012;              // REJ
inline constexpr std::uint16_t kReply = 0x0013;               // REP
inline constexpr std::uint16_t kReadyToUse = 0x0014;          // RTU
inline constexpr std::uint16_t kDisconnectRequest = 0x0015;   // DREQ
inline constexpr std::uint16_t kDisconnectReply = 0x0016;     // DREP
}  // namespace communication

// A time as its exponent (12.7.3 and others): 4.096 us * 2^code, with a code of 5 bits.
inline constexpr std::uint8_t kMostTimeCode = 31;
constexpr std::chrono::nanoseconds time_of_code(std::uint8_t code) {
  return std::chrono::nanoseconds{4096} * (std::int64_t{1} << (code & kMostTimeCode));
}

inline constexpr std::uint32_t kMost24Bits = 0xFF'FFFF;

// Which message is rejected, or being worked on: the upper two bits of a byte.
enum class AnsweredMessage : std::uint8_t { kRequest = 0, kReply = 1, kOther = 2, kReserved = 3 };

// ---- REQ (12.6.5) ----

struct CommunicationPath {
  Be16 local_lid;  // of an alternate path: 0: there is none
  Be16 remote_lid;
  Gid local_gid{};
  Gid remote_gid{};
  Be32 flow_rate;  // flow label 20, reserved 6, packet rate 6
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t level_local = 0;  // service level 4, subnet local 1, reserved 3
  std::uint8_t ack_timeout = 0;  // local ACK timeout 5, reserved 3

  constexpr std::uint32_t flow_label() const { return flow_rate.get() >> 12; }
  constexpr std::uint8_t packet_rate() const {
    return static_cast<std::uint8_t>(flow_rate.get() & 0x3F);
  }
  constexpr std::uint8_t level() const { return level_local >> 4; }
  constexpr bool is_subnet_local() const { return (level_local & 0x08) != 0; }
  constexpr std::uint8_t ack_timeout_code() const { return ack_timeout >> 3; }
  constexpr void set_flow_rate(std::uint32_t label, std::uint8_t rate) {
    flow_rate.set((label << 12) | (rate & 0x3FU));
  }
  constexpr void set_ack_timeout_code(std::uint8_t code) {
    ack_timeout = static_cast<std::uint8_t>(code << 3);
  }
};
static_assert(sizeof(CommunicationPath) == 44);

struct ConnectionRequest {
  MadHeader header;
  Be32 local_id;
  Be32 reserved1;
  Be64 service;
  Be64 local_guid;  // of the channel adapter
  Be32 reserved2;
  Be32 local_qkey;
  Be32 qp_resources;      // local queue pair 24, responder resources 8
  Be32 eec_depth;         // local EE context 24, initiator depth 8
  Be32 remote_eec_times;  // remote EE context 24, remote CM response timeout 5, transport 2,
                          // end-to-end flow control 1
  Be32 psn_times;         // starting PSN 24, local CM response timeout 5, retry count 3
  Be16 partition;
  std::uint8_t mtu_rnr = 0;      // path MTU 4, RDC exists 1, RNR retry count 3
  std::uint8_t retries_srq = 0;  // most CM retries 4, shared receive queue 1, extended transport 3
  CommunicationPath primary;
  CommunicationPath alternate;
  std::array<std::byte, 92> private_data{};

  constexpr std::uint32_t local_qp() const { return qp_resources.get() >> 8; }
  constexpr std::uint8_t responder_resources() const {
    return static_cast<std::uint8_t>(qp_resources.get());
  }
  constexpr std::uint8_t initiator_depth() const {
    return static_cast<std::uint8_t>(eec_depth.get());
  }
  constexpr std::uint8_t remote_response_code() const {
    return static_cast<std::uint8_t>((remote_eec_times.get() >> 3) & kMostTimeCode);
  }
  // 0: a reliable connection.
  constexpr std::uint8_t transport() const {
    return static_cast<std::uint8_t>((remote_eec_times.get() >> 1) & 3);
  }
  constexpr bool has_flow_control() const { return (remote_eec_times.get() & 1) != 0; }
  constexpr std::uint32_t starting_psn() const { return psn_times.get() >> 8; }
  constexpr std::uint8_t local_response_code() const {
    return static_cast<std::uint8_t>((psn_times.get() >> 3) & kMostTimeCode);
  }
  constexpr std::uint8_t retry_count() const {
    return static_cast<std::uint8_t>(psn_times.get() & 7);
  }
  constexpr std::uint8_t mtu_code() const { return mtu_rnr >> 4; }
  constexpr std::uint8_t rnr_retry() const { return mtu_rnr & 7; }
  constexpr std::uint8_t most_retries() const { return retries_srq >> 4; }
  constexpr bool has_shared_receive_queue() const { return (retries_srq & 0x08) != 0; }

  constexpr void set_qp_resources(std::uint32_t qp, std::uint8_t resources) {
    qp_resources.set((qp << 8) | resources);
  }
  // Of a reliable connection.
  constexpr void set_remote_times(std::uint8_t response_code, bool flow_control) {
    remote_eec_times.set((std::uint32_t{response_code} << 3) | (flow_control ? 1U : 0U));
  }
  constexpr void set_psn_times(std::uint32_t psn, std::uint8_t response_code,
                               std::uint8_t retry_count) {
    psn_times.set((psn << 8) | (std::uint32_t{response_code} << 3) | (retry_count & 7U));
  }
  constexpr void set_mtu_rnr(std::uint8_t mtu, std::uint8_t rnr_retry_count) {
    mtu_rnr = static_cast<std::uint8_t>((mtu << 4) | (rnr_retry_count & 7));
  }
  constexpr void set_retries_srq(std::uint8_t retries, bool shared_receive_queue) {
    retries_srq = static_cast<std::uint8_t>((retries << 4) | (shared_receive_queue ? 0x08 : 0));
  }
};
static_assert(sizeof(ConnectionRequest) == kMadBytes);
inline constexpr std::size_t kRequestDataBytes = sizeof(ConnectionRequest::private_data);

// ---- MRA (12.6.6) ----

struct ReceiptAcknowledge {
  MadHeader header;
  Be32 local_id;
  Be32 remote_id;
  std::uint8_t message = 0;          // message 2, reserved 6
  std::uint8_t service_timeout = 0;  // service timeout 5, reserved 3
  std::array<std::byte, 222> private_data{};

  constexpr AnsweredMessage answered() const { return static_cast<AnsweredMessage>(message >> 6); }
  constexpr std::uint8_t service_code() const { return service_timeout >> 3; }
};
static_assert(sizeof(ReceiptAcknowledge) == kMadBytes);

// ---- REJ (12.6.7) ----

// 12.6.7.2.
namespace reject_reason {
inline constexpr std::uint16_t kNoQueuePair = 1;
inline constexpr std::uint16_t kNoEndToEndContext = 2;
inline constexpr std::uint16_t kNoResources = 3;
inline constexpr std::uint16_t kTimeout = 4;
inline constexpr std::uint16_t kUnsupported = 5;
inline constexpr std::uint16_t kInvalidCommunicationId = 6;
inline constexpr std::uint16_t kInvalidInstance = 7;
inline constexpr std::uint16_t kInvalidServiceId = 8;
inline constexpr std::uint16_t kInvalidTransport = 9;
inline constexpr std::uint16_t kStaleConnection = 10;
inline constexpr std::uint16_t kNoReliableDomain = 11;
inline constexpr std::uint16_t kInvalidGid = 12;
inline constexpr std::uint16_t kInvalidLid = 13;
inline constexpr std::uint16_t kInvalidLevel = 14;
inline constexpr std::uint16_t kInvalidTrafficClass = 15;
inline constexpr std::uint16_t kInvalidHopLimit = 16;
inline constexpr std::uint16_t kInvalidPacketRate = 17;
inline constexpr std::uint16_t kInvalidAlternateGid = 18;
inline constexpr std::uint16_t kInvalidAlternateLid = 19;
inline constexpr std::uint16_t kInvalidAlternateLevel = 20;
inline constexpr std::uint16_t kInvalidAlternateTrafficClass = 21;
inline constexpr std::uint16_t kInvalidAlternateHopLimit = 22;
inline constexpr std::uint16_t kInvalidAlternatePacketRate = 23;
inline constexpr std::uint16_t kPortAndCmRedirect = 24;
inline constexpr std::uint16_t kPortRedirect = 25;
inline constexpr std::uint16_t kInvalidMtu = 26;
inline constexpr std::uint16_t kTooFewResponderResources = 27;
inline constexpr std::uint16_t kConsumer = 28;  // the reason is in the private data
inline constexpr std::uint16_t kInvalidRnrRetry = 29;
inline constexpr std::uint16_t kDuplicateLocalId = 30;
inline constexpr std::uint16_t kInvalidClassVersion = 31;
inline constexpr std::uint16_t kInvalidFlowLabel = 32;
inline constexpr std::uint16_t kInvalidAlternateFlowLabel = 33;
}  // namespace reject_reason

struct ConnectionReject {
  MadHeader header;
  Be32 local_id;
  Be32 remote_id;
  std::uint8_t message = 0;      // message 2, reserved 6
  std::uint8_t info_length = 0;  // length of the additional information 7, reserved 1
  Be16 reason;
  std::array<std::byte, 72> info{};  // additional reject information (ARI)
  std::array<std::byte, 148> private_data{};

  constexpr AnsweredMessage answered() const { return static_cast<AnsweredMessage>(message >> 6); }
  // May be more than there is room for.
  constexpr std::size_t info_bytes() const { return info_length >> 1; }
  constexpr void set_answered(AnsweredMessage what) {
    message = static_cast<std::uint8_t>(static_cast<unsigned>(what) << 6);
  }
  constexpr void set_info_bytes(std::size_t bytes) {
    info_length = static_cast<std::uint8_t>(bytes << 1);
  }
};
static_assert(sizeof(ConnectionReject) == kMadBytes);
inline constexpr std::size_t kRejectInfoBytes = sizeof(ConnectionReject::info);
inline constexpr std::size_t kRejectDataBytes = sizeof(ConnectionReject::private_data);

// ---- REP (12.6.8) ----

struct ConnectionReply {
  MadHeader header;
  Be32 local_id;
  Be32 remote_id;
  Be32 local_qkey;
  Be32 qp;   // local queue pair 24, reserved 8
  Be32 eec;  // local EE context 24, reserved 8
  Be32 psn;  // starting PSN 24, reserved 8
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t delay_failover_flow = 0;  // target ACK delay 5, failover accepted 2,
                                         // end-to-end flow control 1
  std::uint8_t rnr_srq = 0;              // RNR retry count 3, shared receive queue 1, reserved 4
  Be64 local_guid;
  std::array<std::byte, 196> private_data{};

  constexpr std::uint32_t local_qp() const { return qp.get() >> 8; }
  constexpr std::uint32_t starting_psn() const { return psn.get() >> 8; }
  constexpr std::uint8_t ack_delay_code() const { return delay_failover_flow >> 3; }
  constexpr bool has_flow_control() const { return (delay_failover_flow & 1) != 0; }
  constexpr std::uint8_t rnr_retry() const { return rnr_srq >> 5; }
  constexpr bool has_shared_receive_queue() const { return (rnr_srq & 0x10) != 0; }
};
static_assert(sizeof(ConnectionReply) == kMadBytes);
inline constexpr std::size_t kReplyDataBytes = sizeof(ConnectionReply::private_data);

// ---- RTU, DREQ, DREP (12.6.9, 12.6.10, 12.6.11) ----

struct ReadyToUse {
  MadHeader header;
  Be32 local_id;
  Be32 remote_id;
  std::array<std::byte, 224> private_data{};
};
static_assert(sizeof(ReadyToUse) == kMadBytes);

struct DisconnectRequest {
  MadHeader header;
  Be32 local_id;
  Be32 remote_id;
  Be32 remote_qp;  // remote queue pair 24, reserved 8
  std::array<std::byte, 220> private_data{};

  constexpr std::uint32_t remote_qp_number() const { return remote_qp.get() >> 8; }
};
static_assert(sizeof(DisconnectRequest) == kMadBytes);

struct DisconnectReply {
  MadHeader header;
  Be32 local_id;
  Be32 remote_id;
  std::array<std::byte, 224> private_data{};
};
static_assert(sizeof(DisconnectReply) == kMadBytes);

// ---- Connections by IP addresses (annex A11) ----

// The ID of the service at a port of TCP's numbers (A11): a prefix, the number of the IP
// protocol, and the port.
inline constexpr std::uint64_t kTcpPortService = 0x0000'0000'0106'0000;
constexpr std::uint64_t tcp_port_service(std::uint16_t port) {
  return kTcpPortService | port;
}

// The first bytes of REQ's private data for such a service (A11). An IPv4 address has the last
// four bytes of its 16, and the others are zero.
struct IpAddressingHeader {
  std::uint8_t version = 0;     // major 4, minor 4: 0.0
  std::uint8_t ip_version = 0;  // IP version 4, reserved 4
  Be16 source_port;
  std::array<std::uint8_t, 16> source{};
  std::array<std::uint8_t, 16> destination{};

  constexpr std::uint8_t ip() const { return ip_version >> 4; }
  constexpr void set_ip(std::uint8_t ip) { ip_version = static_cast<std::uint8_t>(ip << 4); }
};
static_assert(sizeof(IpAddressingHeader) == 36);

}  // namespace paravane::wire::infiniband
