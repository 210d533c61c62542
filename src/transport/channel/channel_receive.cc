// Channel: what arrives.

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <utility>

#include "guestmem/payload.h"
#include "guestmem/payload_io.h"
#include "transport/channel/channel.h"
#include "transport/channel/inbound_link.h"
#include "transport/channel/outbound_link.h"

namespace paravane::transport_channel {

using wire::FrameKind;

namespace {

// Links of a peer that have no listener, and about which the peer was not told yet.
constexpr std::size_t kMostClosedDue = 65536;

// Also for a link that is gone: its payload is discarded.
bool has_payload(FrameKind kind) {
  return kind == FrameKind::kRequest || kind == FrameKind::kMore || kind == FrameKind::kData ||
         kind == FrameKind::kDatagram;
}

iovec piece(std::span<std::byte> bytes) {
  return {.iov_base = bytes.data(), .iov_len = bytes.size()};
}

}  // namespace

void Channel::receive(verbs::Budget& budget) {
  while (readable_ && !broken() && !budget.spent()) {
    taken_ = {};
    const bool more = receive_step();
    budget.bytes -= taken_.bytes;
    budget.operations -= std::max(taken_.operations, 1);
    if (!more) return;
  }
}

// One read. False: there is no more to be read.
bool Channel::receive_step() {
  switch (reading_) {
    case Reading::kHead: return receive_head();
    case Reading::kBlock: return receive_block();
    case Reading::kDirect: return receive_direct();
  }
  return false;
}

// True: something was read.
bool Channel::judge(const IoResult& result) {
  taken_.bytes += static_cast<std::int64_t>(result.effort);
  switch (result.kind) {
    case IoResult::Kind::kMoved:
      last_heard_ = now_;
      if (result.was_all) readable_ = false;
      taken_.bytes += static_cast<std::int64_t>(result.bytes);
      return true;
    case IoResult::Kind::kWouldBlock: readable_ = false; return false;
    case IoResult::Kind::kClosed: break_off("the host closed the connection"); return false;
    case IoResult::Kind::kBroken: break_off(stream_->problem()); return false;
    case IoResult::Kind::kBadMemory: return true;  // found out and thrown away
  }
  return false;
}

bool Channel::receive_head() {
  const std::array to{piece(std::span(in_).subspan(in_have_, wire::kHeadBytes - in_have_))};
  const IoResult result = stream_->read(to);
  if (!judge(result)) return false;
  in_have_ += result.bytes;
  if (in_have_ == wire::kHeadBytes) next_record({});
  return !broken();
}

// A whole head is in in_, or will be with `ahead`.
void Channel::next_record(std::span<const std::byte> ahead) {
  if (!ahead.empty()) {
    std::ranges::copy(ahead, in_.begin());
    in_have_ = ahead.size();
  }
  reading_ = Reading::kHead;
  if (in_have_ < wire::kHeadBytes) return;
  const auto header = wire::read_header(std::span(in_).first<wire::kHeadBytes>());
  if (!header) return break_off("protocol: invalid record header");
  in_header_ = *header;
  after_have_ = 0;
  reading_ = Reading::kBlock;
  if (in_have_ == sizeof(wire::RecordHeader) + in_header_.block_bytes.get()) take_block();
}

bool Channel::receive_block() {
  const std::size_t whole = sizeof(wire::RecordHeader) + in_header_.block_bytes.get();
  const bool ends_record = in_header_.direct_bytes.get() == 0;
  std::array to{piece(std::span(in_).subspan(in_have_, whole - in_have_)),
                piece(std::span(after_).first(wire::kHeadBytes))};
  const IoResult result = stream_->read(std::span(to).first(ends_record ? 2 : 1));
  if (!judge(result)) return false;
  const std::size_t of_block = std::min(result.bytes, whole - in_have_);
  in_have_ += of_block;
  after_have_ = result.bytes - of_block;
  if (in_have_ == whole) take_block();
  return !broken();
}

// The block is whole; direct payload, or the next record, follows.
void Channel::take_block() {
  counters_.records_received.add();
  const std::size_t whole = sizeof(wire::RecordHeader) + in_header_.block_bytes.get();
  const std::span<const std::byte> block =
      std::span(in_).subspan(sizeof(wire::RecordHeader), whole - sizeof(wire::RecordHeader));
  if (open_seal_) {
    const auto unsealed =
        std::as_bytes(std::span(&in_header_, 1)).first(sizeof in_header_ - sizeof in_header_.tag);
    if (!open_seal_->matches_next(unsealed, block, in_header_.tag)) {
      return break_off("protocol: a record's seal does not match");
    }
  }
  const std::uint64_t direct = in_header_.direct_bytes.get();
  sink_.reset();
  wire::BlockReader reader(block);
  std::optional<wire::RawFrame> frame = reader.next();
  bool wants_direct = false;
  while (frame && !broken()) {
    const std::optional<wire::RawFrame> next = reader.next();
    taken_.operations += 1;
    take_frame(*frame, next ? 0 : direct);
    wants_direct = has_payload(frame->kind);
    frame = next;
  }
  if (reader.broken()) break_off("protocol: a block does not consist of frames");
  if (direct > 0 && !wants_direct) break_off("protocol: direct payload without a message");
  if (broken()) return;
  if (direct > 0) return begin_direct(direct);
  in_have_ = 0;
  next_record(std::span(after_).first(after_have_));
}

// One that is gone was closed meanwhile.
template <typename Frame, typename Act>
bool Channel::for_inbound(const wire::RawFrame& raw, Act act) {
  const std::optional<Frame> frame = raw.as<Frame>();
  if (!frame) return false;
  const auto found = inbound_.find(frame->link.get());
  return found == inbound_.end() || std::invoke(act, *found->second, *frame);
}

template <typename Frame, typename Act>
bool Channel::for_outbound(const wire::RawFrame& raw, Act act) {
  const std::optional<Frame> frame = raw.as<Frame>();
  if (!frame) return false;
  const auto found = outbound_.find(frame->link.get());
  if (found == outbound_.end()) return frame->link.get() <= last_link_;
  return std::invoke(act, *found->second, *frame);
}

// Its link is gone, but those behind it on the lane wait for it. False: the peer has broken the
// rules.
template <typename Frame, typename Links>
bool Channel::pass_piece_of_none(const wire::RawFrame& raw, const Links& links) {
  const std::optional<Frame> frame = raw.as<Frame>();
  if (!lanes_ || !frame || frame->lane.get() == 0 || links.contains(frame->link.get())) return true;
  return lanes_->send_void({.lane = frame->lane.get(), .number = frame->number.get()}) !=
         Lanes::Sent::kInvalid;
}

// NOLINTNEXTLINE(readability-function-size): a case for each kind, and nothing else
void Channel::take_frame(const wire::RawFrame& frame, std::uint64_t direct_bytes) {
  const bool is_hello = frame.kind == FrameKind::kHello;
  if (is_hello != (peer_incarnation_ == 0))
    return break_off("protocol: expected exactly one hello, before all else");
  bool good = true;
  switch (frame.kind) {
    case FrameKind::kHello:
      if (const auto hello = frame.as<wire::Hello>()) {
        take_hello(*hello);
      } else {
        good = false;
      }
      break;
    case FrameKind::kPing:
      if (const auto ping = frame.as<wire::Ping>()) pong_due_ = ping->number.get();
      break;
    case FrameKind::kPong: {
      const auto pong = frame.as<wire::Pong>();
      good = pong && pong->number.get() <= signs_.pings_sent;
      if (good) signs_.pings_answered = std::max(signs_.pings_answered, pong->number.get());
      break;
    }
    case FrameKind::kHold: good = take_hold(frame); break;
    case FrameKind::kHeld: good = take_held(frame); break;
    case FrameKind::kOpen: {
      const auto open = frame.as<wire::Open>();
      good = open && take_open(*open, frame.payload<wire::Open>());
      break;
    }
    case FrameKind::kRequest:
      good =
          for_inbound<wire::Request>(frame, [&](InboundLink& link, const wire::Request& request) {
            return link.on_request(request, frame.payload<wire::Request>(), direct_bytes, sink_);
          });
      break;
    case FrameKind::kMore:
      good = for_inbound<wire::More>(frame, [&](InboundLink& link, const wire::More& more) {
        return link.on_more(more, frame.payload<wire::More>(), direct_bytes, sink_);
      });
      break;
    case FrameKind::kAbort:
      good = for_inbound<wire::Abort>(frame, [](InboundLink& link, const wire::Abort&) {
        link.on_abort();
        return true;
      });
      break;
    case FrameKind::kClose:
      good = for_inbound<wire::Close>(frame, [this](InboundLink& link, const wire::Close& close) {
        link.on_channel_lost();  // for this link the channel is at its end
        let_go(link, close.link.get());
        return true;
      });
      break;
    case FrameKind::kOpened:
      good = for_outbound<wire::Opened>(frame, [&](OutboundLink& link, const wire::Opened& opened) {
        return link.on_opened(opened, frame.payload<wire::Opened>());
      });
      break;
    case FrameKind::kClosed:
      good = for_outbound<wire::Closed>(frame, &OutboundLink::on_closed);
      break;
    case FrameKind::kAck: good = for_outbound<wire::Ack>(frame, &OutboundLink::on_ack); break;
    case FrameKind::kNak: good = for_outbound<wire::Nak>(frame, &OutboundLink::on_nak); break;
    case FrameKind::kWord: good = for_outbound<wire::Word>(frame, &OutboundLink::on_word); break;
    case FrameKind::kReady: good = for_outbound<wire::Ready>(frame, &OutboundLink::on_ready); break;
    case FrameKind::kData:
      good = for_outbound<wire::Data>(frame, [&](OutboundLink& link, const wire::Data& data) {
        return take_data(link, data, frame.payload<wire::Data>(), direct_bytes);
      });
      break;
    case FrameKind::kDatagram: good = take_datagram(frame, direct_bytes); break;
    case FrameKind::kClear:
      good = pass_piece_of_none<wire::Clear>(frame, outbound_) &&
             for_outbound<wire::Clear>(frame, &OutboundLink::on_clear);
      break;
    case FrameKind::kAnswerDue:
      good = for_outbound<wire::AnswerDue>(frame, &OutboundLink::on_answer_due);
      break;
    case FrameKind::kClearAnswer:
      good = pass_piece_of_none<wire::ClearAnswer>(frame, inbound_) &&
             for_inbound<wire::ClearAnswer>(frame, &InboundLink::on_clear_answer);
      break;
    case FrameKind::kLaneOpen:
    case FrameKind::kLaneReady:
    case FrameKind::kLaneClosed: good = take_lane_frame(frame); break;
    case FrameKind::kTrunkOffer:
    case FrameKind::kTrunkReady: good = take_trunk_frame(frame); break;
    case FrameKind::kPadding:
    default: good = false;
  }
  if (!good) {
    break_off("protocol: a frame of kind " + std::to_string(std::to_underlying(frame.kind)) +
              " is not valid here");
  }
}

void Channel::take_hello(const wire::Hello& hello) {
  if (hello.magic.get() != wire::kHelloMagic || hello.incarnation.get() == 0) {
    return break_off("protocol: invalid hello");
  }
  if (hello.lowest_version.get() > wire::kProtocolVersion ||
      hello.highest_version.get() < wire::kProtocolVersion) {
    return break_off("the host supports versions " + std::to_string(hello.lowest_version.get()) +
                     " to " + std::to_string(hello.highest_version.get()) +
                     " of the channel protocol, but this host supports version " +
                     std::to_string(wire::kProtocolVersion));
  }
  peer_incarnation_ = hello.incarnation.get();
  peer_has_long_lives_ = (hello.capabilities.get() & wire::kLongLives) != 0;
  peer_knows_trunks_ = (hello.capabilities.get() & wire::kTrunks) != 0;
  peer_knows_holds_ = (hello.capabilities.get() & wire::kHolds) != 0;
  peer_has_lanes_ = lanes_ && (hello.capabilities.get() & wire::kLaneFrames) != 0;
  if (peer_has_lanes_) lanes_->begin(now_);
}

bool Channel::take_lane_frame(const wire::RawFrame& frame) {
  if (!peer_has_lanes_) return false;
  if (frame.kind == FrameKind::kLaneOpen) {
    const auto open = frame.as<wire::LaneOpen>();
    return open && lanes_->on_open(*open);
  }
  if (frame.kind == FrameKind::kLaneClosed) {
    const auto closed = frame.as<wire::LaneClosed>();
    return closed && lanes_->on_closed(*closed);
  }
  const auto ready = frame.as<wire::LaneReady>();
  return ready && lanes_->on_ready(*ready);
}

bool Channel::take_trunk_frame(const wire::RawFrame& frame) {
  if (!peer_arranges_trunks()) return false;
  if (frame.kind == FrameKind::kTrunkOffer) {
    const auto offer = frame.as<wire::TrunkOffer>();
    if (offer) finder_.on_trunk_offer(*offer, config_.host);
    return offer.has_value();
  }
  const auto ready = frame.as<wire::TrunkReady>();
  if (ready) finder_.on_trunk_ready(*ready, config_.host);
  return ready.has_value();
}

// One answer waits at most: it stands for all Holds before it.
bool Channel::take_hold(const wire::RawFrame& raw) {
  const auto frame = raw.as<wire::Hold>();
  if (!frame || !peer_can_hold()) return false;
  const Duration held =
      finder_.on_hold(config_.host, std::chrono::milliseconds(frame->milliseconds.get()));
  const auto whole = std::chrono::floor<std::chrono::milliseconds>(held).count();
  held_due_ =
      wire::Held{.milliseconds = Le32(static_cast<std::uint32_t>(whole)), .number = frame->number};
  return true;
}

bool Channel::take_held(const wire::RawFrame& raw) {
  const auto frame = raw.as<wire::Held>();
  if (!frame || !peer_can_hold() || frame->number.get() > last_hold_) return false;
  if (frame->number.get() == last_hold_ && last_hold_ != 0) {
    held_for_ = std::chrono::milliseconds(frame->milliseconds.get());
  }
  return true;
}

// nullopt: the peer has broken the rules.
std::optional<LinkLives> Channel::lives_of(const wire::Open& frame,
                                           std::span<const std::byte> more) const {
  LinkLives lives{.requester = {.low = frame.requester_life.get()},
                  .responder = {.low = frame.responder_life.get()}};
  if (has_long_lives()) {
    wire::LifeTops tops;
    if (more.size() != sizeof tops) return std::nullopt;
    std::memcpy(&tops, more.data(), sizeof tops);
    lives.requester.high = tops.requester.get();
    lives.responder.high = tops.responder.get();
    if (lives.requester.high == 0) return std::nullopt;
  } else {
    lives.requester.high = peer_incarnation_;
    if (lives.responder.low != 0) lives.responder.high = config_.incarnation;
  }
  if (lives.requester.low == 0) return std::nullopt;
  return lives;
}

// A number is used once. A link without a listener gets silence on a wire, and an
// explicit answer here.
bool Channel::take_open(const wire::Open& frame, std::span<const std::byte> more) {
  const std::uint32_t number = frame.link.get();
  if (number == 0 || inbound_.contains(number)) return false;
  const std::optional<LinkLives> lives = lives_of(frame, more);
  if (!lives) return false;
  InboundLink* link = finder_.find_responder(frame, config_.host);
  if (link != nullptr && link->open(number, *lives, *this)) {
    inbound_.emplace(number, link);
  } else {
    closed_due_.insert(number);
  }
  return closed_due_.size() <= kMostClosedDue;
}

bool Channel::take_data(OutboundLink& link, const wire::Data& data,
                        std::span<const std::byte> inside, std::uint64_t direct_bytes) {
  if (direct_bytes > 0) return inside.empty() && link.on_data(data, direct_bytes, sink_);
  std::optional<Sink> sink;
  if (!link.on_data(data, inside.size(), sink)) return false;
  if (!sink) return true;
  scratch_.clear();
  if (!inside.empty() && link.place(*sink, sink->offset, inside.size(), scratch_)) {
    counters_.staged_bytes.add(inside.size());
    // A failure of the memory is seen by on_placed().
    static_cast<void>(scatter_payload(inside, scratch_));
  }
  link.on_placed(*sink, Arrival::kIntact);
  return true;
}

bool Channel::take_datagram(const wire::RawFrame& raw, std::uint64_t direct_bytes) {
  const std::optional<wire::Datagram> frame = raw.as<wire::Datagram>();
  if (!frame) return false;
  const std::span<const std::byte> inside = raw.payload<wire::Datagram>();
  const std::uint64_t bytes = inside.size() + direct_bytes;
  if (bytes > wire::kMaxDatagramPayload || (direct_bytes > 0 && !inside.empty())) return false;
  counters_.datagrams_received.add();
  counters_.received_bytes.add(bytes);
  if (direct_bytes == 0) {
    counters_.staged_bytes.add(bytes);
    finder_.on_datagram(*frame, inside, config_.host);
  } else if (const auto arriving = finder_.begin_datagram(*frame, bytes, config_.host)) {
    sink_ = Sink{.datagram = arriving, .bytes = bytes, .ends_message = true};
  }
  return true;
}

void Channel::begin_direct(std::uint64_t bytes) {
  reading_ = Reading::kDirect;
  direct_total_ = bytes;
  direct_have_ = 0;
  sink_failed_ = false;
  direct_digest_ = 0;
  const bool keeps_tail = is_payload_sealed() || (sink_ && sink_->ends_message);
  direct_tail_ = keeps_tail ? std::min<std::uint64_t>(bytes, tail_.size()) : 0;
  if (is_payload_sealed()) open_seal_->begin();
  after_have_ = 0;
}

// Where bytes [from, from+length) of the direct payload go, into scratch_.
bool Channel::place(std::uint64_t from, std::uint64_t length) {
  scratch_.clear();
  if (!sink_ || sink_failed_ || length == 0) return false;
  const std::uint64_t at = sink_->offset + from;
  if (sink_->message != nullptr) return sink_->message->place(*sink_, at, length, scratch_);
  if (sink_->answer != nullptr) return sink_->answer->place(*sink_, at, length, scratch_);
  if (sink_->datagram) return finder_.place_datagram(*sink_->datagram, at, length, scratch_);
  return false;
}

bool Channel::receive_direct() {
  const std::uint64_t body = direct_total_ - direct_tail_;
  const std::uint64_t body_left = body - std::min(body, direct_have_);
  const bool placed = place(direct_have_, body_left);
  const std::uint64_t tail_have = direct_have_ - std::min(body, direct_have_);
  const std::uint64_t tail_left = direct_tail_ - tail_have;
  std::array after{std::span(tail_).subspan(tail_have, tail_left),
                   std::span(after_).subspan(after_have_)};
  IoResult result;
  if (placed || body_left == 0) {
    result = read_payload(*stream_, scratch_, body_left, after);
  } else {
    const std::uint64_t part = std::min<std::uint64_t>(body_left, discarded_.size());
    std::array to{piece(std::span(discarded_).first(part)), piece(after[0]), piece(after[1])};
    result = stream_->read(std::span(to).first(part == body_left ? 3 : 1));
    // Some of it is lost: the rest must not be mistaken for the whole.
    sink_failed_ = true;
  }
  if (result.kind == IoResult::Kind::kBadMemory) {
    sink_failed_ = true;  // the rest is thrown away
    return true;
  }
  if (!judge(result)) return false;
  const std::uint64_t of_body = std::min<std::uint64_t>(result.bytes, body_left);
  const std::uint64_t of_tail = std::min<std::uint64_t>(result.bytes - of_body, tail_left);
  if (open_seal_ && of_body > 0 && placed) {
    direct_digest_ = digest_payload(scratch_, of_body, direct_digest_);
  }
  if (is_payload_sealed()) open_seal_->add(std::span(tail_).subspan(tail_have, of_tail));
  direct_have_ += of_body + of_tail;
  after_have_ += result.bytes - of_body - of_tail;
  if (direct_have_ == direct_total_ && after_have_ >= sizeof(wire::RecordTrailer)) end_direct();
  return !broken();
}

bool Channel::is_trailer_sealed(const wire::RecordTrailer& trailer) {
  if (!open_seal_) return true;
  if (!is_payload_sealed()) {
    return open_seal_->matches_next(wire::sealed_part(trailer), {}, trailer.tag);
  }
  open_seal_->add(wire::sealed_part(trailer));
  return open_seal_->end_matches(trailer.tag);
}

// All is there, and perhaps some of the next record.
void Channel::end_direct() {
  wire::RecordTrailer trailer;
  std::memcpy(&trailer, after_.data(), sizeof trailer);
  if (!is_trailer_sealed(trailer)) {
    return break_off("protocol: the seal of a record's payload does not match");
  }
  const std::uint32_t verdict = trailer.verdict.get();
  if ((verdict != wire::kGood && verdict != wire::kVoid) || trailer.reserved.get() != 0) {
    return break_off("protocol: invalid record trailer");
  }
  const std::span<const std::byte> tail = std::span(tail_).first(direct_tail_);
  Arrival arrival = verdict == wire::kGood ? Arrival::kIntact : Arrival::kVoid;
  if (sink_failed_ && arrival == Arrival::kIntact) arrival = Arrival::kDamaged;
  if (is_payload_sealed()) {
    counters_.staged_bytes.add(tail.size());
  } else if (open_seal_ && arrival == Arrival::kIntact && sink_ &&
             digest_bytes(tail, direct_digest_) != trailer.digest.get()) {
    counters_.damaged.add();
    arrival = Arrival::kDamaged;
  }
  if (sink_ && arrival == Arrival::kIntact && !tail.empty()) {
    const bool placed = place(direct_total_ - tail.size(), tail.size());
    // The recipient detects a failure of the memory.
    if (!placed || !scatter_payload(tail, scratch_)) sink_failed_ = true;
  }
  end_sink(arrival);
  if (broken()) return;
  in_have_ = 0;
  next_record(
      std::span<const std::byte>(after_).subspan(sizeof trailer, after_have_ - sizeof trailer));
}

// What was to come for the sink has come, or will not.
void Channel::end_sink(Arrival arrival) {
  const std::optional<Sink> sink = std::exchange(sink_, std::nullopt);
  if (!sink) return;
  if (sink->message != nullptr) sink->message->on_placed(*sink, arrival);
  if (sink->answer != nullptr) sink->answer->on_placed(*sink, arrival);
  if (sink->datagram) {
    const bool is_whole = arrival == Arrival::kIntact && !sink_failed_;
    finder_.end_datagram(*sink->datagram, is_whole, config_.host);
  }
}

}  // namespace paravane::transport_channel
