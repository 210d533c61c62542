// ChannelHost: one of two hosts that are joined by a TCP channel.

#pragma once

#include <memory>
#include <optional>

#include "bench/worker_host.h"
#include "transport/channel/channel_transport.h"
#include "worker/channel_tenant.h"

namespace paravane::bench {

class ChannelHost final : public WorkerHost, private transport_channel::LocalOwners {
 public:
  ChannelHost(unsigned side, unsigned core, worker::SpinMode spin);
  ~ChannelHost() override;

  // ---- The benchmark's thread ----
  // What the peer's guest has is reached by `stream` from now on.
  void join(const verbs::Gid& peer, transport_channel::ChannelConfig config,
            std::unique_ptr<transport_channel::Stream> stream);
  verbs::HostId peer() const { return verbs::HostId{2 - side()}; }
  bool is_joined();
  // From now on the channel may be lost.
  void expect_end();
  // Payload bytes that passed a buffer of the transport's.
  std::uint64_t staged_bytes();

 private:
  std::optional<verbs::AdapterId> find_local(verbs::SegmentId segment, const verbs::Gid& gid,
                                             verbs::GidType type) const override {
    return owners_->find_local(segment, gid, type);
  }

  bool leaving_ = false;
  fabric::Directory* owners_ = nullptr;
  std::unique_ptr<transport_channel::ChannelTransport> tcp_;
  std::unique_ptr<worker::ChannelTenant> tcp_turns_;
};

}  // namespace paravane::bench
