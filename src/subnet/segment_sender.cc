#include "subnet/segment_sender.h"

#include <algorithm>
#include <cassert>
#include <span>
#include <utility>

namespace paravane::subnet {

using wire::infiniband::answer_to_segment;
using wire::infiniband::MadBytes;
using wire::infiniband::MadHeader;
using wire::infiniband::SegmentHeader;
using wire::infiniband::SegmentType;
namespace segment_status = wire::infiniband::segment_status;

namespace {

std::uint8_t class_of_mad(std::span<const std::byte> mad) {
  return std::to_integer<std::uint8_t>(mad[offsetof(MadHeader, management_class)]);
}

}  // namespace

bool SegmentSender::can_send(std::span<const std::byte> mad) {
  return mad.size() >= sizeof(MadHeader) && wire::infiniband::uses_segments(class_of_mad(mad)) &&
         mad.size() >= wire::infiniband::data_offset(class_of_mad(mad));
}

SegmentSender::SegmentSender(std::vector<std::byte> mad, const Options& options)
    : options_(options),
      mad_(std::move(mad)),
      shape_(class_of_mad(mad_)),
      count_(static_cast<std::uint32_t>(shape_.segments(mad_.size()))),
      window_(std::max(options.first_window, 1U)),
      retries_left_(options.retries) {
  assert(can_send(mad_) && mad_.size() < 0x8000'0000);
}

void SegmentSender::begin(Instant now, MadList& out) {
  gives_up_ = now + options_.most_time;
  send_on(now, out);
}

void SegmentSender::on_packet(const MadBytes& mad, Instant now, MadList& out) {
  const SegmentHeader header = wire::infiniband::segment_header_of(mad);
  if (state_ == SegmentState::kFinished) {
    const bool is_last_ack = header.version == wire::infiniband::kSegmentVersion &&
                             header.type == SegmentType::kAck && header.number.get() == count_;
    if (is_last_ack && options_.expects_answer) {
      out.push_back(answer_to_segment(mad, SegmentType::kAck, segment_status::kNormal, 0, 1));
    }
    return;
  }
  if (state_ != SegmentState::kRunning) return;
  if (header.version != wire::infiniband::kSegmentVersion) {
    return abort(SegmentFault::kBadPacket, segment_status::kBadVersion, out);
  }
  switch (header.type) {
    case SegmentType::kAck: return on_ack(mad, now, out);
    // An end is not answered, whatever its status: two peers would tell each other for ever.
    case SegmentType::kStop: return fail(SegmentFault::kStopped, header.status);
    case SegmentType::kAbort: return fail(SegmentFault::kAborted, header.status);
    case SegmentType::kData:
    default: return abort(SegmentFault::kBadPacket, segment_status::kBadType, out);
  }
}

void SegmentSender::on_ack(const MadBytes& mad, Instant now, MadList& out) {
  const SegmentHeader header = wire::infiniband::segment_header_of(mad);
  const std::uint32_t number = header.number.get();
  const std::uint32_t window = header.length_window.get();
  if (header.status != segment_status::kNormal) {
    return abort(SegmentFault::kBadPacket, segment_status::kBadStatus, out);
  }
  if (window < number) return abort(SegmentFault::kBadPacket, segment_status::kBadWindow, out);
  if (number > sent_) return abort(SegmentFault::kBadPacket, segment_status::kBadNumber, out);
  if (number < acknowledged_ || window < window_) return;  // an old one
  if (number > acknowledged_) {
    acknowledged_ = number;
    next_ = std::max(next_, number + 1);
    retries_left_ = options_.retries;
    ack_due_ = now + options_.wait;
  }
  window_ = window;
  if (acknowledged_ < count_) return send_on(now, out);
  finish(now);
  if (options_.expects_answer) {
    out.push_back(answer_to_segment(mad, SegmentType::kAck, segment_status::kNormal, 0, 1));
  }
}

void SegmentSender::on_time(Instant now, MadList& out) {
  if (now < next_deadline()) return;
  if (state_ == SegmentState::kFinished) {
    state_ = SegmentState::kOver;
  } else if (state_ == SegmentState::kRunning) {
    if (now >= gives_up_) return abort(SegmentFault::kTooLong, segment_status::kTooLong, out);
    if (is_within_window_) return send_on(now, out);
    send_again(now, out);
  }
}

Instant SegmentSender::next_deadline() const {
  switch (state_) {
    case SegmentState::kRunning:
      return std::min(is_within_window_ ? last_turn_ : ack_due_, gives_up_);
    case SegmentState::kFinished: return gives_up_;
    case SegmentState::kFailed:
    case SegmentState::kOver: break;
  }
  return kNever;
}

void SegmentSender::send_on(Instant now, MadList& out) {
  const std::uint32_t end = std::min(window_, count_);
  for (std::uint32_t burst = 0; burst < kBurst && next_ <= end; ++burst) {
    out.push_back(segment(next_));
    sent_ = std::max(sent_, next_);
    ++next_;
    ack_due_ = now + options_.wait;
  }
  is_within_window_ = next_ <= end;
  last_turn_ = now;
}

void SegmentSender::send_again(Instant now, MadList& out) {
  if (retries_left_ == 0) {
    return abort(SegmentFault::kNoAnswer, segment_status::kTooManyTries, out);
  }
  --retries_left_;
  ack_due_ = now + options_.wait;
  if (acknowledged_ == window_) {
    // The window is closed: what has arrived already makes the peer say whether it still is.
    out.push_back(segment(acknowledged_));
    return;
  }
  next_ = acknowledged_ + 1;
  send_on(now, out);
}

void SegmentSender::finish(Instant now) {
  state_ = SegmentState::kFinished;
  gives_up_ = now + options_.linger;
  mad_.resize(shape_.headers);
  mad_.shrink_to_fit();
}

void SegmentSender::fail(SegmentFault fault, std::uint8_t status) {
  state_ = SegmentState::kFailed;
  failure_ = {.fault = fault, .status = status};
}

void SegmentSender::abort(SegmentFault fault, std::uint8_t status, MadList& out) {
  fail(fault, status);
  MadBytes mad = headers();
  SegmentHeader header = wire::infiniband::segment_header_of(mad);
  header.type = SegmentType::kAbort;
  header.set_flags(wire::infiniband::kSegmentActive);
  header.status = status;
  put_part(std::span(mad), wire::infiniband::kSegmentHeaderAt, header);
  out.push_back(mad);
}

MadBytes SegmentSender::segment(std::uint32_t number) const {
  MadBytes mad = headers();
  const auto data = std::span(mad_).subspan(shape_.headers);
  const auto rest = data.subspan((number - 1) * shape_.data);
  const auto share = rest.first(std::min(rest.size(), shape_.data));
  std::ranges::copy(share, mad.begin() + static_cast<std::ptrdiff_t>(shape_.headers));

  SegmentHeader header = wire::infiniband::segment_header_of(mad);
  header.number.set(number);
  std::uint8_t flags = wire::infiniband::kSegmentActive;
  std::size_t payload = 0;
  if (number == 1) {
    flags |= wire::infiniband::kSegmentFirst;
    payload = count_ * shape_.class_header + data.size();
  }
  if (number == count_) {
    flags |= wire::infiniband::kSegmentLast;
    payload = shape_.class_header + share.size();
  }
  header.set_flags(flags);
  header.length_window.set(static_cast<std::uint32_t>(payload));
  put_part(std::span(mad), wire::infiniband::kSegmentHeaderAt, header);
  return mad;
}

MadBytes SegmentSender::headers() const {
  MadBytes mad{};
  std::ranges::copy(std::span(mad_).first(shape_.headers), mad.begin());
  SegmentHeader header;
  header.time_flags = wire::infiniband::segment_header_of(mad).time_flags;
  put_part(std::span(mad), wire::infiniband::kSegmentHeaderAt, header);
  return mad;
}

}  // namespace paravane::subnet
