// EngineRig: adapters of one host with the real local path and the real
// directory, stepped by hand in a time of its own.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/timers.h"
#include "fabric/directory.h"
#include "testing/engine_vm.h"
#include "testing/fake_clock.h"
#include "transport/local/local_transport.h"

namespace paravane::fake {

class EngineRig {
 public:
  explicit EngineRig(unsigned vms = 2, std::uint64_t ram_bytes = 64 << 20);
  virtual ~EngineRig();
  EngineRig(const EngineRig&) = delete;
  EngineRig& operator=(const EngineRig&) = delete;

  EngineVm& vm(unsigned index) { return *members_.at(index).vm; }
  EngineVm& a() { return vm(0); }
  EngineVm& b() { return vm(1); }
  TimerQueue& timers() { return timers_; }
  fabric::Directory& directory() { return directory_; }
  transport_local::LocalTransport& local() { return local_; }
  Instant now() const { return clock_.now(); }
  const TurnClock& turn_clock() const { return clock_.turn_clock(); }

  // RC, both in RTS, each the other's peer; `index` 0 for RoCE v2, 1 for v1.
  void connect(EngineVm& vm, EngineQp& qp, EngineVm& peer_vm, EngineQp& peer,
               const verbs::QpAttributes& attributes = default_attributes(),
               std::uint8_t index = 0);
  // Only one side, up to `to`.
  static void bring_up_to(EngineQp& qp, verbs::QpState to, const verbs::Gid& dgid,
                          std::uint32_t dest_qpn,
                          verbs::QpAttributes attributes = default_attributes(),
                          std::uint8_t index = 0);

  // One turn of the worker: timers, the adapters, the transport.
  void turn(verbs::Budget budget = {.bytes = 4 << 20, .operations = 256});
  // Until nothing has work. False: it still had after `limit` turns.
  bool run(unsigned limit = 10'000);
  // Lets time pass; everything runs when it is due.
  void advance(Duration duration);

  // Time passes, and nothing runs.
  void skip(Duration duration) { clock_.advance_to(clock_.now() + duration); }

  // As when the daemon is replaced: all adapters and these queue pairs, which are all there are,
  // are saved, end, and are made anew. `qps`: by VM. False: a state was refused.
  bool hand_over(std::span<const std::vector<EngineQp*>> qps);

  // As when a VM goes away: its queue pairs must be gone already.
  void remove(unsigned index);

 protected:
  // Of a rig that has more than adapters and the local path.
  virtual void turn_more(Instant /*now*/, verbs::Budget /*budget*/) {}
  virtual bool more_work() const { return false; }
  virtual Instant next_due() const { return kNever; }

 private:
  struct Member {
    std::unique_ptr<verbs::FabricPort> port;
    std::unique_ptr<EngineVm> vm;
  };

  Instant next_event() { return std::min(timers_.next_deadline(), next_due()); }

  FakeClock clock_;
  TimerQueue timers_;
  transport_local::LocalTransport local_;
  fabric::Directory directory_{local_};
  std::vector<Member> members_;
};

}  // namespace paravane::fake
