// ChannelHost: one of two hosts that are joined by a TCP channel: the daemon's worker on a
// core of its own, with its transports and one VM, whose guest is stepped there too.

#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "bench/guest_program.h"
#include "bench/vm.h"
#include "transport/tcp/tcp_transport.h"
#include "worker/channel_tenant.h"
#include "worker/spin_policy.h"
#include "worker/transport_tenant.h"
#include "worker/worker.h"

namespace paravane::bench {

class ChannelHost final : private transport_tcp::LocalOwners {
 public:
  ChannelHost(unsigned side, unsigned core, worker::SpinMode spin);
  ~ChannelHost() override;
  ChannelHost(const ChannelHost&) = delete;
  ChannelHost& operator=(const ChannelHost&) = delete;

  // ---- The benchmark's thread ----
  // Runs `work` on the worker's thread and waits for its end.
  void on_worker(const std::function<void()>& work);
  // What the peer's guest has is reached by `stream` from now on.
  void join(const verbs::Gid& peer, transport_tcp::ChannelConfig config,
            std::unique_ptr<transport_tcp::Stream> stream);
  verbs::HostId peer() const { return verbs::HostId{2 - side_}; }
  bool is_joined();
  // From now on the channel may be lost.
  void expect_end();
  double cpu_seconds();
  // Payload bytes that passed a buffer of the transport's.
  std::uint64_t staged_bytes();
  // The program gets its steps until it has ended, or its owner takes it away (nullptr).
  void run(GuestProgram* program);

  // ---- The worker's thread ----
  fake::FakeGuest& guest() { return vm_->vm.guest(); }

 private:
  // The VM and what runs in it: its guest's turn is the beginning of its own.
  struct Tenant final : worker::Tenant {
    Tenant(std::uint32_t index, Network& network);
    bool has_work() const override;
    Instant next_look() override { return vm.next_look(); }
    bool turn(Instant now, verbs::Budget& budget) override;

    Vm vm;
    GuestProgram* program = nullptr;
  };

  std::optional<verbs::AdapterId> find_local(verbs::SegmentId segment, const verbs::Gid& gid,
                                             verbs::GidType type) const override {
    return network_->directory.find_local(segment, gid, type);
  }

  const unsigned side_;
  bool leaving_ = false;
  std::unique_ptr<worker::Worker> worker_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<transport_tcp::TcpTransport> tcp_;
  std::unique_ptr<worker::TransportTenant> local_turns_;
  std::unique_ptr<worker::ChannelTenant> tcp_turns_;
  std::unique_ptr<Tenant> vm_;
};

}  // namespace paravane::bench
