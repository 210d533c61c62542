#include "bench/worker_host.h"

#include <chrono>
#include <latch>
#include <utility>

#include "bench/question.h"
#include "bench/traffic.h"

namespace paravane::bench {
namespace {

constexpr std::uint64_t kRamBytes = std::uint64_t{512} << 20;
constexpr auto kNeverSleep = std::chrono::hours(24 * 365 * 100);

}  // namespace

WorkerHost::Tenant::Tenant(std::uint32_t index, Network& network) : vm(index, kRamBytes, network) {}

bool WorkerHost::Tenant::has_work() const {
  return vm.has_work() || (program != nullptr && program->ready());
}

bool WorkerHost::Tenant::turn(Instant now, verbs::Budget& budget) {
  const bool steps = program != nullptr && program->ready();
  if (steps) program->step();
  return vm.turn(now, budget) || steps;
}

WorkerHost::WorkerHost(unsigned side, unsigned core, worker::SpinMode spin,
                       std::optional<Duration> spin_for)
    : side_(side) {
  worker::WorkerConfig config;
  config.spin = spin;
  if (spin == worker::SpinMode::kAlways) config.spin_for = kNeverSleep;
  if (spin_for) config.spin_for = *spin_for;
  config.cpu = core;
  auto worker = worker::Worker::start(config);
  demand(worker.has_value(), "the worker does not start");
  worker_ = std::move(*worker);
  network_ = std::make_unique<Network>();
}

void WorkerHost::add_vm() {
  local_turns_ = std::make_unique<worker::TransportTenant>(network_->local);
  vm_ = std::make_unique<Tenant>(side_, *network_);
  worker_->schedule().add(*local_turns_);
  worker_->schedule().add(*vm_);
}

void WorkerHost::remove_vm() {
  worker_->schedule().remove(*vm_);
  worker_->schedule().remove(*local_turns_);
  vm_.reset();
  local_turns_.reset();
}

void WorkerHost::on_worker(const std::function<void()>& work) {
  std::latch ended(1);
  const bool posted = worker_->post([&work, &ended] {
    work();
    ended.count_down();
  });
  demand(posted, "the worker takes no message");
  ended.wait();
}

double WorkerHost::cpu_seconds() {
  double seconds = 0;
  on_worker([&seconds] { seconds = thread_cpu_seconds(); });
  return seconds;
}

void WorkerHost::run(GuestProgram* program) {
  on_worker([this, program] { vm_->program = program; });
}

}  // namespace paravane::bench
