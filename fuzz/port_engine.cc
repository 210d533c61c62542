#include "port_engine.h"

#include <fcntl.h>

#include <algorithm>

namespace paravane::fake {

void LastKept::keep(const model::AdapterName& adapter, std::span<const std::byte> state,
                    std::span<const int> descriptors) {
  last_ = {.adapter = adapter, .state = {state.begin(), state.end()}, .descriptors = {}};
  for (const int fd : descriptors) {
    last_.descriptors.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  }
}

worker::PortNetwork PortEngine::network() {
  return {.local = local_,
          .roce = roce_,
          .tcp = tcp_,
          .hca = hca_,
          .directory = gids_,
          .event_signal = event_signal_,
          .mappings = mappings_,
          .clock = clock_,
          .speech = speech_,
          .keeper = &kept_};
}

void PortEngine::turn(std::initializer_list<worker::VmPort*> ports) {
  clock_.now += std::chrono::microseconds(100);
  const auto budget = [] { return verbs::Budget{.bytes = 1 << 20, .operations = 256}; };
  for (worker::VmPort* const port : ports) {
    if (port == nullptr) continue;
    verbs::Budget its = budget();
    port->on_readable();
    port->turn(clock_.now, its);
    static_cast<void>(port->next_look());
  }
  for (verbs::Transport* const transport :
       {static_cast<verbs::Transport*>(&local_), static_cast<verbs::Transport*>(&roce_)}) {
    verbs::Budget its = budget();
    transport->poll(clock_.now, its);
  }
}

worker::VmPortConfig port_config(std::uint8_t number, const std::filesystem::path& directory) {
  worker::VmPortConfig config;
  config.adapter.vm = "vm" + std::to_string(number);
  config.device.name = config.adapter.vm;
  config.device.mac = {0x00, 0x50, 0x56, 0x01, 0x02, number};
  device::DeviceLimits& limits = config.device.limits;
  limits.queue_pairs = 64;
  limits.completion_queues = 64;
  limits.shared_receive_queues = 16;
  limits.memory_regions = 64;
  limits.protection_domains = 64;
  limits.contexts = 8;
  limits.gids = 16;
  config.memory = {.bytes = std::uint64_t{64} << 20, .ranges = 32, .files = 4};
  config.socket = directory / (config.adapter.vm + ".sock");
  return config;
}

PortVm::PortVm(PortEngine& engine, worker::VmPortConfig config, std::uint8_t number)
    : engine_(engine), config_(std::move(config)), number_(number) {
  auto made = worker::VmPort::create(config_, id(), engine_.network());
  require(made.has_value());
  port_ = std::move(*made);
  port_->device().set_answer([this](vfio_user::ReplyToken token) { machine_->on_answer(token); });
  machine_.emplace(port_->memory(), port_->interrupts(), std::uint64_t{4} << 20,
                   [this] { engine_.turn({port_.get()}); });
}

void PortVm::boot() {
  guest_.emplace(*machine_, GuestOptions{});
  require(guest_->boot(config_.device.mac, number_));
}

}  // namespace paravane::fake
