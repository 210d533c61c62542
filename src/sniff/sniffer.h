// Sniffer shows the traffic of one adapter as the packets that a RoCE wire would carry. Between VMs
// the data paths exchange messages, not packets, so the packets are reconstructed. docs/sniff.md
// lists the differences from a real wire. What is exchanged with native endpoints is on a real
// wire, and is shown as it is.
//
// The work per message is bounded. Sniffer creates at most kMaxPackets packets from a message, and
// truncates each packet to the configured length. Packets that do not fit into the ring are dropped
// and counted.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>

#include "capture/packet_ring.h"
#include "sniff/numbering.h"
#include "verbs/observer.h"
#include "verbs/queue_pair.h"
#include "wire/roce/packet.h"

namespace paravane::sniff {

// At most this many packets of a message are shown: the first ones, and the last.
inline constexpr std::uint32_t kMaxPackets = 1024;

// The number of queue pairs whose packet numbers are remembered. Above it, the numbers of all start
// again.
inline constexpr std::size_t kMaxConversations = 4096;

// The longest payload of a packet.
inline constexpr std::size_t kMaxPayloadBytes = 4096;
inline constexpr std::size_t kMaxPacketBytes =
    wire::roce::kMostHeaderBytes + kMaxPayloadBytes + wire::roce::kMostEndBytes;

struct SnifferConfig {
  std::uint32_t interface = 0;             // in the ring
  wire::roce::MacBytes mac{};              // of the adapter
  std::uint32_t keep_bytes = 0;            // of each packet; 0: all
  std::function<std::uint64_t()> clock{};  // nanoseconds since 1970, UTC
};

class Sniffer final : public verbs::Observer {
 public:
  // `ring` outlives us.
  Sniffer(SnifferConfig config, capture::PacketRing& ring)
      : config_(std::move(config)), ring_(ring) {}
  Sniffer(const Sniffer&) = delete;
  Sniffer& operator=(const Sniffer&) = delete;

  void on_request(verbs::QueuePair& qp, verbs::Direction direction,
                  const verbs::RemoteRequest& request, const verbs::ReadBytes& bytes) override;
  void on_answer(verbs::QueuePair& qp, verbs::Direction direction,
                 const verbs::RemoteRequest& request, const verbs::Outcome& outcome,
                 const verbs::ReadBytes& bytes) override;
  void on_datagram(verbs::QueuePair& qp, verbs::Direction direction,
                   const verbs::DatagramSource& source, const verbs::SendRequest& request,
                   std::uint64_t length, const verbs::ReadBytes& bytes) override;
  void on_frame(verbs::Direction direction, std::span<const std::byte> frame,
                std::size_t segment_bytes) override;

 private:
  struct Conversation {
    Numbering out;  // requests of ours, or datagrams
    Numbering in;
    std::uint64_t last_datagram = 0;  // serial
  };
  // What all packets of one message have in common.
  struct Message {
    wire::roce::Packet packet{};
    verbs::Direction direction{};
    verbs::Psn first_psn{};
    std::uint32_t mtu = 0;
    std::uint64_t length = 0;
    std::uint64_t timestamp_ns = 0;
  };

  Conversation& conversation_of(const verbs::QueuePair& qp, const verbs::QpAttributes& attributes);
  void show_request(Message& message, const verbs::RemoteRequest& request,
                    const verbs::ReadBytes& bytes);
  void show_read_response(Message& message, const verbs::ReadBytes& bytes);
  void show_packet(const Message& message, std::uint64_t offset, const verbs::ReadBytes& bytes);
  void show_frame(verbs::Direction direction, std::span<const std::byte> frame);
  void push(verbs::Direction direction, std::uint64_t timestamp_ns, std::size_t original,
            std::span<const std::byte> kept);

  SnifferConfig config_;
  capture::PacketRing& ring_;
  std::unordered_map<std::uint64_t, Conversation>
      conversations_;  // by the lower half of QueuePair::life()
  std::array<std::byte, kMaxPacketBytes> scratch_{};
};

}  // namespace paravane::sniff
