#include "transport/channel/channel.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "guestmem/payload.h"
#include "transport/channel/inbound_link.h"
#include "transport/channel/outbound_datagram.h"
#include "transport/channel/outbound_link.h"

namespace paravane::transport_channel {
namespace {

std::string in_milliseconds(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) +
         " ms";
}

}  // namespace

Result<std::unique_ptr<Channel>> Channel::create(const ChannelConfig& config,
                                                 std::unique_ptr<Stream> stream, LinkFinder& finder,
                                                 ExtentList& scratch, Instant now) {
  std::unique_ptr<Channel> channel(new Channel(config, std::move(stream), finder, scratch, now));
  const auto seal_with = [](const std::optional<Seal::Key>& key) -> Result<std::unique_ptr<Seal>> {
    if (!key) return nullptr;
    return Seal::create(*key);
  };
  auto seal = seal_with(config.send_key);
  if (!seal) return std::unexpected(seal.error());
  auto open_seal = seal_with(config.receive_key);
  if (!open_seal) return std::unexpected(open_seal.error());
  channel->seal_ = std::move(*seal);
  channel->open_seal_ = std::move(*open_seal);
  if (LanePort* lanes = channel->stream_->lanes(); lanes != nullptr && !channel->seals_payload()) {
    channel->lanes_ = std::make_unique<Lanes>(*lanes, channel->counters_);
  }
  channel->tail_.resize(channel->is_payload_sealed() ? wire::kMaxDirectBytes : kTailBytes);
  if (channel->seals_payload()) channel->out_.staged.resize(kStagedBytes);
  return channel;
}

Channel::Channel(const ChannelConfig& config, std::unique_ptr<Stream> stream, LinkFinder& finder,
                 ExtentList& scratch, Instant now)
    : config_(config),
      stream_(std::move(stream)),
      finder_(finder),
      scratch_(scratch),
      now_(now),
      last_heard_(now),
      last_ping_(now),
      last_look_at_links_(now),
      last_drained_(now),
      written_(now),
      read_answers_(now),
      pace_(now) {}

Channel::~Channel() {
  assert(outbound_.empty() && inbound_.empty());
}

void Channel::break_off(std::string reason) {
  if (!broken()) problem_ = std::move(reason);
}

void Channel::lose(Instant now, const verbs::Outcome& outcome,
                   const std::function<void(verbs::QueuePair&)>& unanswered) {
  break_off("closed");
  if (lanes_) lanes_->close_all();
  const std::optional<Sink> sink = std::exchange(sink_, std::nullopt);
  if (sink && sink->datagram) finder_.end_datagram(*sink->datagram, false, config_.host);
  if (OutboundDatagram* datagram = datagram_in_hand()) datagram->lose(now);
  while (OutboundDatagram* datagram = long_datagrams_.first()) datagram->lose(now);
  out_.direct.reset();
  // Each takes itself out of nothing here: the tables are given up first.
  const auto outbound = std::exchange(outbound_, {});
  const auto inbound = std::exchange(inbound_, {});
  for (const auto& [number, link] : inbound) link->on_channel_lost();
  const auto lose_one = [&](OutboundLink& link) {
    if (link.on_channel_lost(outcome, now)) unanswered(link.qp());
  };
  for (const auto& [number, link] : outbound) lose_one(*link);
  // Those that were not opened yet.
  while (OutboundLink* link = requests_.call()) lose_one(*link);
  while (OutboundLink* link = long_requests_.call()) lose_one(*link);
}

verbs::Life Channel::life_of(const verbs::QueuePair& qp) const {
  const verbs::Life life = qp.life();
  return has_long_lives() ? life : verbs::Life{.high = config_.incarnation, .low = life.low};
}

std::uint32_t Channel::add(OutboundLink& link) {
  outbound_.emplace(++last_link_, &link);
  return last_link_;
}

