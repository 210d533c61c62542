#include "testing/fake_guest_machine.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace paravane::fake {
namespace {

constexpr unsigned kRegisterBar = 1;
constexpr unsigned kDoorbellBar = 2;
constexpr int kPatience = 100'000;  // turns a vCPU waits for one answer

void demand(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "fake machine: %s\n", what);
  std::abort();
}

}  // namespace

GuestMachine::GuestMachine(GuestMemory& memory, vfio_user::Interrupts& interrupts,
                           std::uint64_t ram_bytes, std::function<void()> turn)
    : memory_(memory), interrupts_(interrupts), ram_(ram_bytes), turn_(std::move(turn)) {}

GuestMachine::~GuestMachine() {
  if (bar2_ != nullptr) ::munmap(bar2_, bar2_size_);
}

void GuestMachine::plug(vfio_user::PciDevice& device) {
  device_ = &device;
  device.on_attach();
  map_ram();
  for (std::uint16_t vector = 0; vector < kVectors; ++vector) {
    eventfds_[vector] = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    interrupts_.attach(vector, UniqueFd(::fcntl(eventfds_[vector].get(), F_DUPFD_CLOEXEC, 0)));
  }
  map_doorbells();
}

void GuestMachine::map_doorbells() {
  const vfio_user::BarSpec& bar = device_->spec().bars[kDoorbellBar];
  if (bar.mmap_fd < 0 || bar.mmap_areas.empty()) return;
  void* mapping = ::mmap(nullptr, bar.size, PROT_READ | PROT_WRITE, MAP_SHARED, bar.mmap_fd, 0);
  demand(mapping != MAP_FAILED, "cannot map the doorbell pages");
  bar2_ = static_cast<std::byte*>(mapping);
  bar2_size_ = bar.size;
}

void GuestMachine::unplug() {
  reset(vfio_user::ResetCause::kDisconnect);
  interrupts_.detach_all();
  interrupts_.set_enabled(false);
  memory_.set_dma_enabled(false);
  memory_.unmap_all();
}

void GuestMachine::map_ram() {
  const Status mapped = map_part(GuestRam::kBase, ram_.size());
  demand(mapped.has_value(), mapped ? "" : mapped.error().message.c_str());
  ram_.adopt_mapping_of(memory_);
}

Status GuestMachine::map_part(std::uint64_t address, std::uint64_t bytes) {
  return memory_.map(ram_.duplicate_fd(), address - GuestRam::kBase, GuestAddr{address}, bytes,
                     Rights::kReadWrite);
}

void GuestMachine::unmap_part(std::uint64_t address, std::uint64_t bytes) {
  memory_.unmap(GuestAddr{address}, bytes);
  const auto token = next_token();
  settle(device_->on_dma_unmap(GuestAddr{address}, bytes, token), token);
}

void GuestMachine::settle(vfio_user::Answer answer, vfio_user::ReplyToken token) {
  if (answer == vfio_user::Answer::kNow) return;
  for (int turns = 0; answered_.erase(token) == 0; ++turns) {
    demand(turns < kPatience, "the device never answered an access it put off");
    turn_();
  }
}

// As the server has a VMM's request wait.
void GuestMachine::wait_for_device() {
  for (int turns = 0; !device_->takes_requests(); ++turns) {
    demand(turns < kPatience, "the device takes no requests any more");
    turn_();
  }
}

std::uint32_t GuestMachine::read_register(std::uint32_t offset) {
  std::uint32_t value = 0;
  wait_for_device();
  device_->read_bar(kRegisterBar, offset, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

void GuestMachine::write_register(std::uint32_t offset, std::uint32_t value) {
  write_bar(kRegisterBar, offset, std::as_bytes(std::span(&value, 1)));
}

void GuestMachine::post_register(std::uint32_t offset, std::uint32_t value) {
  wait_for_device();
  device_->write_bar(kRegisterBar, offset, std::as_bytes(std::span(&value, 1)), true, next_token());
}

void GuestMachine::write_doorbell(std::uint64_t offset, std::uint32_t value) {
  write_bar(kDoorbellBar, offset, std::as_bytes(std::span(&value, 1)));
}

std::uint32_t GuestMachine::read_doorbell(std::uint64_t offset) {
  std::uint32_t value = 0xEEEEEEEE;
  wait_for_device();
  device_->read_bar(kDoorbellBar, offset, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

void GuestMachine::write_bar(unsigned bar, std::uint64_t offset, std::span<const std::byte> in) {
  wait_for_device();
  const auto token = next_token();
  settle(device_->write_bar(bar, offset, in, false, token), token);
}

std::byte* GuestMachine::doorbell_page(std::uint32_t index) {
  if (bar2_ == nullptr) return nullptr;
  const std::uint64_t offset = std::uint64_t{index} * kPage;
  const auto& areas = device_->spec().bars[kDoorbellBar].mmap_areas;
  const bool mapped = std::ranges::any_of(areas, [offset](const vfio_user::MmapArea& area) {
    return offset >= area.offset && offset - area.offset < area.size;
  });
  return mapped ? bar2_ + offset : nullptr;
}

void GuestMachine::set_bus_master(bool enabled) {
  wait_for_device();
  memory_.set_dma_enabled(enabled);
  interrupts_.set_enabled(enabled);
  device_->on_bus_master(enabled);
}

void GuestMachine::reset(vfio_user::ResetCause cause) {
  if (cause != vfio_user::ResetCause::kDisconnect) wait_for_device();
  const auto token = next_token();
  settle(device_->on_reset(cause, token), token);
  // The function's config space is back at its reset values.
  memory_.set_dma_enabled(false);
  interrupts_.set_enabled(false);
  interrupts_.clear_pending();
}

std::uint64_t GuestMachine::take_interrupt(std::uint16_t vector) {
  std::uint64_t count = 0;
  const ssize_t got = ::read(eventfds_[vector].get(), &count, sizeof count);
  return got == sizeof count ? count : 0;
}

}  // namespace paravane::fake
