// Connection: what is saved of it, of the messages that are arriving and of the response that is
// being sent.

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

using state::Descriptors;
using state::Reader;
using state::Tag;
using state::Writer;

constexpr Tag kArriving{1};
constexpr Tag kSending{2};     // none: nothing is
constexpr Tag kEnds{3};        // none: it goes on
constexpr Tag kEndsBroken{1};  // of its end

// Of a stream of messages.
constexpr Tag kArrivedBytes{1};
constexpr Tag kArrivedBatch{2};   // a list
constexpr Tag kBatchPosition{1};  // of a batch; from the first byte that is saved
constexpr Tag kBatchLost{2};
constexpr Tag kBatchFd{3};  // a list
constexpr std::size_t kMostBatches = 2;

// Of an outbox.
constexpr Tag kBytesToSend{1};
constexpr Tag kFdToSend{2};  // which of those that are lent; none: none, or sent already

}  // namespace

void Connection::save(Writer& out, Descriptors& descriptors, std::span<const int> lent) const {
  {
    const Writer::Group group(out, kArriving);
    stream_.save(out, descriptors);
  }
  if (outbox_.pending()) {
    const Writer::Group group(out, kSending);
    outbox_.save(out, lent);
  }
  if (!ending_) return;
  const Writer::Group group(out, kEnds);
  out.flag(kEndsBroken, ending_->broken);
}

void Connection::load(Reader& in, Descriptors& descriptors, std::span<const int> lent) {
  Reader arriving = in.group(kArriving);
  stream_.load(arriving, descriptors);
  if (auto sending = in.group_if(kSending)) outbox_.load(*sending, lent);
  if (auto ends = in.group_if(kEnds)) {
    const bool broken = ends->flag(kEndsBroken);
    ends->end();
    // A text of the state's would go into the log.
    ending_ = Ending{.broken = broken, .reason = "it was ending while it was handed over"};
  }
  in.end();
}

void MessageStream::save(Writer& out, Descriptors& descriptors) const {
  out.bytes(kArrivedBytes, std::span(buffer_).subspan(begin_, end_ - begin_));
  for (const Arrived& batch : arrived_) {
    const Writer::Group group(out, kArrivedBatch);
    out.number(kBatchPosition, batch.position - handed_out_);
    out.flag(kBatchLost, batch.lost);
    for (const UniqueFd& fd : batch.fds) descriptors.save(out, kBatchFd, fd.get());
  }
}

void MessageStream::load(Reader& in, Descriptors& descriptors) {
  assert(!has_bytes() && handed_out_ == 0 && arrived_.empty());
  const std::span<const std::byte> bytes = in.bytes(kArrivedBytes, kMaxMessageBytes);
  buffer_.assign(bytes.begin(), bytes.end());
  begin_ = 0;
  end_ = buffer_.size();
  while (auto group = in.group_if(kArrivedBatch)) {
    if (!in.expect(arrived_.size() < kMostBatches, "too many batches of descriptors")) return;
    Arrived batch;
    batch.position = group->number(kBatchPosition);
    batch.lost = group->flag(kBatchLost);
    while (UniqueFd fd = descriptors.load_if(*group, kBatchFd)) {
      if (!group->expect(batch.fds.size() < kMaxMessageFds, "too many descriptors")) return;
      batch.fds.push_back(std::move(fd));
    }
    group->end();
    const bool in_order = arrived_.empty() || arrived_.back().position < batch.position;
    if (!group->expect(batch.position < end_ && in_order && (batch.lost || !batch.fds.empty()),
                       "descriptors came with no byte")) {
      return;
    }
    arrived_.push_back(std::move(batch));
  }
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
  sent_ = 0;
  fd_ = in.good() && which ? lent[*which] : -1;
}

}  // namespace paravane::vfio_user
