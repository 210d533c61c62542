// SrpInitiator: a vmhba with one target, and the devices that it finds there, served by NBD: what
// storage/storage.h and storage/vmhba.h do, without a switch to find targets in and without the
// daemon that gives the orders. Its turn is theirs, part by part.
//
// Worker's thread only, including construction and destruction.

#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "base/event_loop.h"
#include "base/timers.h"
#include "bench/srp_target.h"
#include "connection/communication_manager.h"
#include "fabric/directory.h"
#include "host_verbs/service_adapter.h"
#include "host_verbs/service_memory.h"
#include "storage/device_table.h"
#include "storage/target.h"
#include "transport/local/local_transport.h"
#include "worker/tenant.h"
#include "worker/worker.h"

namespace paravane::bench {

class SrpInitiator final : public worker::Tenant,
                           private connection::DatagramPort,
                           private connection::ConnectionListener {
 public:
  struct Surroundings {
    worker::Worker& worker;
    fabric::Directory& directory;
    transport_local::LocalTransport& local;
    SrpTarget& target;
    verbs::Gid target_gid{};
    std::filesystem::path sockets{};  // the directory
    // The first device is served; with its socket.
    std::function<void(const std::filesystem::path&)> ready;
  };
  // All outlive it.
  explicit SrpInitiator(Surroundings surroundings);
  ~SrpInitiator() override;
  SrpInitiator(const SrpInitiator&) = delete;
  SrpInitiator& operator=(const SrpInitiator&) = delete;

  // ---- Tenant ----
  bool has_work() const override;
  Instant next_look() override;
  bool turn(Instant now, verbs::Budget& budget) override;

 private:
  using Mad = SrpTarget::Mad;

  std::unique_ptr<storage::Target> make_target();
  void pump_vmhba(Instant now, verbs::Budget& budget);
  bool vmhba_has_work() const;
  void tell_ready();

  // ---- DatagramPort: to the target, whose answer comes in the next turn ----
  bool send(const wire::infiniband::Gid& to,
            std::span<const std::byte, wire::infiniband::kMadBytes> mad) override;
  // ---- ConnectionListener ----
  storage::TargetLogin* login(connection::ConnectionId id);
  void on_reply(connection::ConnectionId id, const connection::Reply& reply) override;
  void on_rejected(connection::ConnectionId id, const connection::Rejection& rejection) override;
  void on_timed_out(connection::ConnectionId id) override;
  void on_disconnected(connection::ConnectionId id, connection::Ending ending) override;

  const Surroundings surroundings_;
  TimerQueue timers_;
  std::unique_ptr<host_verbs::ServiceMemory> memory_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<host_verbs::ServiceAdapter> adapter_;
  connection::CommunicationManager connections_{*this, *this, 0x1234'5678'9ABC'DEF0};
  std::unique_ptr<storage::DeviceTable> devices_;
  std::unique_ptr<storage::Target> target_;
  std::deque<Mad> answers_;  // of the target's connection manager
  Instant now_{};            // of the turn that runs
  bool is_woken_ = true;
  bool is_readable_ = false;
  bool is_ready_ = false;
};

}  // namespace paravane::bench
