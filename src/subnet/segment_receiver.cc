#include "subnet/segment_receiver.h"

#include <algorithm>
#include <cassert>

namespace paravane::subnet {

using wire::infiniband::answer_to_segment;
using wire::infiniband::kClassHeaderAt;
using wire::infiniband::kMadBytes;
using wire::infiniband::kSegmentFirst;
using wire::infiniband::kSegmentLast;
using wire::infiniband::MadBytes;
using wire::infiniband::segment_header_of;
using wire::infiniband::SegmentHeader;
using wire::infiniband::SegmentType;
namespace segment_status = wire::infiniband::segment_status;

std::optional<std::uint8_t> SegmentReceiver::fault_of(const MadBytes& mad) {
  const SegmentHeader header = segment_header_of(mad);
  if (header.version != wire::infiniband::kSegmentVersion) return segment_status::kBadVersion;
  switch (header.type) {
    case SegmentType::kAck:
    case SegmentType::kStop:
    case SegmentType::kAbort: return std::nullopt;
    case SegmentType::kData: break;
    default: return segment_status::kBadType;
  }
  if (header.status != segment_status::kNormal) return segment_status::kBadStatus;
  const std::uint32_t number = header.number.get();
  if (number == 0 || (number == 1) != header.has(kSegmentFirst)) return segment_status::kBadFirst;
  return std::nullopt;
}

SegmentReceiver::SegmentReceiver(const MadBytes& first, const Options& options)
    : options_(options),
      first_(first),
      shape_(wire::infiniband::mad_header_of(first).management_class) {
  assert(!fault_of(first) && segment_header_of(first).number.get() == 1);
}

void SegmentReceiver::begin(Instant now, MadList& out) {
  due_ = now + options_.most_time;
  on_data(first_, now, out);
}

void SegmentReceiver::on_packet(const MadBytes& mad, Instant now, MadList& out) {
  const SegmentHeader header = segment_header_of(mad);
  const auto fault = fault_of(mad);
  if (state_ == SegmentState::kFinished) {
    if (fault) return;
    if (header.type == SegmentType::kData) acknowledge(mad, out);
    if (header.type == SegmentType::kAck && header.number.get() == 0) {
      answer_window_ = std::max(header.length_window.get(), 1U);
    }
    return;
  }
  if (state_ != SegmentState::kRunning) return;
  if (fault) return abort(SegmentFault::kBadPacket, *fault, out);
  switch (header.type) {
    case SegmentType::kData: return on_data(mad, now, out);
    case SegmentType::kStop: return fail(SegmentFault::kStopped, header.status);
    case SegmentType::kAbort: return fail(SegmentFault::kAborted, header.status);
    case SegmentType::kAck: break;  // there is nothing yet that it could be for
  }
}

void SegmentReceiver::on_data(const MadBytes& mad, Instant now, MadList& out) {
  const SegmentHeader header = segment_header_of(mad);
  const std::uint32_t number = header.number.get();
  if (number > window_) return;
  if (number <= acknowledged_) return acknowledge(mad, out);
  if (number <= joined_ || early_.contains(number)) return;
  if (!accepts(header, out)) return;
  keep(number, mad);
  if (joined_ == last_) {
    state_ = SegmentState::kFinished;
    due_ = now + options_.linger;
    acknowledge(mad, out);
  } else if (joined_ == window_) {
    window_ += options_.window;
    acknowledge(mad, out);
  }
}

bool SegmentReceiver::accepts(const SegmentHeader& header, MadList& out) {
  const std::uint32_t number = header.number.get();
  std::size_t data = shape_.data;
  if (header.has(kSegmentLast)) {
    const std::size_t payload = header.length_window.get();
    if (payload < shape_.class_header || payload > kMadBytes - kClassHeaderAt) {
      abort(SegmentFault::kBadPacket, segment_status::kBadLength, out);
      return false;
    }
    data = payload - shape_.class_header;
  }
  const bool is_beyond = last_ != 0 && (number > last_ || header.has(kSegmentLast));
  if (is_beyond || (header.has(kSegmentLast) && number < highest_)) {
    abort(SegmentFault::kBadPacket, segment_status::kBadNumber, out);
    return false;
  }
  if (shape_.headers + (std::size_t{number} - 1) * shape_.data + data > options_.most_bytes) {
    stop(out);
    return false;
  }
  highest_ = std::max(highest_, number);
  if (header.has(kSegmentLast)) {
    last_ = number;
    last_bytes_ = data;
  }
  return true;
}

void SegmentReceiver::keep(std::uint32_t number, const MadBytes& mad) {
  Piece piece;
  std::ranges::copy(std::span(mad).subspan(shape_.headers), piece.begin());
  if (number != joined_ + 1) {
    early_.emplace(number, piece);
    return;
  }
  pieces_.push_back(piece);
  ++joined_;
  for (auto next = early_.begin(); next != early_.end() && next->first == joined_ + 1;) {
    pieces_.push_back(next->second);
    ++joined_;
    next = early_.erase(next);
  }
}

void SegmentReceiver::acknowledge(const MadBytes& mad, MadList& out) {
  acknowledged_ = joined_;
  out.push_back(
      answer_to_segment(mad, SegmentType::kAck, segment_status::kNormal, joined_, window_));
}

void SegmentReceiver::on_time(Instant now, MadList& out) {
  if (now < next_deadline()) return;
  if (state_ == SegmentState::kFinished) {
    state_ = SegmentState::kOver;
  } else if (state_ == SegmentState::kRunning) {
    abort(SegmentFault::kTooLong, segment_status::kTooLong, out);
  }
}

Instant SegmentReceiver::next_deadline() const {
  const bool waits = state_ == SegmentState::kRunning || state_ == SegmentState::kFinished;
  return waits ? due_ : kNever;
}

void SegmentReceiver::stop(MadList& out) {
  assert(state_ == SegmentState::kRunning);
  fail(SegmentFault::kNoRoom, segment_status::kNoResources);
  out.push_back(answer_to_segment(first_, SegmentType::kStop, segment_status::kNoResources));
}

void SegmentReceiver::fail(SegmentFault fault, std::uint8_t status) {
  state_ = SegmentState::kFailed;
  failure_ = {.fault = fault, .status = status};
  pieces_ = std::deque<Piece>();
  early_.clear();
}

void SegmentReceiver::abort(SegmentFault fault, std::uint8_t status, MadList& out) {
  fail(fault, status);
  out.push_back(answer_to_segment(first_, SegmentType::kAbort, status));
}

std::vector<std::byte> SegmentReceiver::take() {
  assert(state_ == SegmentState::kFinished && pieces_.size() == last_);
  const auto headers = std::span(first_).first(shape_.headers);
  std::vector<std::byte> mad;
  mad.reserve(shape_.headers + (last_ - 1) * shape_.data + last_bytes_);
  mad.assign(headers.begin(), headers.end());
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const auto data =
        std::span(pieces_[i]).first(i + 1 == pieces_.size() ? last_bytes_ : shape_.data);
    mad.insert(mad.end(), data.begin(), data.end());
  }
  pieces_ = std::deque<Piece>();
  return mad;
}

}  // namespace paravane::subnet
