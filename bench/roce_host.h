// RoceHost: one of two hosts whose VMs are native RoCE endpoints to each other. RocePair: both.

#pragma once

#include <array>
#include <memory>
#include <optional>

#include "bench/question.h"
#include "bench/roce_networks.h"
#include "bench/worker_host.h"
#include "transport/roce/roce_transport.h"
#include "transport/roce/tap_door.h"
#include "worker/roce_tenant.h"

namespace paravane::bench {

class RoceHost final : public WorkerHost {
 public:
  // `tap`: the port of the adapter mac_of(side).
  RoceHost(unsigned side, unsigned core, UniqueFd tap);
  ~RoceHost() override;

  // Packets so far: that were sent again, and that came.
  std::uint64_t retransmitted();
  std::uint64_t received();

 private:
  std::uint64_t count(Counter transport_roce::RoceCounters::* counter);

  transport_roce::TapDoor door_;
  std::optional<transport_roce::RoceTransport> roce_;
  std::optional<worker::RoceTenant> roce_turns_;
};

class RocePair final : public HostPair {
 public:
  RocePair(const Settings& settings, RoceNetworks& networks, Arrival arrival);

  RoceHost& host(unsigned side) override { return *hosts_.at(side); }
  fake::RcOptions options(unsigned side) const override;
  // Of queue pairs that are connected from now on: 1024 or 4096.
  void set_mtu(std::uint32_t bytes);

 private:
  std::array<std::unique_ptr<RoceHost>, 2> hosts_;
  std::uint32_t path_mtu_ = 5;  // as enum ib_mtu
};

}  // namespace paravane::bench
