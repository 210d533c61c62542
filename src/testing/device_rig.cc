#include "testing/device_rig.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "state/reader.h"
#include "state/writer.h"

namespace paravane::fake {
namespace {

constexpr unsigned kLooksPerTurn = 16;

void demand(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "device rig: %s\n", what);
  std::abort();
}

}  // namespace

unsigned hand_over_of_environment() {
  const char* every = std::getenv("PARAVANE_HAND_OVER_EVERY");  // NOLINT(concurrency-mt-unsafe)
  return every == nullptr ? 0 : static_cast<unsigned>(std::strtoul(every, nullptr, 10));
}

DeviceRig::DeviceRig(const RigOptions& options)
    : budget_(options.budget),
      least_left_(options.budget),
      ceiling_(options.config.watch_ceiling),
      hand_over_every_(options.hand_over_every) {
  for (unsigned i = 0; i < options.vms; ++i) add_vm(i, options);
}

void DeviceRig::add_vm(unsigned index, const RigOptions& options) {
  vms_.push_back(std::make_unique<Vm>(options.memory));
  Vm& vm = *vms_.back();
  if (options.interrupts.empty()) {
    vm.own_interrupts = std::make_unique<vfio_user::Interrupts>(std::uint16_t{3});
    vm.interrupts = vm.own_interrupts.get();
  } else {
    vm.interrupts = options.interrupts[index];
  }
  vm.config = options.config;
  vm.config.name = "vm" + std::to_string(index + 1);
  vm.mac = {0x00, 0x50, 0x56, 0x01, 0x02, static_cast<std::uint8_t>(index + 1)};
  vm.config.mac = vm.mac;
  vm.port = directory_.join(verbs::AdapterId{index}, vm.config.name, vm.mac);
  vm.machine = std::make_unique<GuestMachine>(vm.memory, *vm.interrupts, options.ram_bytes,
                                              [this] { step(); });
  if (options.journals) {
    auto journal = device::KernelJournal::make(vm.config.held_limits());
    demand(journal.has_value(), "no journal");
    vm.journal.emplace(std::move(*journal));
  }
  make_device(index);
  vm.machine->plug(*vm.device);
  vm.guest = std::make_unique<FakeGuest>(*vm.machine, options.guest);
  if (options.boot) demand(boot(index), "a fake guest does not boot");
}

void DeviceRig::make_device(unsigned index, UniqueFd doorbell_file) {
  Vm& vm = *vms_[index];
  auto device = device::PvrdmaDevice::create(
      vm.config, verbs::AdapterId{index}, vm.memory, *vm.interrupts, {timers_, clock_}, *vm.port,
      std::move(doorbell_file), vm.journal ? &*vm.journal : nullptr);
  demand(device.has_value(), device ? "" : device.error().message.c_str());
  vm.device = std::move(*device);
  local_.attach(vm.device->adapter());
  vm.device->set_answer([&vm](vfio_user::ReplyToken token) { vm.machine->on_answer(token); });
}

void DeviceRig::end_device(Vm& vm) {
  vm.device->set_answer([](vfio_user::ReplyToken) {});  // what it owes is owed by the next one
  local_.detach(vm.device->adapter());
  vm.device.reset();
}

std::vector<std::byte> DeviceRig::saved(unsigned vm) {
  state::Writer out;
  device(vm).save(out);
  return out.take();
}

Status DeviceRig::replace(unsigned vm, std::span<const std::byte> state) {
  Vm& slot = *vms_[vm];
  UniqueFd pages(::fcntl(slot.device->doorbell_file(), F_DUPFD_CLOEXEC, 0));
  state::Loading loading;
  state::Reader in(state, loading);
  slot.config = device::with_saved_doorbells(slot.config, in);
  if (slot.journal) {
    hand_journal_over(slot);
  } else {
    end_device(slot);
  }
  make_device(vm, std::move(pages));
  slot.machine->replace_device(*slot.device);
  slot.device->load(in);
  in.end();
  return loading.status();
}

void DeviceRig::lower_limits(unsigned vm, const device::DeviceLimits& limits) {
  device::DeviceConfig& config = vms_[vm]->config;
  if (!config.held) config.held = config.limits;
  config.limits = limits;
}

