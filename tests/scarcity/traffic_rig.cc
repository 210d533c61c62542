#include "traffic_rig.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/memory_shortage.h"

namespace paravane::fake {
namespace {

// What the worker grants in a turn.
constexpr verbs::Budget kTurnBudget{.bytes = std::int64_t{512} * 1024, .operations = 256};
constexpr std::uint64_t kRamBytes = std::uint64_t{64} << 20;
constexpr unsigned kMostTurns = 100'000;

void demand_of_rig(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "traffic rig: %s\n", what);
  std::abort();
}

// Kept for the whole program, because closing one takes the kernel some 30 ms.
vfio_user::Interrupts& interrupts_of(unsigned vm) {
  static std::array<std::unique_ptr<vfio_user::Interrupts>, TrafficRig::kVms> kept;
  if (!kept[vm]) kept[vm] = std::make_unique<vfio_user::Interrupts>(std::uint16_t{3});
  return *kept[vm];
}

}  // namespace

TrafficRig::TrafficRig() {
  for (unsigned i = 0; i < kVms; ++i) add_vm(i);
}

void TrafficRig::add_vm(unsigned index) {
  vms_.push_back(std::make_unique<Vm>());
  Vm& vm = *vms_.back();
  const auto id = verbs::AdapterId{index};
  device::DeviceConfig config;
  config.name = "vm" + std::to_string(index + 1);
  config.mac = {0x00, 0x50, 0x56, 0x01, 0x03, static_cast<std::uint8_t>(index + 1)};
  vm.port = directory_.join(id, config.name, config.mac);
  vfio_user::Interrupts& interrupts = interrupts_of(index);
  auto device = device::PvrdmaDevice::create(config, id, vm.memory, interrupts, {vm.timers, clock_},
                                             *vm.port);
  demand_of_rig(device.has_value(), device ? "" : device.error().message.c_str());
  vm.device = std::move(*device);
  local_.attach(vm.device->adapter());
  vm.machine = std::make_unique<GuestMachine>(vm.memory, interrupts, kRamBytes, [this] { turn(); });
  vm.device->set_answer([&vm](vfio_user::ReplyToken token) { vm.machine->on_answer(token); });
  vm.machine->plug(*vm.device);
  vm.guest = std::make_unique<FakeGuest>(*vm.machine, GuestOptions{});
  demand_of_rig(vm.guest->boot(config.mac, static_cast<std::uint8_t>(index + 1)),
                "a fake guest does not boot");
}

TrafficRig::~TrafficRig() {
  for (auto& vm : vms_) {
    if (!vm->is_lost) vm->machine->unplug();
  }
  for (auto& vm : vms_) {
    local_.detach(vm->device->adapter());
    vm->device.reset();
  }
}

void TrafficRig::turn() {
  for (auto& vm : vms_) turn_of(*vm);
  verbs::Budget budget = kTurnBudget;
  if (!runs_in_memory([&] { local_.poll(clock_.now, budget); })) ++broken_off_;
}

void TrafficRig::turn_of(Vm& vm) {
  const bool had_memory = runs_in_memory([&] {
    vm.timers.run_due(clock_.now, 256);
    verbs::Budget budget = kTurnBudget;
    vm.device->poll(budget);
  });
  if (vm.is_lost || (had_memory && vm.device->fatal_reason().empty())) return;
  vm.is_lost = true;
  vm.machine->unplug();
}

bool TrafficRig::busy() const {
  return local_.has_work() || std::ranges::any_of(vms_, [this](const auto& vm) {
           return vm->device->has_work() || vm->device->next_look() <= clock_.now;
         });
}

Instant TrafficRig::next_wake() {
  Instant next = kNever;
  for (auto& vm : vms_) {
    next = std::min({next, vm->timers.next_deadline(), vm->device->next_look()});
  }
  return next;
}

bool TrafficRig::run_into_message() {
  for (unsigned turns = 0; turns < kMostTurns && !local_.has_work(); ++turns) {
    clock_.now += std::chrono::microseconds(1);
    turn();
  }
  return local_.has_work();
}

bool TrafficRig::run(Duration duration) {
  const Instant end = clock_.now + duration;
  for (unsigned turns = 0; turns < kMostTurns; ++turns) {
    turn();
    if (busy()) continue;
    const Instant next = next_wake();
    if (next > end) {
      clock_.now = std::max(clock_.now, end);
      return true;
    }
    clock_.now = std::max(clock_.now + Duration(1), next);
  }
  return false;
}

}  // namespace paravane::fake
