#include "testing/fake_trunk.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace paravane::fake {

using transport_hca::kTrunkBufferBytes;
using transport_hca::kTrunkBuffers;
using transport_hca::TrunkCompletion;

struct FakeTrunk::End {
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

  End() : event(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
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
  // What this end has sent, to buffers of the peer.
  void deliver() {
    const std::shared_ptr<End> to = peer.lock();
    if (!to || failed || to->failed) return;
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
  std::weak_ptr<End> peer;
  Buffers send;
  Buffers receive;
  std::deque<std::uint32_t> posted;
  std::deque<Message> waiting;
  std::deque<TrunkCompletion> completions;
  std::uint64_t sent = 0;
  std::uint64_t sent_empty = 0;
  std::uint64_t waited = 0;
};

namespace {

class Port final : public transport_hca::TrunkPort {
 public:
  explicit Port(std::shared_ptr<FakeTrunk::End> end) : end_(std::move(end)) {}

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
    end_->waited += end_->waiting.empty() ? 0 : 1;
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
  std::shared_ptr<FakeTrunk::End> end_;
};

}  // namespace

std::array<std::unique_ptr<FakeTrunk>, 2> FakeTrunk::make_pair() {
  const std::array ends{std::make_shared<End>(), std::make_shared<End>()};
  ends[0]->peer = ends[1];
  ends[1]->peer = ends[0];
  return {std::unique_ptr<FakeTrunk>(new FakeTrunk(ends[0])),
          std::unique_ptr<FakeTrunk>(new FakeTrunk(ends[1]))};
}

FakeTrunk::~FakeTrunk() = default;

std::unique_ptr<transport_hca::TrunkPort> FakeTrunk::port() {
  return std::make_unique<Port>(end_);
}

void FakeTrunk::fail() {
  end_->failed = true;
  end_->complete({.kind = TrunkCompletion::Kind::kFailed});
}

std::uint64_t FakeTrunk::sent() const {
  return end_->sent;
}

std::uint64_t FakeTrunk::sent_empty() const {
  return end_->sent_empty;
}

std::uint64_t FakeTrunk::waited() const {
  return end_->waited;
}

}  // namespace paravane::fake
