// WorkerHost: one of two hosts of the benchmark: the daemon's worker on a core of its own, with
// one VM, whose guest is stepped there too. A derived class has what joins it with the other.

#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "bench/guest_program.h"
#include "bench/vm.h"
#include "worker/spin_policy.h"
#include "worker/transport_tenant.h"
#include "worker/worker.h"

namespace paravane::bench {

class WorkerHost {
 public:
  virtual ~WorkerHost() = default;
  WorkerHost(const WorkerHost&) = delete;
  WorkerHost& operator=(const WorkerHost&) = delete;

  // ---- The benchmark's thread ----
  // Runs `work` on the worker's thread and waits for its end.
  void on_worker(const std::function<void()>& work);
  double cpu_seconds();
  // The program gets its steps until it has ended, or its owner takes it away (nullptr).
  void run(GuestProgram* program);

  // ---- The worker's thread ----
  fake::FakeGuest& guest() { return vm_->vm.guest(); }

 protected:
  // `spin_for`: how long the worker spins after it worked, before it sleeps; nullopt: as the mode
  // has it, and kAlways never sleeps.
  WorkerHost(unsigned side, unsigned core, worker::SpinMode spin,
             std::optional<Duration> spin_for = {});

  // The worker's thread. A derived class adds the VM when network() is complete, and removes it
  // before the transports in it are destroyed.
  void add_vm();
  void remove_vm();
  Network& network() { return *network_; }
  worker::Worker& worker() { return *worker_; }
  unsigned side() const { return side_; }

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

  const unsigned side_;
  std::unique_ptr<worker::Worker> worker_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<worker::TransportTenant> local_turns_;
  std::unique_ptr<Tenant> vm_;
};

// Two hosts that reach each other.
class HostPair {
 public:
  virtual ~HostPair() = default;
  HostPair(const HostPair&) = delete;
  HostPair& operator=(const HostPair&) = delete;

  virtual WorkerHost& host(unsigned side) = 0;
  // How the queue pairs of a host are connected.
  virtual fake::RcOptions options(unsigned /*side*/) const { return {}; }

 protected:
  HostPair() = default;
};

}  // namespace paravane::bench
