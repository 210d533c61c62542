// Channel is the connection to the daemon of another host, over a Stream. All queue pairs that have
// peers on that host share it.
//
// To send, the channel composes a record when the stream can accept one. A link is one direction of
// a queue pair's connection. The adapters take turns, and the links of an adapter also take turns
// (turns.h). A record contains the responses and requests that fit into its block, followed by one
// piece of a long message. The size of the piece is what the wire carries in a short time (pace.h).
// A long message therefore does not delay other messages, and one guest does not delay other
// guests. Payload is read from guest memory while it is sent.
//
// To receive, the channel knows before each read how many bytes follow, so payload goes from the
// socket directly to its destination in guest memory. Only the last cache line of a message waits
// in a host buffer, until the rest of the message has arrived and has been verified.
//
// The channel never stops reading. Pending responses are kept in the links and are bounded, so two
// hosts that both send cannot deadlock. All received data is untrusted. If a peer violates the
// protocol, the only consequence is that the channel is closed.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/instant.h"
#include "base/line.h"
#include "guestmem/extent.h"
#include "transport/channel/channel_counters.h"
#include "transport/channel/direct.h"
#include "transport/channel/lanes.h"
#include "transport/channel/link_lives.h"
#include "transport/channel/outbound_link.h"
#include "transport/channel/outbox.h"
#include "transport/channel/pace.h"
#include "transport/channel/seal.h"
#include "transport/channel/stream.h"
#include "transport/channel/turns.h"
#include "verbs/fabric_port.h"
#include "verbs/transport.h"
#include "wire/block_reader.h"
#include "wire/frames.h"
#include "wire/record.h"
#include "wire/trunk_frames.h"

namespace paravane::transport_channel {

class InboundLink;
class OutboundDatagram;

// Finds the queue pairs that a peer refers to. Implemented by the transport.
class LinkFinder {
 public:
  virtual ~LinkFinder() = default;
  // The responder to which a peer on `host` may open a link; nullptr: no such responder exists.
  virtual InboundLink* find_responder(const wire::Open& frame, verbs::HostId host) = 0;
  virtual void on_datagram(const wire::Datagram& frame, std::span<const std::byte> payload,
                           verbs::HostId host) = 0;
  // Begins a datagram whose payload of `bytes` follows. nullopt: the datagram is dropped.
  virtual std::optional<ArrivingDatagram> begin_datagram(const wire::Datagram& frame,
                                                         std::uint64_t bytes,
                                                         verbs::HostId host) = 0;
  // Finds the memory for bytes [from, from+length) of the datagram at this moment. False: there is
  // none.
  virtual bool place_datagram(const ArrivingDatagram& datagram, std::uint64_t from,
                              std::uint64_t length, ExtentList& out) = 0;
  virtual void end_datagram(const ArrivingDatagram& datagram, bool is_whole,
                            verbs::HostId host) = 0;
  // The peer arranges a trunk.
  virtual void on_trunk_offer(const wire::TrunkOffer& frame, verbs::HostId host) = 0;
  virtual void on_trunk_ready(const wire::TrunkReady& frame, verbs::HostId host) = 0;
  // The peer asks to be waited for. Returns for how long it is.
  virtual Duration on_hold(verbs::HostId host, Duration wanted) = 0;
};

struct ChannelConfig {
  verbs::HostId host{};
  std::uint64_t number = 0;       // what its maker calls it
  std::uint64_t incarnation = 0;  // of our daemon; random, not 0
  // For a channel without encryption: the keys of both directions. Unset: the stream protects the
  // data.
  std::optional<Seal::Key> send_key{};
  std::optional<Seal::Key> receive_key{};
  // With keys: whether payload that follows a block also has an authentication code. Otherwise it
  // has a digest, which costs less and detects damage, but not an attacker. The value is the same
  // on both sides.
  bool seals_payload = true;
  // False: as in earlier releases, which have no lives of 128 bits.
  bool long_lives = true;
  // False: as in earlier releases, which know no Hold.
  bool holds = true;
  // Whether trunks are arranged in this channel; and whether this host leads there
  // (wire/trunk_frames.h), because it has dialed the channel.
  bool arranges_trunks = false;
  bool leads = false;
  Duration ping_after = std::chrono::milliseconds(500);
  Duration dead_after = std::chrono::seconds(3);
  // The channel also ends if the host sends data, but does not respond to a request that it has
  // read.
  Duration answer_within = std::chrono::seconds(30);
};

class Channel {
 public:
  // `stream` is connected, and the peer on it is known to be `config.host`.
  // Errors: kIo (the cryptographic library).
  static Result<std::unique_ptr<Channel>> create(const ChannelConfig& config,
                                                 std::unique_ptr<Stream> stream, LinkFinder& finder,
                                                 ExtentList& scratch, Instant now);
  // REQUIRES: lose() was called.
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // ---- For the transport ---- Receives and sends what is available, within `budget`.
  void poll(Instant now, verbs::Budget& budget);
  bool has_work() const;
  // The socket has become readable or, if `writable`, can accept data again.
  void on_ready(bool writable);
  bool wants_writable() const { return write_blocked_ && !stream_->has_one_event(); }
  int fd() const { return stream_->fd(); }
  // keep_alive() checks whether the peer is silent for too long; next_look() is the time of the
  // next check.
  void keep_alive(Instant now);
  Instant next_look() const;

