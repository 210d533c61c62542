// What do 32 attached VMs cost that do nothing?
//
// A real daemon, 32 guests at its sockets that have loaded their driver and
// opened no context. Counted are the context switches of all the daemon's
// threads over a few seconds: none, if nothing wakes it. The floor is a process
// that sleeps, whose count is zero by definition, so none is measured.

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "bench/daemon_process.h"
#include "bench/question.h"
#include "testing/attached_vm.h"

namespace paravane::bench {
namespace {

constexpr unsigned kVms = 32;
constexpr unsigned kWindows = 3;
constexpr auto kSettle = std::chrono::seconds(2);
constexpr auto kWindow = std::chrono::seconds(5);

}  // namespace

Figures idle(const Settings& settings) {
  DaemonProcess daemon(settings.programs / "paravaned");
  std::vector<std::unique_ptr<fake::AttachedVm>> vms;
  for (unsigned i = 0; i < kVms; ++i) {
    const model::VmStatus status = daemon.add_vm(fmt::format("idle{}", i + 1));
    const std::optional<model::MacAddress> mac = status.spec.adapters[0].mac;
    demand(mac.has_value(), "a VM has no MAC");
    vms.push_back(std::make_unique<fake::AttachedVm>(status.adapters[0].socket));
    demand(vms.back()->boot(*mac, static_cast<std::uint8_t>(i + 1)), "a fake guest does not boot");
  }
  Figure figure{.name = fmt::format("{} idle VMs, {} s", kVms, kWindow.count()),
                .unit = "wake-ups",
                .target = {Target::Of::kValue, Target::Sense::kAtMost, 0}};
  std::this_thread::sleep_for(kSettle);
  for (unsigned i = 0; i < kWindows; ++i) {
    const std::uint64_t before = daemon.context_switches();
    std::this_thread::sleep_for(kWindow);
    figure.ours.add(static_cast<double>(daemon.context_switches() - before));
  }
  for (auto& vm : vms) demand(vm->responds(), "an idle VM does not get an answer any more");
  return {std::move(figure)};
}

}  // namespace paravane::bench