void Channel::forget(OutboundLink& link, std::uint32_t number) {
  outbound_.erase(number);
  if (sink_ && sink_->answer == &link) sink_->answer = nullptr;
  if (out_.direct && out_.direct->request == &link) out_.direct->request = nullptr;
  if (!broken()) close_due_.insert(number);
}

void Channel::forget(InboundLink& link, std::uint32_t number) {
  let_go(link, number);
  if (!broken()) closed_due_.insert(number);
}

void Channel::forget(const OutboundDatagram& datagram) {
  if (out_.direct && out_.direct->datagram == &datagram) out_.direct->datagram = nullptr;
}

std::string_view Channel::why_copied(verbs::AdapterId adapter) const {
  if (config_.seals_payload) return "payload is sealed";
  if (!peer_has_lanes_) return "the other host takes them only as copies";
  switch (lanes_->memory_of(adapter)) {
    case MemoryState::kPreparing: return "memory is being registered";
    case MemoryState::kRefused: return "memory cannot be registered";
    case MemoryState::kNotWanted:
    case MemoryState::kRegistered: break;
  }
  return "";
}

void Channel::forget(verbs::AdapterId adapter) {
  if (sink_ && sink_->datagram && sink_->datagram->adapter == adapter) sink_.reset();
  if (lanes_) lanes_->forget(adapter);
}

// It may go away from now on.
void Channel::let_go(InboundLink& link, std::uint32_t number) {
  inbound_.erase(number);
  if (lanes_) lanes_->forget(link);
  if (sink_ && sink_->message == &link) sink_->message = nullptr;
  if (out_.direct && out_.direct->answer == &link) out_.direct->answer = nullptr;
}

bool Channel::has_work() const {
  if (broken()) return false;
  if (readable_ || (lanes_ && lanes_->has_events())) return true;
  return !write_blocked_ && ((lanes_ && lanes_->has_frames()) || out_.in_progress || hello_due_ ||
                             ping_due_ || pong_due_ || hold_due_ || held_due_ || trunk_offer_due_ ||
                             trunk_ready_due_ || !datagrams_.empty() || !long_datagrams_.empty() ||
                             !requests_.empty() || !long_requests_.empty() || !answers_.empty() ||
                             !long_answers_.empty() || !closed_due_.empty() || !close_due_.empty());
}

void Channel::on_ready(bool writable) {
  readable_ = true;
  if (writable || stream_->has_one_event()) write_blocked_ = false;
}

void Channel::poll(Instant now, verbs::Budget& budget) {
  now_ = now;
  if (broken()) return;
  // A peer that sends endlessly must not keep this end from sending.
  if (std::exchange(sends_first_, false)) send(budget);
  // Answers go out in the same turn.
  if (!broken()) receive(budget);
  if (lanes_ && !broken()) {
    if (const Status good = lanes_->take_events(now); !good) break_off(good.error().message);
  }
  if (!broken()) send(budget);
  sends_first_ = budget.spent();
}

void Channel::keep_alive(Instant now) {
  now_ = now;
  if (broken()) return;
  // A wire that is slow takes what was written before a Ping first.
  if (now - std::max(last_heard_, last_drained_) >= config_.dead_after) {
    return break_off("nothing was received from the host for " +
                     in_milliseconds(config_.dead_after));
  }
  if (now - last_look_at_links_ >= config_.answer_within / 8) look_for_silent_links(now);
  if (was_full_ && now - written_.last() >= config_.answer_within) {
    return break_off("the host is alive, but has accepted no data for " +
                     in_milliseconds(config_.answer_within) + ", or almost none");
  }
  lose_late_datagrams(now);
  if (lanes_) lanes_->keep_alive(now);
  const Instant quiet_since = std::max(last_heard_, last_ping_);
  if (now - quiet_since < config_.ping_after) return;
  ping_due_ = true;
  last_ping_ = now;
}