  bool is_open() const { return peer_incarnation_ != 0 && !broken(); }
  bool broken() const { return !problem_.empty(); }
  const std::string& problem() const { return problem_; }
  void break_off(std::string reason);
  // Ends all links and returns their requests to the requesters. `unanswered` is called for each
  // queue pair that had a request in progress.
  // `outcome` is theirs.
  void lose(Instant now, const verbs::Outcome& outcome,
            const std::function<void(verbs::QueuePair&)>& unanswered);

  // Why long messages of an adapter are copied; empty: they are not, or there were none.
  std::string_view why_copied(verbs::AdapterId adapter) const;

  // The adapter is gone: discards the datagram that is arriving for it, if any, and what is
  // registered of its memory.
  void forget(verbs::AdapterId adapter);
  // Copies a datagram, to send it later. False: there is no room at the moment.
  bool send_datagram(const wire::Datagram& frame, const ExtentList& payload);
  bool send_datagram(const wire::Datagram& frame, std::span<const std::byte> payload);

  // ---- Trunks ---- Whether the peer arranges trunks. The other functions REQUIRE that it does. A
  // frame replaces an unsent frame of the same kind.
  bool peer_arranges_trunks() const { return config_.arranges_trunks && peer_knows_trunks_; }
  void send_trunk_offer(const wire::TrunkOffer& frame) { trunk_offer_due_ = frame; }
  void send_trunk_ready(const wire::TrunkReady& frame) { trunk_ready_due_ = frame; }

  // ---- Holds ---- Whether the peer can be asked to wait for this host. send_hold() REQUIRES that.
  // It replaces what was not sent yet.
  bool peer_can_hold() const { return config_.holds && peer_knows_holds_; }
  void send_hold(Duration time);
  // The peer's answer to the last send_hold(): for how long it waits; zero: it does not. nullopt:
  // there is none yet.
  std::optional<Duration> held_for() const { return held_for_; }

  const ChannelConfig& config() const { return config_; }
  const ChannelCounters& counters() const { return counters_; }
  verbs::HostId host() const { return config_.host; }
  std::uint64_t number() const { return config_.number; }
  Instant last_heard() const { return last_heard_; }

