// MadLayer: the MadPort of an adapter's port, and its queue pairs 0 and 1: what arrives there goes
// to the port's own agents, to whatever asked, or to whatever has registered for it; what an agent
// sends goes out with the port's name. A request that has no receiver is answered with a status.
//
// The subnet's thread only.

#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/turn_clock.h"
#include "subnet/asked_mads.h"
#include "subnet/mad_port.h"
#include "subnet/performance_agent.h"
#include "subnet/segment_table.h"
#include "subnet/subnet_interface.h"

namespace paravane::subnet {

class MadLayer final : public MadPort, public SubnetInterface::Outlet, private SegmentOwner {
 public:
  // That are sent again, or given up, in one call of on_time().
  static constexpr unsigned kMostDue = 64;

  // The adapter's part.
  class Outlet {
   public:
    virtual ~Outlet() = default;
    // Out of the port, whatever its state lets it do. `headers.source` is set by the outlet where
    // the route is not directed.
    virtual void send(const wire::infiniband::DatagramHeaders& headers,
                      std::span<const std::byte, wire::infiniband::kMadBytes> mad) = 0;
    virtual void on_manager_change() = 0;
    // A request came with a wrong management key.
    virtual void on_bad_key(const MadAddress& /*from*/, const SubnetInterface::Smp& /*smp*/) {}
  };

  // All outlive us. `room`: of all ports of the subnet; nullptr: there is no such bound.
  MadLayer(Node& node, Port& port, Outlet& outlet, const TurnClock& clock,
           SegmentRoom* room = nullptr);

  // ---- Packets: to queue pair 0, and 1; anything else than a MAD is dropped ----
  void on_subnet_packet(const wire::infiniband::Datagram& packet);
  void on_service_packet(const wire::infiniband::Datagram& packet);

  // ---- Time ----
  // Does what is due, as far as its bounds go: afterwards next_deadline() may still have passed.
  void on_time(Instant now);
  Instant next_deadline() const {
    return std::min(asked_.next_deadline(), segments_.next_deadline());
  }

  // ---- MadPort ----
  std::expected<AgentId, AgentRefusal> register_agent(const AgentWish& wish,
                                                      MadAgent& agent) override;
  void unregister(AgentId agent) override;
  std::expected<void, SendRefusal> send(AgentId agent, const MadAddress& to,
                                        std::span<const std::byte> mad, Duration timeout,
                                        unsigned retries, Instant now) override;
  void set_manager(bool is_manager) override;

  // ---- SubnetInterface::Outlet ----
  void send_through(PortNumber port, const SubnetInterface::Smp& smp) override;
  void send_to(const MadAddress& to, const SubnetInterface::Smp& smp) override;
  void deliver(const MadAddress& from, const SubnetInterface::Smp& smp) override;
  void on_bad_key(const MadAddress& from, const SubnetInterface::Smp& smp) override {
    outlet_.on_bad_key(from, smp);
  }

 private:
  struct Registration {
    AgentWish wish;
    MadAgent* agent;
    std::uint64_t program;  // the same for all that one MadAgent has registered
  };
  using Mad = wire::infiniband::MadBytes;

  // ---- SegmentOwner ----
  void on_transmit(const MadAddress& to, const Mad& mad) override { transmit(to, mad); }
  void on_joined(const MadAddress& from, std::vector<std::byte> mad) override {
    dispatch(from, mad);
  }
  // An agent whose MAD is lost asks again.
  void on_sent(std::uint64_t /*tag*/) override {}
  void on_not_sent(std::uint64_t /*tag*/, const SegmentFailure& /*failure*/) override {}

  void transmit(const MadAddress& to, const Mad& mad);
  // To the agent that asked, or has registered for it. REQUIRES: a MAD with all of its header.
  void dispatch(const MadAddress& from, std::span<const std::byte> mad);
  // Of one that was given up.
  void tell_no_answer(AskedMads::Due& due);
  void answer_for_none(const MadAddress& from, std::span<const std::byte> mad);
  // kNone: no agent wants it.
  AgentId receiver_of(std::span<const std::byte> mad) const;
  std::uint64_t program_of(const MadAgent& agent);

  Port& port_;
  Outlet& outlet_;
  const TurnClock& clock_;
  SubnetInterface subnet_;
  PerformanceAgent performance_;
  std::map<AgentId, Registration> agents_;
  std::uint32_t next_agent_ = 1;
  std::uint64_t next_program_ = 1;
  unsigned managers_ = 0;
  AskedMads asked_;
  SegmentTable segments_;
};

}  // namespace paravane::subnet
