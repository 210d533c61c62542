#include "vmm/plug.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "vmm/adapter_slots.h"
#include "vmm/hot_add.h"
#include "vmm/qmp_client.h"
#include "vmm/tap_device.h"

namespace paravane::vmm {
namespace {

using namespace std::chrono_literals;

constexpr auto kTapPatience = 5s;

bool await_tap(const AdapterSlot& slot) {
  const auto end = std::chrono::steady_clock::now() + kTapPatience;
  while (!tap_exists(slot.tap)) {
    if (!slot.in_port_group || std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(50ms);
  }
  return true;
}

}  // namespace

Status plug(const model::VmStatus& vm, std::uint32_t adapter, const Places& places) {
  const auto slots = slots_of(vm, kFirstSlot);
  if (!slots) return std::unexpected(slots.error());
  const auto slot = std::ranges::find(*slots, adapter, &AdapterSlot::adapter);
  if (slot == slots->end())
    return fail(Errc::kNotFound, fmt::format("the VM has no adapter {}", adapter));
  auto qemu = QmpClient::connect(places.directory(vm.spec.name));
  if (!qemu) return std::unexpected(qemu.error());
  NicNetwork network;
  if (await_tap(*slot)) {
    const auto tap = open_tap(slot->tap);
    if (!tap) return std::unexpected(tap.error());
    network.descriptor = slot->netdev_id;
    const auto taken = qemu->execute("getfd", {{"fdname", network.descriptor}}, tap->get());
    if (!taken) return std::unexpected(taken.error());
  } else if (slot->in_port_group) {
    return fail(Errc::kNotFound, fmt::format("tap {} does not exist", slot->tap));
  }
  for (const QmpCommand& command : hot_add_commands(*slot, slot->port_id, network)) {
    const auto done = qemu->execute(command.name, command.arguments);
    if (!done) return std::unexpected(done.error());
  }
  return {};
}

}  // namespace paravane::vmm