  // ---- For the links ----
  std::uint64_t peer_incarnation() const { return peer_incarnation_; }
  // Whether both hosts know lives of 128 bits, which are the same on every path. Otherwise a life
  // is known to one daemon, in its upper half the incarnation.
  bool has_long_lives() const { return config_.long_lives && peer_has_long_lives_; }
  // The life of `qp` as the peer knows it.
  verbs::Life life_of(const verbs::QueuePair& qp) const;
  // Whether the path leads to the peer's host, over this channel or another one: each host chooses
  // the channel for its own requests.
  bool is_way_of(const verbs::Path& path) const { return path.host == config_.host; }
  std::uint32_t add(OutboundLink& link);
  void forget(OutboundLink& link, std::uint32_t number);
  void forget(InboundLink& link, std::uint32_t number);
  void forget(const OutboundDatagram& datagram);
  // The links that have something to send, within a frame or, if `is_long`, after the block.
  Turns<OutboundLink>& requests(bool is_long) { return is_long ? long_requests_ : requests_; }
  Turns<InboundLink>& answers(bool is_long) { return is_long ? long_answers_ : answers_; }
  // nullptr: long messages go in the stream.
  Lanes* lanes() { return peer_has_lanes_ ? lanes_.get() : nullptr; }
  // How much of a long message follows a block. The limit is lower for sealed payload, because the
  // receiver checks it before placing it and it should stay in the processor's cache meanwhile.
  std::uint64_t piece_bytes() const {
    return std::min(pace_.piece_bytes(), seals_payload() ? kStagedBytes : wire::kMaxDirectBytes);
  }
  // Data that is composed now is sent before the Ping with this number.
  std::uint64_t next_ping() const { return signs_.pings_sent + 1; }
  void note_read_answer(std::uint64_t bytes);
  Line<OutboundDatagram>& line_of_datagrams() { return long_datagrams_; }
  // Closes the block of short datagrams, so that later ones are sent after a long datagram. Returns
  // the number of blocks up to now.
  std::uint64_t close_block_of_datagrams();
  Instant now() const { return now_; }
  ExtentList& scratch() { return scratch_; }
  void count_staged(std::uint64_t bytes) { counters_.staged_bytes.add(bytes); }
  void count_sent(std::uint64_t bytes) { counters_.sent_bytes.add(bytes); }
  void count_received(std::uint64_t bytes) { counters_.received_bytes.add(bytes); }

 private:
  enum class Reading : std::uint8_t { kHead, kBlock, kDirect };
  static constexpr std::size_t kTailBytes = 64;
  // The bytes of payload that are sealed and sent together, few enough to stay in the processor's
  // cache.
  static constexpr std::size_t kStagedBytes = std::size_t{64} * 1024;
  static constexpr std::size_t kDiscardBytes = std::size_t{16} * 1024;
  static constexpr std::size_t kMostDatagramBlocks = 16;  // 256 KiB, that wait
  static constexpr std::size_t kAfterBytes = sizeof(wire::RecordTrailer) + wire::kHeadBytes;

  Channel(const ChannelConfig& config, std::unique_ptr<Stream> stream, LinkFinder& finder,
          ExtentList& scratch, Instant now);
  std::optional<std::span<std::byte>> place_datagram(const wire::Datagram& frame,
                                                     std::size_t payload_bytes);
  void take_datagram_back();

  void let_go(InboundLink& link, std::uint32_t number);
  void look_for_silent_links(Instant now);
  OutboundDatagram* datagram_in_hand() const;
  void lose_late_datagrams(Instant now);

  // ---- Receiving: channel_receive.cc ----
  void receive(verbs::Budget& budget);
  bool receive_step();
  bool judge(const IoResult& result);
  bool receive_head();
  bool receive_block();
  bool receive_direct();
  void next_record(std::span<const std::byte> ahead);
  void take_block();
  void take_frame(const wire::RawFrame& frame, std::uint64_t direct_bytes);
  void take_hello(const wire::Hello& frame);
  bool take_lane_frame(const wire::RawFrame& frame);
  bool take_trunk_frame(const wire::RawFrame& frame);
  bool take_hold(const wire::RawFrame& frame);
  bool take_held(const wire::RawFrame& frame);
  std::optional<LinkLives> lives_of(const wire::Open& frame, std::span<const std::byte> more) const;
  bool take_open(const wire::Open& frame, std::span<const std::byte> more);
  template <typename Frame, typename Act>
  bool for_inbound(const wire::RawFrame& raw, Act act);
  template <typename Frame, typename Links>
  bool pass_piece_of_none(const wire::RawFrame& raw, const Links& links);
  template <typename Frame, typename Act>
  bool for_outbound(const wire::RawFrame& raw, Act act);
  bool take_data(OutboundLink& link, const wire::Data& data, std::span<const std::byte> inside,
                 std::uint64_t direct_bytes);
  void begin_direct(std::uint64_t bytes);
  bool is_payload_sealed() const { return open_seal_ && config_.seals_payload; }
  bool is_trailer_sealed(const wire::RecordTrailer& trailer);
  bool take_datagram(const wire::RawFrame& raw, std::uint64_t direct_bytes);
  bool place(std::uint64_t from, std::uint64_t length);
  void end_direct();
  void end_sink(Arrival arrival);

