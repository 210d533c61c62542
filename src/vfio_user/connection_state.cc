// Connection: what is saved of it and of the response that is being sent. Messages that were not
// dealt with are in the socket.

#include <algorithm>
#include <cassert>
#include <optional>
#include <span>
#include <utility>

#include "vfio_user/connection.h"
#include "vfio_user/message_stream.h"
#include "vfio_user/outbox.h"

namespace paravane::vfio_user {
namespace {

using state::Reader;
using state::Tag;
using state::Writer;

constexpr Tag kArriving{1};
constexpr Tag kSending{2};     // none: nothing is
constexpr Tag kEnds{3};        // none: it goes on
constexpr Tag kEndsBroken{1};  // of its end

// Of what is kept.
constexpr Tag kKeptSerial{1};
constexpr Tag kKeptAnswer{2};  // no bytes: it wants none

// Of a stream of messages.
constexpr Tag kUnsettled{1};  // bytes

// Of an outbox.
constexpr Tag kBytesToSend{1};
constexpr Tag kFdToSend{2};  // which of those that are lent; none: none, or sent already

}  // namespace

void Connection::save(Writer& out, std::span<const int> lent) const {
  {
    const Writer::Group group(out, kArriving);
    stream_.save(out);
  }
  if (outbox_.pending()) {
    const Writer::Group group(out, kSending);
    outbox_.save(out, lent);
  }
  if (!ending_) return;
  const Writer::Group group(out, kEnds);
  out.flag(kEndsBroken, ending_->broken);
}

void Connection::load(Reader& in, std::span<const int> lent) {
  Reader arriving = in.group(kArriving);
  stream_.load(arriving);
  if (auto sending = in.group_if(kSending)) outbox_.load(*sending, lent);
  if (exchange_ != nullptr && stream_.has_unsettled()) exchange_->answer_otherwise();
  if (auto ends = in.group_if(kEnds)) {
    const bool broken = ends->flag(kEndsBroken);
    ends->end();
    // A text of the state's would go into the log.
    ending_ = Ending{.broken = broken, .reason = "it was ending while it was handed over"};
  }
  in.end();
}

void Connection::keep(Writer& out, std::span<const std::byte> answer) const {
  out.number(kKeptSerial, exchange_->serial());
  out.bytes(kKeptAnswer, answer);
}

void Connection::go_on(Reader& in) {
  const std::uint64_t serial = in.number(kKeptSerial);
  const std::span<const std::byte> answer = in.bytes(kKeptAnswer, Exchange::kMostAnswer);
  in.end();
  in.expect(serial >= exchange_->needs(), "what was attached last was not kept");
  in.expect(exchange_->step() != Exchange::Step::kUnknown,
            "how much of a response was sent is unknown");
  if (!in.good()) return;
  const bool was_dealt_with = serial == exchange_->serial();
  switch (exchange_->step()) {
    case Exchange::Step::kDone:
    case Exchange::Step::kUnknown: return;
    case Exchange::Step::kInHand:
      if (!was_dealt_with) return;  // it is, as if it had not been begun
      stream_.leave_out(exchange_->request());
      outbox_.send_later(answer);
      return;
    case Exchange::Step::kSending:
      stream_.leave_out(exchange_->request());
      outbox_.send_later(exchange_->rest());
      return;
    case Exchange::Step::kTakingOut:
      if (stream_.begins_with(socket_.get(), exchange_->request())) {
        stream_.leave_out(exchange_->request());
      }
      return;
  }
}

void MessageStream::save(Writer& out) const {
  out.number(kUnsettled, unsettled_);
}

void MessageStream::load(Reader& in) {
  assert(!looks_ && unsettled_ == 0);
  unsettled_ = in.number(kUnsettled, kMostUnsettled);
  in.end();
}

void Outbox::save(Writer& out, std::span<const int> lent) const {
  assert(pending());
  out.bytes(kBytesToSend, std::span(rest_).subspan(sent_));
  if (fd_ < 0) return;
  const auto which = std::ranges::find(lent, fd_);
  assert(which != lent.end());
  out.number(kFdToSend, static_cast<std::uint64_t>(which - lent.begin()));
}

void Outbox::load(Reader& in, std::span<const int> lent) {
  const std::span<const std::byte> bytes = in.bytes(kBytesToSend, kMaxMessageBytes);
  const std::optional<std::uint64_t> which = in.number_if(kFdToSend, lent.size() - 1);
  in.end();
  in.expect(!bytes.empty(), "a response has no bytes");
  in.expect(!which || lent[*which] >= 0, "a response carries no such descriptor");
  rest_.assign(bytes.begin(), bytes.end());
  by_file_ = false;
  sent_ = 0;
  fd_ = in.good() && which ? lent[*which] : -1;
}

}  // namespace paravane::vfio_user
