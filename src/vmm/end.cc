#include "vmm/end.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/unique_fd.h"
#include "vmm/qmp_client.h"

namespace paravane::vmm {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kLook = 50ms;
constexpr auto kPress = 10s;
constexpr auto kTell = 5s;
constexpr auto kQuit = 5s;
constexpr auto kMonitorPatience = 30s;  // with a monitor that does not answer yet

bool runs(const Places& places, const std::string& vm) {
  return places.runner(vm).state == Runner::State::kRunning;
}

bool ends_within(const Places& places, const std::string& vm, Clock::duration patience) {
  const auto end = Clock::now() + patience;
  while (runs(places, vm)) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

Status press_button(const Places& places, const std::string& vm) {
  auto qemu = QmpClient::connect(places.directory(vm));
  if (!qemu) return std::unexpected(qemu.error());
  const auto pressed = qemu->execute("system_powerdown");
  return pressed ? Status() : std::unexpected(pressed.error());
}

// The process is pinned before it is asked whether it is still the one.
Status kill_runner(const Places& places, const std::string& vm) {
  const Runner runner = places.runner(vm);
  if (runner.state != Runner::State::kRunning) return {};
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, runner.pid, 0)));
  if (process && places.runner(vm) == runner) {
    if (::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) == 0) return {};
  }
  if (errno == ESRCH || !runs(places, vm)) return {};
  return fail_by_system(Errc::kIo, fmt::format("cannot kill process {}", runner.pid), errno);
}

}  // namespace

Status power_down(const Places& places, const std::string& vm, std::chrono::seconds patience,
                  const std::function<void(std::chrono::seconds)>& waiting) {
  const auto began = Clock::now();
  auto press = began;
  auto tell = began + kTell;
  while (runs(places, vm)) {
    const auto now = Clock::now();
    if (now - began >= patience) {
      return fail(Errc::kBadState,
                  fmt::format("its guest did not shut down within {} s", patience.count()));
    }
    if (now >= press) {
      const Status pressed = press_button(places, vm);
      const bool late = Clock::now() - began >= kMonitorPatience;
      if (!pressed && late && runs(places, vm)) return pressed;
      press = now + (pressed ? Clock::duration(kPress) : kLook);
    }
    if (now >= tell) {
      waiting(std::chrono::duration_cast<std::chrono::seconds>(now - began));
      tell += kTell;
    }
    std::this_thread::sleep_for(kLook);
  }
  return {};
}

Status cut_power(const Places& places, const std::string& vm) {
  if (auto qemu = QmpClient::connect(places.directory(vm), kQuit)) {
    // Whether it answered or ended first: the lock says it.
    if (qemu->execute("quit") && ends_within(places, vm, kQuit)) return {};
  }
  if (Status killed = kill_runner(places, vm); !killed) return killed;
  if (ends_within(places, vm, kQuit)) return {};
  return fail(Errc::kIo, "its QEMU was killed, but has not exited yet");
}

}  // namespace paravane::vmm
