#include "transport/channel/outbound_datagram.h"

#include <utility>

#include "transport/channel/channel.h"
#include "verbs/adapter.h"

namespace paravane::transport_channel {

using verbs::Outcome;

void OutboundDatagram::submit(const verbs::SendRequest& request, const wire::Datagram& frame,
                              Channel& channel) {
  request_ = &request;
  frame_ = frame;
  channel_ = &channel;
  since_ = channel.now();
  after_blocks_ = channel.close_block_of_datagrams();
  channel.line_of_datagrams().join(*this, sending);
}

void OutboundDatagram::cancel() {
  if (request_ == nullptr) return;
  channel_->line_of_datagrams().leave(sending);
  channel_->forget(*this);
  request_ = nullptr;
}

void OutboundDatagram::end(const Outcome& outcome, Instant now) {
  request_ = nullptr;
  qp_.on_outcome(outcome, now);
}

bool OutboundDatagram::compose(wire::BlockWriter& block, std::optional<Direct>& direct) {
  const std::uint64_t bytes = request_->sges.total_bytes();
  ExtentList& extents = channel_->scratch();
  extents.clear();
  const Outcome own = qp_.gather(*request_, 0, bytes, 0, extents);
  if (!is_done(own)) {
    end(own, channel_->now());
    return false;
  }
  block.add(frame_);
  direct = Direct{.datagram = this, .serial = request_->serial, .bytes = bytes};
  return true;
}

bool OutboundDatagram::gather(const Direct& direct, std::uint64_t done, ExtentList& out) {
  if (request_ == nullptr || request_->serial != direct.serial) return false;
  const Outcome own = qp_.gather(*request_, done, direct.bytes - done, 0, out);
  if (is_done(own)) return true;
  channel_->forget(*this);
  end(own, channel_->now());
  return false;
}

void OutboundDatagram::on_sent(const Direct& direct) {
  if (request_ == nullptr || request_->serial != direct.serial) return;
  const bool failed = qp_.adapter().memory().failed();
  end(failed ? Outcome{.kind = Outcome::Kind::kLocalError, .status = verbs::WcStatus::kFatal}
             : Outcome{},
      channel_->now());
}

void OutboundDatagram::lose(Instant now) {
  if (request_ == nullptr) return;
  channel_->line_of_datagrams().leave(sending);
  channel_->forget(*this);
  end({}, now);
}

}  // namespace paravane::transport_channel
