#include "bench/roce_host.h"

#include <bit>
#include <chrono>
#include <utility>

namespace paravane::bench {
namespace {

// As the daemon: this long after a frame, ports are read in every round.
constexpr Duration kWatchPorts = std::chrono::microseconds(200);
// Each host has a core of its own while it is measured, and leaves it to the floor afterwards.
constexpr Duration kSpinFor = std::chrono::milliseconds(1);

}  // namespace

RoceHost::RoceHost(unsigned side, unsigned core, UniqueFd tap)
    : WorkerHost(side, core, worker::SpinMode::kAlways, kSpinFor),
      door_(std::move(tap), true, kRoceMtu) {
  on_worker([this] {
    const TurnClock& clock = worker().schedule().turn_clock();
    roce_.emplace(clock, std::uint8_t{0});
    roce_turns_.emplace(*roce_, worker().loop(), clock, kWatchPorts);
    demand(roce_turns_->watch(verbs::AdapterId{this->side()}, door_.fd(), [] {}).has_value(),
           "a tap cannot be watched");
    network().roce = &*roce_;
    network().door = &door_;
    worker().schedule().add(*roce_turns_);
    add_vm();
  });
}

RoceHost::~RoceHost() {
  on_worker([this] {
    remove_vm();
    worker().schedule().remove(*roce_turns_);
    roce_turns_->unwatch(door_.fd());
    roce_turns_.reset();
    roce_.reset();
  });
}

std::uint64_t RoceHost::count(Counter transport_roce::RoceCounters::* counter) {
  std::uint64_t packets = 0;
  on_worker(
      [&] { packets = (roce_->counters_of(verbs::AdapterId{this->side()})->*counter).value(); });
  return packets;
}

std::uint64_t RoceHost::retransmitted() {
  return count(&transport_roce::RoceCounters::retransmitted);
}

std::uint64_t RoceHost::received() {
  return count(&transport_roce::RoceCounters::packets_received);
}

RocePair::RocePair(const Settings& settings, RoceNetworks& networks, Arrival arrival) {
  const std::array cores{settings.cores.guest, settings.cores.worker};
  for (unsigned side = 0; side < 2; ++side) {
    hosts_[side] =
        std::make_unique<RoceHost>(side, cores[side], networks.open_port(side, side, arrival));
  }
}

fake::RcOptions RocePair::options(unsigned side) const {
  return {.path_mtu = path_mtu_, .dmac = mac_of(1 - side)};
}

void RocePair::set_mtu(std::uint32_t bytes) {
  path_mtu_ = static_cast<std::uint32_t>(std::countr_zero(bytes)) - 7;
}

}  // namespace paravane::bench