void Channel::send_hold(Duration time) {
  held_for_.reset();
  hold_due_ = wire::Hold{.milliseconds = Le32(static_cast<std::uint32_t>(
                             std::chrono::ceil<std::chrono::milliseconds>(time).count())),
                         .number = Le64(++last_hold_)};
}

void Channel::note_read_answer(std::uint64_t bytes) {
  read_answers_.on_moved(bytes, now_);
}

// A request that waits for its turn, or for a slow wire, is not one that the peer leaves
// unanswered: it must have gone out whole, and a Ping after it.
void Channel::look_for_silent_links(Instant now) {
  last_look_at_links_ = now;
  signs_.read_answers_moved = read_answers_.last();
  for (const auto& [number, link] : outbound_) {
    if (link->wants_ping(signs_)) ping_due_ = true;
    const Instant since = link->silent_since(signs_, now);
    if (since == kNever || now - since < config_.answer_within) continue;
    return break_off("the host is alive, but has not answered a request for " +
                     in_milliseconds(config_.answer_within));
  }
}

// The one that is being written.
OutboundDatagram* Channel::datagram_in_hand() const {
  return out_.direct ? out_.direct->datagram : nullptr;
}

// Its queue pair may have others, for hosts that read.
void Channel::lose_late_datagrams(Instant now) {
  OutboundDatagram* datagram = datagram_in_hand();
  if (datagram != nullptr && now >= datagram->deadline()) datagram->lose(now);
  while ((datagram = long_datagrams_.first()) != nullptr && now >= datagram->deadline()) {
    datagram->lose(now);
  }
}

Instant Channel::next_look() const {
  if (broken()) return kNever;
  Instant next = std::min(std::max(last_heard_, last_drained_) + config_.dead_after,
                          std::max(last_heard_, last_ping_) + config_.ping_after);
  if (lanes_) next = std::min(next, lanes_->next_look());
  for (const OutboundDatagram* datagram : {datagram_in_hand(), long_datagrams_.first()}) {
    if (datagram != nullptr) next = std::min(next, datagram->deadline());
  }
  return next;
}

bool Channel::send_datagram(const wire::Datagram& frame, const ExtentList& payload) {
  const std::optional<std::span<std::byte>> place = place_datagram(frame, payload.total_bytes());
  if (!place) {
    counters_.datagrams_held.add();
    return false;
  }
  if (!gather_payload(payload, *place)) take_datagram_back();
  return true;
}

bool Channel::send_datagram(const wire::Datagram& frame, std::span<const std::byte> payload) {
  const std::optional<std::span<std::byte>> place = place_datagram(frame, payload.size());
  if (place) std::ranges::copy(payload, place->begin());
  return place.has_value();
}

// Where its payload goes: into the block that it is sent in.
std::optional<std::span<std::byte>> Channel::place_datagram(const wire::Datagram& frame,
                                                            std::size_t payload_bytes) {
  if (datagrams_.empty() || last_block_closed_ ||
      datagrams_.back()->room() < sizeof frame + payload_bytes) {
    if (datagrams_.size() >= kMostDatagramBlocks) return std::nullopt;
    datagrams_.push_back(std::make_unique_for_overwrite<wire::BlockWriter>());
    last_block_closed_ = false;
  }
  counters_.staged_bytes.add(payload_bytes);
  counters_.sent_bytes.add(payload_bytes);
  counters_.datagrams_sent.add();
  return datagrams_.back()->add(frame, payload_bytes);
}

std::uint64_t Channel::close_block_of_datagrams() {
  last_block_closed_ = true;
  return blocks_sent_ + datagrams_.size();
}

// Its memory was found to be gone.
void Channel::take_datagram_back() {
  datagrams_.back()->take_back();
  if (!datagrams_.back()->empty()) return;
  datagrams_.pop_back();
  last_block_closed_ = true;  // whether the one before was is not known any more
}

}  // namespace paravane::transport_channel
