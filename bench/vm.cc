#include "bench/vm.h"

#include <algorithm>
#include <string>

#include "bench/question.h"

namespace paravane::bench {
namespace {

// A command may take many turns of the worker; each look of the guest is short.
constexpr int kPatience = 100'000'000;

}  // namespace

Vm::Vm(std::uint32_t index, std::uint64_t ram_bytes, Network& network) : network_(network) {
  const auto id = verbs::AdapterId{index};
  device::DeviceConfig config;
  config.name = "vm" + std::to_string(index + 1);
  config.mac = mac_of(index);
  port_ = network_.directory.join(id, config.name, config.mac);
  auto device =
      device::PvrdmaDevice::create(config, id, memory_, interrupts_, {timers_, clock_}, *port_);
  demand(device.has_value(), "a device cannot be made");
  device_ = std::move(*device);
  network_.local.attach(device_->adapter());
  if (network_.tcp != nullptr) network_.tcp->attach(device_->adapter());
  if (network_.roce != nullptr) {
    network_.roce->attach(device_->adapter(), config.mac, *network_.door);
    network_.directory.set_native(id, network_.roce);
  }
  remote_ = std::make_unique<RemoteDevice>(*device_);
  machine_ = std::make_unique<fake::GuestMachine>(memory_, interrupts_, ram_bytes,
                                                  [this] { wait_as_guest(); });
  device_->set_answer([this](vfio_user::ReplyToken token) {
    if (!remote_->on_answer(token)) machine_->on_answer(token);
  });
  machine_->plug(*remote_);
  machine_->ram().stop_watching();
  fake::GuestOptions options;
  options.patience_turns = kPatience;
  guest_ = std::make_unique<fake::FakeGuest>(*machine_, options);
  demand(guest_->boot(config.mac, static_cast<std::uint8_t>(index + 1)),
         "a fake guest does not boot");
}

Vm::~Vm() {
  machine_->unplug();
  if (network_.roce != nullptr) network_.roce->detach(device_->adapter());
  if (network_.tcp != nullptr) network_.tcp->detach(device_->adapter());
  network_.local.detach(device_->adapter());
}

void Vm::wait_as_guest() {
  if (std::this_thread::get_id() != worker_) {
    pause_core();
    return;
  }
  verbs::Budget budget{.bytes = 1 << 20, .operations = 256};
  turn(std::chrono::steady_clock::now(), budget);
}

Instant Vm::next_look() {
  return std::min(device_->next_look(), timers_.next_deadline());
}

bool Vm::turn(Instant now, verbs::Budget& budget) {
  const verbs::Budget before = budget;
  clock_.now = now;
  const bool called = remote_->waiting();
  if (called) remote_->serve();
  const bool timed = timers_.run_due(now) > 0;
  device_->poll(budget);
  return called || timed || budget.operations != before.operations ||
         budget.bytes != before.bytes || device_->has_work();
}

}  // namespace paravane::bench
