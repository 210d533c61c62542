// FakeTrunkEnd: the queue pair of an RDMA adapter, and FakeTrunkPort: the port that has it, in
// memory. fake_trunk.h and fake_trunk_device.h connect them.
//
// Owner thread only; of a connected pair, the same.

#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "transport/hca/trunk_device.h"

namespace paravane::fake {

using transport_hca::kTrunkBufferBytes;
using transport_hca::kTrunkBuffers;
using transport_hca::TrunkCompletion;

struct FakeTrunkEnd {
  // Not filled: most tests use few of them.
  struct Buffers {
    std::span<std::byte, kTrunkBufferBytes> at(std::uint32_t buffer) const {
      return std::span<std::byte, kTrunkBufferBytes>(
          bytes.get() + std::size_t{buffer} * kTrunkBufferBytes, kTrunkBufferBytes);
    }
    std::unique_ptr<std::byte[]> bytes =
        std::make_unique_for_overwrite<std::byte[]>(std::size_t{kTrunkBuffers} * kTrunkBufferBytes);
  };
  struct Message {
    std::uint32_t buffer;
    std::uint32_t bytes;
    std::uint32_t immediate;
  };

  FakeTrunkEnd() : event(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    for (std::uint32_t buffer = 0; buffer < kTrunkBuffers; ++buffer) posted.push_back(buffer);
  }

  void complete(const TrunkCompletion& completion) {
    completions.push_back(completion);
    tell();
  }
  void tell() {
    if (!std::exchange(armed, false)) return;
    const std::uint64_t one = 1;
    static_cast<void>(::write(event.get(), &one, sizeof one));
  }
  // What this end has sent, to buffers of the peer. The retries for a peer that has failed run out
  // at once.
  void deliver() {
    const std::shared_ptr<FakeTrunkEnd> to = peer.lock();
    if (!to || failed || hangs) return;
    if (to->failed && !waiting.empty()) {
      failed = true;
      return complete({.kind = TrunkCompletion::Kind::kFailed});
    }
    while (!waiting.empty() && !to->posted.empty()) {
      const Message message = waiting.front();
      waiting.pop_front();
      const std::uint32_t buffer = to->posted.front();
      to->posted.pop_front();
      std::copy_n(send.at(message.buffer).begin(), message.bytes, to->receive.at(buffer).begin());
      to->complete({.kind = TrunkCompletion::Kind::kReceived,
                    .buffer = buffer,
                    .bytes = message.bytes,
                    .immediate = message.immediate});
      complete({.kind = TrunkCompletion::Kind::kSent, .buffer = message.buffer});
    }
  }

  UniqueFd event;
  bool armed = false;
  bool failed = false;
  bool hangs = false;
  std::weak_ptr<FakeTrunkEnd> peer;
  Buffers send;
  Buffers receive;
  std::deque<std::uint32_t> posted;
  std::deque<Message> waiting;
  std::deque<TrunkCompletion> completions;
  std::uint64_t sent = 0;
  std::uint64_t sent_empty = 0;
  std::uint64_t waited = 0;
};

class FakeTrunkPort final : public transport_hca::FreshTrunkPort {
 public:
  using Connect = std::function<Status(const transport_hca::TrunkAddress&)>;
  // `connect` and `address`: for ports that are not connected yet.
  explicit FakeTrunkPort(std::shared_ptr<FakeTrunkEnd> end,
                         const transport_hca::TrunkAddress& address = {}, Connect connect = {})
      : end_(std::move(end)), address_(address), connect_(std::move(connect)) {}

  transport_hca::TrunkAddress address() const override { return address_; }
  Status connect(const transport_hca::TrunkAddress& peer) override { return connect_(peer); }

  std::span<std::byte, kTrunkBufferBytes> send_buffer(std::uint32_t buffer) override {
    return end_->send.at(buffer);
  }
  std::span<const std::byte, kTrunkBufferBytes> receive_buffer(
      std::uint32_t buffer) const override {
    return end_->receive.at(buffer);
  }
  bool post_receive(std::uint32_t buffer) override {
    if (end_->failed) return false;
    end_->posted.push_back(buffer);
    if (const auto peer = end_->peer.lock()) peer->deliver();
    return true;
  }
  bool post_send(std::uint32_t buffer, std::uint32_t bytes, std::uint32_t immediate) override {
    if (end_->failed) return false;
    ++end_->sent;
    if (bytes == 0) ++end_->sent_empty;
    end_->waiting.push_back({.buffer = buffer, .bytes = bytes, .immediate = immediate});
    end_->deliver();
    if (!end_->waiting.empty()) ++end_->waited;
    return true;
  }
  std::optional<TrunkCompletion> next() override {
    if (end_->completions.empty()) return std::nullopt;
    const TrunkCompletion completion = end_->completions.front();
    end_->completions.pop_front();
    return completion;
  }
  bool arm() override {
    end_->armed = true;
    return !end_->failed;
  }
  bool take_event() override {
    std::uint64_t count = 0;
    return ::read(end_->event.get(), &count, sizeof count) == sizeof count;
  }
  int fd() const override { return end_->event.get(); }
  std::string problem() const override { return "the RDMA adapter is gone"; }

 private:
  std::shared_ptr<FakeTrunkEnd> end_;
  transport_hca::TrunkAddress address_;
  Connect connect_;
};

}  // namespace paravane::fake
