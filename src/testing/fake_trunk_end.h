// FakeTrunkEnd: the queue pair of an RDMA adapter, and FakeTrunkPort: the port that has it, in
// memory. fake_trunk.h and fake_trunk_device.h connect them.
//
// Owner thread only; of a connected pair, the same.

#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "transport/hca/trunk_device.h"
#include "wire/lane_frames.h"

namespace paravane::fake {

using transport_hca::kTrunkBufferBytes;
using transport_hca::kTrunkBuffers;
using transport_hca::LanePlace;
using transport_hca::TrunkCompletion;

class FakeRegistration final : public transport_hca::MemoryRegistration {
 public:
  std::uint32_t key() const override { return 1; }
};

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

  // A queue pair beside it. What is posted is read and written when it is delivered.
  struct Lane {
    struct Send {
      std::vector<LanePlace> places;
      std::uint32_t immediate;
    };
    bool is_connected = false;
    transport_hca::LaneNumbers numbers{};
    std::deque<std::vector<LanePlace>> receives{};
    std::deque<Send> sends{};
  };

  // What this end has sent on a lane, to places of the peer's. An end that the peer is not
  // connected to is tried again without end.
  void deliver_on_lane(std::uint32_t number) {
    const std::shared_ptr<FakeTrunkEnd> to = peer.lock();
    if (!to || failed || to->failed || hangs || holds_lanes) return;
    Lane& own = lanes.at(number);
    Lane& other = to->lanes.at(number);
    const bool meet = own.is_connected && other.is_connected &&
                      own.numbers.own_psn == other.numbers.peer_psn &&
                      own.numbers.peer_psn == other.numbers.own_psn;
    while (meet && !own.sends.empty() && !other.receives.empty()) {
      const Lane::Send message = std::move(own.sends.front());
      own.sends.pop_front();
      const std::vector<LanePlace> places = std::move(other.receives.front());
      other.receives.pop_front();
      const std::optional<std::uint32_t> bytes = copy(message.places, places);
      if (!bytes) {
        complete({.kind = TrunkCompletion::Kind::kLaneFailed, .buffer = number});
        to->complete({.kind = TrunkCompletion::Kind::kLaneFailed, .buffer = number});
        return;
      }
      lane_bytes += *bytes;
      to->complete({.kind = TrunkCompletion::Kind::kLaneReceived,
                    .buffer = number,
                    .bytes = *bytes,
                    .immediate = message.immediate});
      complete({.kind = TrunkCompletion::Kind::kLaneSent, .buffer = number});
    }
  }
  // nullopt: it is longer than the places.
  static std::optional<std::uint32_t> copy(std::span<const LanePlace> from,
                                           std::span<const LanePlace> to) {
    std::vector<std::byte> bytes;
    for (const LanePlace& place : from) {
      bytes.insert(bytes.end(), place.bytes.begin(), place.bytes.end());
    }
    std::size_t done = 0;
    for (const LanePlace& place : to) {
      const std::size_t part = std::min(place.bytes.size(), bytes.size() - done);
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(done), part, place.bytes.begin());
      done += part;
    }
    if (done < bytes.size()) return std::nullopt;
    return static_cast<std::uint32_t>(done);
  }
  void close_lane(std::uint32_t number) {
    std::this_thread::sleep_for(closes_in);
    lanes.at(number) = {};
    std::erase_if(completions, [number](const TrunkCompletion& completion) {
      const bool is_of_lane = completion.kind == TrunkCompletion::Kind::kLaneSent ||
                              completion.kind == TrunkCompletion::Kind::kLaneReceived ||
                              completion.kind == TrunkCompletion::Kind::kLaneFailed;
      return is_of_lane && completion.buffer == number;
    });
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
  std::array<Lane, wire::kLanes + 1> lanes;
  std::chrono::milliseconds closes_in{};  // a lane
  bool holds_lanes = false;               // what is sent on them waits
  std::uint64_t lane_bytes = 0;           // that were delivered to the peer
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
  bool connect_lane(const transport_hca::LaneNumbers& numbers) override {
    FakeTrunkEnd::Lane& lane = end_->lanes.at(numbers.lane);
    lane = {.is_connected = true, .numbers = numbers};
    if (const auto peer = end_->peer.lock()) peer->deliver_on_lane(numbers.lane);
    return !end_->failed;
  }
  void close_lane(std::uint32_t lane) override { end_->close_lane(lane); }
  std::size_t most_places() const override { return 16; }
  bool post_lane_receive(std::uint32_t lane, std::span<const LanePlace> places) override {
    if (end_->failed) return false;
    end_->lanes.at(lane).receives.emplace_back(places.begin(), places.end());
    if (const auto peer = end_->peer.lock()) peer->deliver_on_lane(lane);
    return true;
  }
  bool post_lane_send(std::uint32_t lane, std::span<const LanePlace> places,
                      std::uint32_t immediate) override {
    if (end_->failed) return false;
    end_->lanes.at(lane).sends.push_back(
        {.places = {places.begin(), places.end()}, .immediate = immediate});
    end_->deliver_on_lane(lane);
    return true;
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
