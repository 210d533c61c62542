// TrunkStream carries a channel's bytes over the queue pair of an RDMA adapter, in messages of up
// to one buffer. Each byte is copied once at either end.
//
// A message is sent only when the peer has a buffer for it. Each message contains the number of
// buffers that its sender has posted since the beginning. An end without data sends this number in
// an empty message. Data never uses the peer's last buffer, so there is always room for such a
// message, and both ends can continue.
//
// The peer is not trusted. An impossible number, or too many empty messages, end the stream.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "transport/channel/stream.h"
#include "transport/hca/trunk_lanes.h"
#include "transport/hca/trunk_port.h"

namespace paravane::transport_hca {

class TrunkStream final : public transport_channel::Stream {
 public:
  // `retire` takes the port when the stream ends, because the driver of the adapter may need a
  // while to end it. Null, or if it throws std::bad_alloc: the port is ended at once.
  using Retire = std::function<void(std::shared_ptr<TrunkPort>, std::shared_ptr<RegisteredMemory>)>;
  explicit TrunkStream(std::unique_ptr<TrunkPort> port, Retire retire = nullptr);
  // With lanes. REQUIRES: `retire`, which may be called while a lane is being connected.
  TrunkStream(std::unique_ptr<TrunkPort> port, Retire retire,
              std::shared_ptr<RegisteredMemory> memory, TrunkLanes::Connect connect);
  ~TrunkStream() override;
  TrunkStream(const TrunkStream&) = delete;
  TrunkStream& operator=(const TrunkStream&) = delete;

  int fd() const override { return port_->fd(); }
  bool has_one_event() const override { return true; }
  bool holds_bytes() const override { return arrived_.count() > 0; }
  transport_channel::LanePort* lanes() override { return lanes_ ? &*lanes_ : nullptr; }
  IoResult read(std::span<const iovec> to) override;
  IoResult write(std::span<const iovec> from) override;
  std::string problem() const override { return problem_; }

 private:
  // Buffer numbers, the oldest first.
  class Numbers {
   public:
    void push(std::uint32_t number) { numbers_.at((first_ + count_++) % kTrunkBuffers) = number; }
    std::uint32_t first() const { return numbers_.at(first_); }
    void pop() { first_ = (first_ + 1) % kTrunkBuffers, --count_; }
    std::uint32_t count() const { return count_; }

   private:
    std::array<std::uint32_t, kTrunkBuffers> numbers_{};
    std::uint32_t first_ = 0;
    std::uint32_t count_ = 0;
  };

  bool broken() const { return !problem_.empty(); }
  void break_off(std::string problem);
  bool pump();
  bool take_completions();
  void take(const TrunkCompletion& completion);
  void take_count(std::uint32_t posted);
  void let_go_of_first();
  // The number of the peer's free buffers.
  std::uint32_t credits() const { return peer_posted_ - sent_; }
  bool send(std::uint32_t bytes);
  void tell_count();
  std::size_t copy_out(std::span<const iovec> to, std::size_t from);
  std::size_t gather(std::span<const iovec> from, std::size_t skip);

  std::shared_ptr<TrunkPort> port_;
  Retire retire_;
  std::optional<TrunkLanes> lanes_;
  std::string problem_;
  bool armed_ = false;

  // Counts of messages and buffers since the beginning; they wrap.
  std::uint32_t sent_ = 0;
  std::uint32_t peer_posted_ = kTrunkBuffers;
  std::uint32_t posted_ = kTrunkBuffers;
  std::uint32_t told_ = kTrunkBuffers;  // the last posted_ that was sent to the peer

  Numbers free_;                                      // send buffers
  Numbers arrived_;                                   // receive buffers with a message
  std::array<std::uint32_t, kTrunkBuffers> bytes_{};  // of each receive buffer's message
  std::uint32_t taken_ = 0;                           // of the first message in arrived_
  std::uint32_t messages_ = 0;                        // received in this call
  std::uint32_t empty_ = 0;                           // those without data
};

}  // namespace paravane::transport_hca
