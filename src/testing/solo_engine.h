// SoloEngine: one adapter whose peers are a script: what a requester does with
// each outcome, in virtual time.
//
// Owner thread only.

#pragma once

#include "base/timers.h"
#include "testing/engine_vm.h"
#include "testing/fake_clock.h"
#include "testing/scripted_transport.h"

namespace paravane::fake {

class SoloEngine {
 public:
  static constexpr verbs::Gid kPeer{{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0xFF, 0xFE, 0, 0, 9}};

  explicit SoloEngine(const verbs::AdapterLimits& limits = {}) : limits_(limits) {}

  EngineVm& vm() { return vm_; }
  verbs::Adapter& adapter() { return vm_.adapter(); }
  ScriptedTransport& transport() { return transport_; }
  ScriptedFabric& fabric() { return fabric_; }
  TimerQueue& timers() { return timers_; }
  Instant now() const { return clock_.now(); }

  // In RTS, with a peer that the script plays.
  std::unique_ptr<EngineQp> ready(verbs::QpType type = verbs::QpType::kReliableConnected,
                                  verbs::QpAttributes attributes = default_attributes(),
                                  bool signal_all = false) {
    std::unique_ptr<EngineQp> qp = vm_.queue_pair(type, signal_all);
    attributes.dest_qpn = 77;
    attributes.av.dgid = kPeer;
    const Status up = bring_up(*qp->qp, verbs::QpState::kReadyToSend, attributes);
    if (!up) std::abort();
    return qp;
  }

  // Turns until nothing is ready to run; time stands still.
  void run(verbs::Budget budget = {.bytes = 1 << 30, .operations = 1 << 20}) {
    while (adapter().has_work() && !budget.spent()) adapter().run(clock_.now(), budget);
  }

  // Lets time pass; everything runs when it is due.
  void advance(Duration duration) {
    const Instant end = clock_.now() + duration;
    run();
    while (timers_.next_deadline() <= end) {
      clock_.advance_to(timers_.next_deadline());
      timers_.run_due(clock_.now());
      run();
    }
    clock_.advance_to(end);
  }

 private:
  verbs::AdapterLimits limits_;
  FakeClock clock_;
  TimerQueue timers_;
  ScriptedTransport transport_;
  ScriptedFabric fabric_{transport_};
  EngineVm vm_{verbs::AdapterId{0},
               timers_,
               fabric_,
               verbs::Gid{{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0xFF, 0xFE, 0, 0, 1}},
               16 << 20,
               limits_};
};

// What a scripted peer answers.
constexpr verbs::Outcome not_ready(std::uint8_t rnr_timer) {
  return {.kind = verbs::Outcome::Kind::kReceiverNotReady, .rnr_timer = rnr_timer};
}
constexpr verbs::Outcome refused(verbs::WcStatus status) {
  return {.kind = verbs::Outcome::Kind::kRefused, .status = status};
}
constexpr verbs::Outcome absent(verbs::WcStatus status) {
  return {.kind = verbs::Outcome::Kind::kMemoryAbsent, .status = status};
}

}  // namespace paravane::fake
