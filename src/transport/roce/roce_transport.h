// RoceTransport connects adapters of this host with native RoCE endpoints: adapters of real
// hardware, and Linux's rdma_rxe on hosts, in VMs and in containers. It speaks RoCE v2 and v1 over
// the network of the adapter's own port (docs/roce.md).
//
// Nothing on the network is trusted. A packet counts if its CRC is right and it comes from the GID
// that its queue pair is connected to. Nothing else is answered, but for probes of adapters of the
// cluster that are reached through a router, within a bound (router_probe.h).
//
// Owner thread only: all adapters of one RoceTransport belong to one worker.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "base/turn_clock.h"
#include "state/reader.h"
#include "state/writer.h"
#include "transport/roce/frame_door.h"
#include "transport/roce/roce_port.h"
#include "verbs/adapter.h"
#include "verbs/transport.h"
#include "wire/roce/frame.h"

namespace paravane::transport_roce {

class RoceTransport final : public verbs::Transport {
 public:
  // The number of requests of one queue pair in progress at once.
  static constexpr std::uint32_t kDepth = 256;

  // `traffic_class`: of RoCE v2 packets whose connection or datagram names none (flow_facts.h).
  // `clock` outlives the transport.
  RoceTransport(const TurnClock& clock, std::uint8_t traffic_class)
      : clock_(clock), traffic_class_(traffic_class) {}

  // `mac`: of the adapter. `door` outlives the attachment. The connections that the adapter had
  // with native endpoints go on, and so do those that were loaded. REQUIRES: an attached adapter is
  // detached before it is destroyed; adapter ids are small numbers (they index a table).
  void attach(verbs::Adapter& adapter, const wire::roce::MacBytes& mac, FrameDoor& door);
  void detach(verbs::Adapter& adapter);

  // ---- Saved state (docs/state.md) ---- Of an adapter's connections with native endpoints. Those
  // that are in the state wait for attach(), in which their packets go on with their numbers.
  // False: the adapter has had no port, so there is nothing to save.
  bool has_state(const verbs::Adapter& adapter) const { return made_port_of(adapter) != nullptr; }
  // REQUIRES: has_state().
  void save(const verbs::Adapter& adapter, state::Writer& out) const;
  // REQUIRES: the adapter and its queue pairs were loaded, none of them has run, and the adapter
  // was not attached. If the state is refused, the queue pairs are of no use any more.
  void load(verbs::Adapter& adapter, const wire::roce::MacBytes& mac, state::Reader& in);

  // The number of the packet with which a connection goes on, in each direction.
  struct NextPackets {
    verbs::Psn expected;    // of the peer's
    verbs::Psn unanswered;  // of ours; 0: nothing was sent
  };
  // nullopt: the queue pair has exchanged nothing with a native endpoint.
  std::optional<NextPackets> next_packets(const verbs::QueuePair& qp) const;
  // When the adapter's port may be read again: later than now, if others flood it.
  Instant resumes(verbs::AdapterId id) const;
  // When the last frame came that was of use, at any port.
  Instant last_frame() const { return last_frame_; }
  // nullptr: the adapter has no port.
  const RoceCounters* counters_of(verbs::AdapterId id) const;

  // ---- Probes of routers (router_probes.h) ----
  // Of the way that the packets of this connection take. REQUIRES: its path is routed.
  ProbeReport probe_of(const verbs::QueuePair& qp) const;
  // Of all ways that are probed from the adapter's port; empty: it has no port.
  std::vector<ProbeReport> probes_of(verbs::AdapterId id) const;
  // A number that is another after each change of what probes_of() gives, but for hears_peer.
  std::uint64_t probe_changes(verbs::AdapterId id) const;

