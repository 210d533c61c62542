// SlowWire: what goes from one end of a connection to the other, at a pace that the test
// sets: bytes wait in a socket buffer of `buffer_bytes` and leave it as time passes.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "transport/channel/stream.h"

namespace paravane::fake {

class SlowWire {
 public:
  SlowWire(std::uint64_t bytes_per_second, std::size_t buffer_bytes)
      : bytes_per_second_(bytes_per_second), buffer_bytes_(buffer_bytes) {}

  // An end that writes into this wire. The wire outlives it.
  std::unique_ptr<transport_channel::Stream> wrap(
      std::unique_ptr<transport_channel::Stream> stream) {
    auto made = std::make_unique<End>(*this, std::move(stream));
    end_ = made.get();
    return made;
  }

  // So much time has passed. What the wire could have brought and had not is lost.
  void pass(Duration time) {
    const double more =
        static_cast<double>(bytes_per_second_) * std::chrono::duration<double>(time).count();
    credit_ = std::min(credit_ + more, 2 * more);
    flush();
  }

 private:
  class End final : public transport_channel::Stream {
   public:
    End(SlowWire& wire, std::unique_ptr<transport_channel::Stream> stream)
        : wire_(wire), stream_(std::move(stream)) {}
    ~End() override { wire_.end_ = nullptr; }
    int fd() const override { return stream_->fd(); }
    std::string problem() const override { return stream_->problem(); }
    IoResult read(std::span<const iovec> to) override { return stream_->read(to); }
    IoResult write(std::span<const iovec> from) override { return wire_.take(from); }

   private:
    friend class SlowWire;
    SlowWire& wire_;
    std::unique_ptr<transport_channel::Stream> stream_;
  };

  // What the wire can bring at once is no part of what waits.
  IoResult take(std::span<const iovec> from) {
    const std::size_t most = buffer_bytes_ + static_cast<std::size_t>(credit_);
    std::size_t taken = 0;
    for (const iovec& piece : from) {
      const std::size_t part = std::min(piece.iov_len, most - std::min(most, waiting_.size()));
      const auto* bytes = static_cast<const std::byte*>(piece.iov_base);
      waiting_.insert(waiting_.end(), bytes, bytes + part);
      taken += part;
      if (part < piece.iov_len) break;
    }
    if (taken == 0) return {.kind = IoResult::Kind::kWouldBlock};
    flush();
    return {.bytes = taken};
  }

  void flush() {
    while (end_ != nullptr && credit_ >= 1 && !waiting_.empty()) {
      const std::size_t part =
          std::min({static_cast<std::size_t>(credit_), waiting_.size(), std::size_t{16} * 1024});
      const std::vector<std::byte> bytes(waiting_.begin(),
                                         waiting_.begin() + static_cast<std::ptrdiff_t>(part));
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): iovec knows no const
      const iovec piece{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = part};
      const IoResult result = end_->stream_->write(std::span(&piece, 1));
      if (result.kind != IoResult::Kind::kMoved) return;
      credit_ -= static_cast<double>(result.bytes);
      waiting_.erase(waiting_.begin(),
                     waiting_.begin() + static_cast<std::ptrdiff_t>(result.bytes));
    }
  }

  std::uint64_t bytes_per_second_;
  std::size_t buffer_bytes_;
  End* end_ = nullptr;
  std::deque<std::byte> waiting_;
  double credit_ = 0;
};

}  // namespace paravane::fake
