// Host: the daemon's worker on its core with some VMs, without sockets.
//
// Guests are driven from the thread that made the host, bound to the other core.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "bench/cores.h"
#include "bench/vm.h"
#include "worker/transport_tenant.h"
#include "worker/worker.h"

namespace paravane::bench {

class Host {
 public:
  explicit Host(const Cores& cores, std::uint64_t ram_bytes = std::uint64_t{1} << 30);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  Vm& vm(unsigned index) { return *vms_[index]; }
  fake::FakeGuest& guest(unsigned index) { return vms_[index]->guest(); }

  // Runs `work` on the worker's thread, in place of its turns, and `meanwhile`
  // here; returns when both have ended. Nothing is served until then.
  void in_place_of_worker(
      const std::function<void()>& work, const std::function<void()>& meanwhile = [] {});

 private:
  std::optional<OnCore> here_;
  std::unique_ptr<worker::Worker> worker_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<worker::TransportTenant> transport_;
  std::vector<std::unique_ptr<Vm>> vms_;
};

}  // namespace paravane::bench
