#include "testing/fake_guest_driver.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace paravane::fake {
namespace {

constexpr std::byte kGarbage{0xC7};
constexpr std::uint32_t kRoceV1Version = 17;

SurpriseFunction or_abort(const SurpriseFunction& wanted) {
  if (wanted) return wanted;
  return [](const char* what) {
    std::fprintf(stderr, "fake guest: %s\n", what);
    std::abort();
  };
}

// All that has come, once around: where a hostile guest has moved the indices, one may never
// meet the other, as these rings' sizes are no powers of two.
template <typename Take, typename Handle>
void take_all(const DriverRing& ring, Take take, Handle handle) {
  for (std::uint32_t left = 2 * ring.elements(); left > 0; --left) {
    const auto entry = take();
    if (!entry) return;
    handle(*entry);
  }
}

}  // namespace

FakeDriver::FakeDriver(GuestMachine& machine, GuestOptions options)
    : machine_(machine), options_(std::move(options)), surprise_(or_abort(options_.on_surprise)) {}

void FakeDriver::allocate_shared() {
  GuestRam& memory = ram();
  shared_at_ = memory.allocate(1);
  command_at_ = memory.allocate(1);
  response_at_ = memory.allocate(1);
  async_pages_ = memory.allocate_set(options_.device_ring_pages, Layout::kScattered);
  notification_pages_ = memory.allocate_set(options_.device_ring_pages, Layout::kScattered);
  SharedRegion& region = shared();
  region.driver_version = options_.driver_version;
  region.gos_info = 2 | (1u << 2) | (1u << 6);  // 64 bits, Linux, version 1
  region.cmd_slot_dma = command_at_;
  region.resp_slot_dma = response_at_;
  region.async_ring_pages = {options_.device_ring_pages, 0, async_pages_.directory};
  region.cq_ring_pages = {options_.device_ring_pages, 0, notification_pages_.directory};
  region.uar_pfn = GuestMachine::kBar2Frame;
}

void FakeDriver::announce_shared() {
  machine_.write_register(kRegDsrLow, static_cast<std::uint32_t>(shared_at_));
  machine_.write_register(kRegDsrHigh, static_cast<std::uint32_t>(shared_at_ >> 32));
}

bool FakeDriver::capabilities_fit() const {
  const Capabilities& granted = caps();
  if (granted.mode != 0) return false;
  return granted.gid_types == 1 || granted.gid_types == 2;
}

std::uint32_t FakeDriver::activate() {
  machine_.write_register(kRegImr, 0);
  machine_.write_register(kRegCtl, kCtlActivate);
  return machine_.read_register(kRegErr);
}

bool FakeDriver::probe() {
  machine_.set_bus_master(true);
  const std::uint32_t version = machine_.read_register(kRegVersion);
  if (version < kRoceV1Version) return false;
  allocate_shared();
  announce_shared();
  const bool fits = capabilities_fit() && (version != kRoceV1Version || caps().gid_types == 1);
  if (fits && activate() == 0) return true;
  release_shared();
  machine_.set_bus_master(false);
  return false;
}

std::uint32_t FakeDriver::unquiesce() {
  machine_.write_register(kRegCtl, kCtlUnquiesce);
  return machine_.read_register(kRegErr);
}

void FakeDriver::remove() {
  machine_.write_register(kRegImr, 0xFFFFFFFF);
  machine_.write_register(kRegCtl, kCtlReset);
  release_shared();
  machine_.set_bus_master(false);
}

void FakeDriver::release_shared() {
  if (shared_at_ == 0) return;
  ram().release(command_at_, 1);
  ram().release(response_at_, 1);
  ram().release_set(async_pages_);
  ram().release_set(notification_pages_);
  ram().release(shared_at_, 1);
  shared_at_ = 0;
}

std::uint32_t FakeDriver::submit_bytes(std::span<const std::byte> request) {
  fill_slot(request);
  machine_.write_register(kRegRequest, 0);
  return machine_.read_register(kRegErr);
}

void FakeDriver::fill_slot(std::span<const std::byte> request) {
  if (machine_.take_interrupt(kVectorResponse) != 0) {
    surprise_("a command interrupt came that nobody waited for");
  }
  std::array<std::byte, kRequestBytes> slot{};
  slot.fill(kGarbage);
  std::ranges::copy(request.first(std::min(request.size(), slot.size())), slot.begin());
  ++cookie_;
  std::memcpy(slot.data(), &cookie_, sizeof cookie_);
  std::memcpy(command_slot(), slot.data(), slot.size());
}

bool FakeDriver::await(std::span<std::byte> response) {
  for (int turns = 0; turns < options_.patience_turns; ++turns) {
    const std::uint64_t fired = machine_.take_interrupt(kVectorResponse);
    if (fired > 1) surprise_("more than one command interrupt for one command");
    if (fired != 0) {
      std::memcpy(response.data(), response_slot(), response.size());
      return true;
    }
    machine_.wait();
  }
  return false;
}

void FakeDriver::check_cookie(bool accepted, std::uint64_t cookie) {
  if (accepted && cookie != cookie_) surprise_("a response echoes another command's cookie");
}

DriverRing FakeDriver::device_ring(PageSet& pages, std::uint32_t element) {
  auto& words = ram().as<RingWords>(pages.pages.front());
  return {words.rx_prod_tail, words.rx_cons_head,
          (options_.device_ring_pages - 1) * kPage / element};
}

std::byte* FakeDriver::ring_element(PageSet& pages, std::uint32_t slot, std::uint32_t bytes) {
  const std::uint32_t position = slot * bytes;
  return ram().at(pages.pages[1 + position / kPage]) + position % kPage;
}

DriverRing FakeDriver::notification_ring() {
  return device_ring(notification_pages_, sizeof(std::uint32_t));
}

DriverRing FakeDriver::async_ring() {
  return device_ring(async_pages_, sizeof(AsyncEvent));
}

std::optional<std::uint32_t> FakeDriver::take_notification() {
  DriverRing ring = notification_ring();
  std::uint32_t slot = 0;
  const DriverRing::Look look = ring.has_data(slot);
  if (look == DriverRing::Look::kInvalid) surprise_("the notification ring's index is invalid");
  if (look != DriverRing::Look::kYes) return std::nullopt;
  std::uint32_t info = 0;
  std::memcpy(&info, ring_element(notification_pages_, slot, sizeof info), sizeof info);
  ring.consume();
  return info;
}

std::optional<AsyncEvent> FakeDriver::take_async_event() {
  DriverRing ring = async_ring();
  std::uint32_t slot = 0;
  const DriverRing::Look look = ring.has_data(slot);
  if (look == DriverRing::Look::kInvalid) surprise_("the event ring's index is invalid");
  if (look != DriverRing::Look::kYes) return std::nullopt;
  AsyncEvent event{};
  std::memcpy(&event, ring_element(async_pages_, slot, sizeof event), sizeof event);
  ring.consume();
  return event;
}

void FakeDriver::handle_interrupts() {
  if (machine_.take_interrupt(kVectorAsync) != 0) {
    take_all(
        async_ring(), [this] { return take_async_event(); },
        [this](const AsyncEvent& event) { on_async_event(event); });
  }
  if (machine_.take_interrupt(kVectorCq) != 0) {
    take_all(
        notification_ring(), [this] { return take_notification(); },
        [this](std::uint32_t info) { on_notification(info); });
  }
}

}  // namespace paravane::fake
