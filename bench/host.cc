#include "bench/host.h"

#include <atomic>

#include "bench/question.h"

namespace paravane::bench {
namespace {

constexpr unsigned kVms = 2;
constexpr auto kNeverSleep = std::chrono::hours(24 * 365 * 100);

}  // namespace

Host::Host(const Cores& cores, std::uint64_t ram_bytes) {
  worker::WorkerConfig config;
  config.spin = worker::SpinMode::kAlways;
  config.spin_for = kNeverSleep;
  config.cpu = cores.worker;
  auto worker = worker::Worker::start(config);
  demand(worker.has_value(), "the worker does not start");
  worker_ = std::move(*worker);
  here_.emplace(cores.guest);  // not before: the worker would inherit it
  in_place_of_worker([this, ram_bytes] {
    network_ = std::make_unique<Network>();
    transport_ = std::make_unique<worker::TransportTenant>(network_->local);
    for (unsigned i = 0; i < kVms; ++i) {
      vms_.push_back(std::make_unique<Vm>(i, ram_bytes, *network_));
    }
    for (auto& vm : vms_) worker_->schedule().add(*vm);
    worker_->schedule().add(*transport_);
  });
}

Host::~Host() {
  in_place_of_worker([this] {
    worker_->schedule().remove(*transport_);
    for (auto& vm : vms_) worker_->schedule().remove(*vm);
    vms_.clear();
    transport_.reset();
    network_.reset();
  });
}

void Host::in_place_of_worker(const std::function<void()>& work,
                              const std::function<void()>& meanwhile) {
  std::atomic<bool> ended{false};
  const bool posted = worker_->post([&work, &ended] {
    work();
    ended.store(true, std::memory_order_release);
  });
  demand(posted, "the worker takes no message");
  meanwhile();
  while (!ended.load(std::memory_order_acquire)) pause_core();
}

}  // namespace paravane::bench