  // ---- Sending: channel_send.cc ----
  void send(verbs::Budget& budget);
  bool compose();
  void compose_own();
  bool compose_datagrams();
  void compose_links();
  void compose_answers(std::size_t most);
  void compose_requests(std::size_t most);
  void compose_long_answer();
  void compose_long_request();
  bool write_some(verbs::Budget& budget);
  IoResult write_block();
  IoResult write_direct();
  bool seals_payload() const { return seal_ && config_.seals_payload; }
  IoResult write_sealed();
  void stage();
  bool gather(std::uint64_t from, std::uint64_t to);
  void make_void();
  std::span<const std::byte> trailer();
  void end_record();

  const ChannelConfig config_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Lanes> lanes_;  // of the stream; null: it has none, or payload is sealed
  LinkFinder& finder_;
  ExtentList& scratch_;
  std::string problem_;
  ChannelCounters counters_;
  Instant now_;
  Instant last_heard_;
  Instant last_ping_;
  Instant last_look_at_links_;
  Instant last_drained_;  // the socket took something again, after it had been full
  Steps written_;         // of what there is to be written
  Steps read_answers_;    // of payload that comes for READs
  PeerSigns signs_;
  Pace pace_;
  std::uint64_t peer_incarnation_ = 0;
  bool peer_has_long_lives_ = false;
  bool peer_knows_trunks_ = false;
  bool peer_has_lanes_ = false;
  bool peer_knows_holds_ = false;
  std::uint64_t last_hold_ = 0;  // that was asked for
  std::optional<Duration> held_for_;

  std::unordered_map<std::uint32_t, OutboundLink*> outbound_;
  std::unordered_map<std::uint32_t, InboundLink*> inbound_;
  std::uint32_t last_link_ = 0;
  Turns<OutboundLink> requests_;
  Turns<OutboundLink> long_requests_;
  Turns<InboundLink> answers_;
  Turns<InboundLink> long_answers_;

  // Receiving.
  Reading reading_ = Reading::kHead;
  verbs::Budget taken_;  // by one step
  bool readable_ = true;
  wire::RecordHeader in_header_;
  std::array<std::byte, sizeof(wire::RecordHeader) + wire::kMaxBlockBytes> in_;
  std::size_t in_have_ = 0;
  std::optional<Sink> sink_;
  std::uint64_t direct_total_ = 0;
  std::uint64_t direct_have_ = 0;  // of it, the tail included
  std::uint64_t direct_tail_ = 0;  // the last bytes of it, that wait in tail_
  std::uint32_t direct_digest_ = 0;
  bool sink_failed_ = false;  // some of its bytes were thrown away
  // The last cache line of a message; of sealed payload all, since nothing of it is good
  // before its seal is seen.
  std::vector<std::byte> tail_;
  std::array<std::byte, kDiscardBytes> discarded_;  // written, never read
  std::array<std::byte, kAfterBytes> after_;        // trailer and next head
  std::size_t after_have_ = 0;
  std::unique_ptr<Seal> open_seal_;

  // Sending.
  Outbox out_;
  bool write_blocked_ = false;
  bool was_full_ = false;  // the socket took nothing when it was last tried
  bool is_idle_ = true;    // there is nothing to be sent
  bool requests_first_ = false;
  bool sends_first_ = false;  // the last turn ended before all was sent
  std::unique_ptr<Seal> seal_;
  bool hello_due_ = true;
  bool ping_due_ = false;
  std::optional<std::uint64_t> pong_due_;
  std::optional<wire::TrunkOffer> trunk_offer_due_;
  std::optional<wire::TrunkReady> trunk_ready_due_;
  std::optional<wire::Hold> hold_due_;
  std::optional<wire::Held> held_due_;
  // Datagrams that wait, as they are sent; the last block takes more, unless it is closed.
  // None is empty.
  std::deque<std::unique_ptr<wire::BlockWriter>> datagrams_;
  bool last_block_closed_ = false;
  std::uint64_t blocks_sent_ = 0;                 // of them, ever
  Line<OutboundDatagram> long_datagrams_;         // that lie in guest memory
  bool datagrams_next_ = false;                   // one of these, rather than one of the links
  std::unordered_set<std::uint32_t> closed_due_;  // the peer's links that have no listener
  std::unordered_set<std::uint32_t> close_due_;   // links of ours that are over
};

}  // namespace paravane::transport_channel