  // ---- Transport ----
  std::string_view name() const override { return "roce"; }
  bool has_packets() const override { return true; }
  std::uint32_t depth() const override { return kDepth; }
  std::optional<verbs::Outcome> submit(verbs::QueuePair& qp, const verbs::Path& path,
                                       const verbs::SendRequest& request,
                                       verbs::Budget& budget) override;
  void cancel(verbs::QueuePair& qp) override;
  std::optional<verbs::Outcome> send_datagram(verbs::QueuePair& qp, const verbs::Path& path,
                                              const verbs::DatagramSource& source,
                                              const verbs::SendRequest& request) override;
  void send_copied_datagram(const verbs::Path& path, const verbs::DatagramSource& source,
                            const verbs::SendRequest& request,
                            std::span<const std::byte> payload) override;
  void poll(Instant now, verbs::Budget& budget) override;
  bool has_work() const override;

 private:
  std::shared_ptr<RocePort> port_of(verbs::AdapterId id) const;
  OwnEnd own_end(const wire::roce::MacBytes& mac) const;
  // nullptr: none was made for the adapter. It may have no door.
  std::shared_ptr<RocePort> made_port_of(const verbs::Adapter& adapter) const;
  // One without a door, in place of the one that the adapter's number had.
  std::shared_ptr<RocePort> make_port(verbs::Adapter& adapter, const wire::roce::MacBytes& mac);
  std::vector<const RoceFlow*> flows_of(const verbs::Adapter& adapter) const;
  bool load_flow(state::Reader& in, const std::shared_ptr<RocePort>& port, std::uint32_t number);
  RoceFlow* known_flow_of(const verbs::QueuePair& qp) const;
  RoceFlow& flow_of(verbs::QueuePair& qp, const std::shared_ptr<RocePort>& port);
  static void schedule(RoceFlow& flow);
  static RoceFlow* next_to_send(RocePort& port);
  void arm(RoceFlow& flow);
  void on_timer(RoceFlow& flow, Instant now);
  // What the flow waited for has not come.
  void expire(RoceFlow& flow, Instant now);
  // Of the flows that are late, those that have heard all that came in time.
  void expire_late(RocePort& port, bool is_dry, verbs::Budget& budget);

  // True: nothing is left to be read, or may be.
  bool receive(const std::shared_ptr<RocePort>& port, verbs::Budget& budget);
  void on_frame(const std::shared_ptr<RocePort>& port,
                const std::expected<wire::roce::Frame, wire::roce::FrameFault>& frame);
  void on_packet(const std::shared_ptr<RocePort>& port, const wire::roce::Frame& frame);
  void on_datagram(RocePort& port, verbs::QueuePair& qp, const wire::roce::Frame& frame);
  // Anyone can send it, so it costs the port its right to be read. `why`: counts it.
  void refuse(RocePort& port, Counter& why) const;
  // Whether the packet comes from the peer of the queue pair, over this transport.
  bool is_from_peer(verbs::QueuePair& qp, const wire::roce::Packet& packet) const;
  void count_open();
  void send(RocePort& port, verbs::Budget& budget);
  void on_connection_packet(RoceFlow& flow, const wire::roce::Frame& frame);
  // Tells the peer of marks. False: the outlet is full.
  bool notify(RoceFlow& flow, RocePort& port) const;
  // False: the outlet is full.
  bool compose(RoceFlow& flow, RocePort& port, verbs::Budget& budget);

  void follow_router(RoceFlow& flow, RocePort& port);
  void arm_probes(RocePort& port);
  void run_probes(RocePort& port);
  static void stop_probes(RocePort& port);
  // Whether an adapter of the cluster in another network has the GID, and is reached through a
  // router.
  bool is_routed_to(RocePort& port, const verbs::Gid& peer) const;
  void on_probe(RocePort& port, const wire::roce::Frame& frame);

  const TurnClock& clock_;
  const std::uint8_t traffic_class_;
  std::vector<std::shared_ptr<RocePort>> ports_;  // by AdapterId
  std::size_t open_ = 0;                          // ports with a door
  const std::shared_ptr<FrameAllowance> allowance_ = std::make_shared<FrameAllowance>();
  const std::shared_ptr<ProbedWays> probed_ways_ = std::make_shared<ProbedWays>();
  std::size_t frame_bytes_ = 0;  // of the frame, or its segment, that is being looked at
  Instant last_frame_{};
  std::size_t turn_ = 0;  // whose port is first
  ExtentList scratch_;
};

}  // namespace paravane::transport_roce
