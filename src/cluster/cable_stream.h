// CableStream: the TLS connection to another host as the stream of a cable.
//
// One thread at a time, and after it was handed over that of the subnet.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "cable/byte_stream.h"
#include "transport/channel/stream.h"

namespace paravane::cluster {

class CableStream final : public cable::ByteStream {
 public:
  explicit CableStream(std::unique_ptr<transport_channel::Stream> stream)
      : stream_(std::move(stream)) {}

  int fd() const override { return stream_->fd(); }
  Moved read(std::span<std::byte> to) override {
    const iovec place{.iov_base = to.data(), .iov_len = to.size()};
    return noted(stream_->read(std::span(&place, 1)));
  }
  Moved write(std::span<const std::byte> from) override {
    const iovec place{.iov_base = const_cast<std::byte*>(from.data()), .iov_len = from.size()};
    return noted(stream_->write(std::span(&place, 1)));
  }
  std::string problem() const override { return problem_; }

 private:
  Moved noted(const IoResult& result) {
    switch (result.kind) {
      case IoResult::Kind::kMoved: return {.bytes = result.bytes};
      case IoResult::Kind::kWouldBlock: return {};
      case IoResult::Kind::kClosed: problem_ = "the host closed the connection"; break;
      case IoResult::Kind::kBroken:
      case IoResult::Kind::kBadMemory: problem_ = stream_->problem(); break;
    }
    return {.is_over = true};
  }

  std::unique_ptr<transport_channel::Stream> stream_;
  std::string problem_;
};

}  // namespace paravane::cluster