void DeviceRig::hand_journal_over(Vm& vm) {
  auto next = device::KernelJournal::take_over(
      UniqueFd(::fcntl(vm.journal->fd(), F_DUPFD_CLOEXEC, 0)), vm.config.held_limits());
  demand(next.has_value(), "the journal cannot be handed over");
  vm.journal->end_writing();
  end_device(vm);
  vm.journal.emplace(std::move(*next));
  vm.journal->begin_writing();
  if (killed_) vm.journal->go_on(device::KernelJournal::kNoRequest);
}

void DeviceRig::kill(unsigned vm) {
  state::Writer kept;
  device(vm).keep(kept);
  if (vms_[vm]->journal) killed_ = true;
  const Status replaced = replace(vm, kept.take());
  killed_ = false;
  demand(replaced.has_value(), replaced ? "" : replaced.error().message.c_str());
  device(vm).tell_lost();
}

std::vector<std::byte> DeviceRig::hand_over(unsigned vm) {
  const std::vector<std::byte> state = saved(vm);
  const Status replaced = replace(vm, state);
  demand(replaced.has_value(), replaced ? "" : replaced.error().message.c_str());
  demand(saved(vm) == state, "the state of a device changes when it is loaded");
  return state;
}

DeviceRig::~DeviceRig() {
  for (unsigned i = 0; i < size(); ++i) unplug(i);
  for (auto& vm : vms_) {
    local_.detach(vm->device->adapter());
    vm->device.reset();
  }
}

void DeviceRig::set_link(unsigned vm, bool up) {
  directory_.set_link(verbs::AdapterId{vm}, up);
  device(vm).set_link(up);
}

void DeviceRig::unplug(unsigned vm) {
  if (!vms_[vm]->plugged) return;
  vms_[vm]->plugged = false;
  vms_[vm]->machine->unplug();
}

bool DeviceRig::boot(unsigned vm) {
  return guest(vm).boot(mac(vm), static_cast<std::uint8_t>(vm + 1));
}

// A turn that only looks counts for little: a wait that ends after many of them would never end,
// for each device begins it anew.
bool DeviceRig::hands_over_after(bool worked) {
  since_hand_over_ += worked ? kLooksPerTurn : 1;
  if (since_hand_over_ < hand_over_every_ * kLooksPerTurn) return false;
  since_hand_over_ = 0;
  return true;
}

void DeviceRig::step() {
  ++turns_;
  const bool works = hand_over_every_ != 0 && has_work();
  timers_.run_due(clock_.now);
  for (auto& vm : vms_) {
    verbs::Budget budget = budget_;
    vm->device->poll(budget);
    least_left_.bytes = std::min(least_left_.bytes, budget.bytes);
    least_left_.operations = std::min(least_left_.operations, budget.operations);
  }
  verbs::Budget budget = budget_;
  local_.poll(clock_.now, budget);
  if (hand_over_every_ == 0 || !hands_over_after(works)) return;
  for (unsigned vm = 0; vm < size(); ++vm) hand_over(vm);
}

bool DeviceRig::has_work() const {
  return local_.has_work() ||
         std::ranges::any_of(vms_, [](const auto& vm) { return vm->device->has_work(); });
}

bool DeviceRig::busy() const {
  return has_work() || std::ranges::any_of(vms_, [this](const auto& vm) {
           return vm->device->next_look() <= clock_.now;
         });
}

bool DeviceRig::run_until_idle(unsigned limit) {
  step();
  for (unsigned turns = 0; busy(); ++turns) {
    if (turns == limit) return false;
    step();
  }
  return true;
}

Instant DeviceRig::next_wake() {
  Instant next = timers_.next_deadline();
  for (auto& vm : vms_) next = std::min(next, vm->device->next_look());
  return next;
}

void DeviceRig::advance(Duration duration) {
  const Instant end = clock_.now + duration;
  run_until_idle();
  for (Instant next = next_wake(); next <= end; next = next_wake()) {
    clock_.now = std::max(clock_.now + Duration(1), next);
    run_until_idle();
  }
  clock_.now = std::max(clock_.now, end);
  run_until_idle();
}

void DeviceRig::settle() {
  advance(ceiling_ + std::chrono::microseconds(1));
}

}  // namespace paravane::fake
