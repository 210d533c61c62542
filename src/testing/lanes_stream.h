// LanesStream is a socket's stream with the lanes of a trunk beside it, so that what a test writes
// as records and sends as pieces comes from the same host.
//
// Owner thread only.

#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "testing/fake_trunk.h"
#include "transport/tcp/socket_stream.h"

namespace paravane::fake {

class LanesStream final : public transport_channel::Stream, transport_channel::LanePort {
 public:
  LanesStream(UniqueFd socket, FakeTrunk& trunk)
      : socket_(std::move(socket)), trunk_(trunk.stream_with_lanes()), port_(*trunk_->lanes()) {}

  int fd() const override { return socket_.fd(); }
  IoResult read(std::span<const iovec> to) override { return socket_.read(to); }
  IoResult write(std::span<const iovec> from) override { return socket_.write(from); }
  std::string problem() const override { return socket_.problem(); }
  LanePort* lanes() override { return this; }

 private:
  // The trunk's own stream carries nothing.
  void pump() const {
    std::byte none{};
    const std::array to{iovec{.iov_base = &none, .iov_len = 1}};
    static_cast<void>(trunk_->read(to));
  }

  bool reaches(verbs::Adapter& adapter, const ExtentList& extents) override {
    return port_.reaches(adapter, extents);
  }
  transport_channel::MemoryState memory_of(verbs::AdapterId adapter) const override {
    return port_.memory_of(adapter);
  }
  std::size_t most_extents() const override { return port_.most_extents(); }
  bool post_receive(std::uint32_t lane, verbs::AdapterId adapter, const ExtentList& to) override {
    return port_.post_receive(lane, adapter, to);
  }
  bool post_send(std::uint32_t lane, verbs::AdapterId adapter, const ExtentList& from,
                 std::uint32_t immediate) override {
    return port_.post_send(lane, adapter, from, immediate);
  }
  bool post_void(std::uint32_t lane, std::uint32_t immediate) override {
    return port_.post_void(lane, immediate);
  }
  std::optional<transport_channel::LaneEvent> next_lane_event() override {
    pump();
    return port_.next_lane_event();
  }
  bool has_events() const override {
    pump();
    return port_.has_events();
  }
  void connect(std::uint32_t lane, std::uint32_t own_psn, std::uint32_t peer_psn) override {
    port_.connect(lane, own_psn, peer_psn);
  }
  Duration close(std::uint32_t lane) override { return port_.close(lane); }
  void forget(verbs::AdapterId adapter) override { port_.forget(adapter); }

  transport_tcp::SocketStream socket_;
  std::unique_ptr<transport_hca::TrunkStream> trunk_;
  LanePort& port_;
};

}  // namespace paravane::fake
