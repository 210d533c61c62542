// RemoteDevice: a PCI function that belongs to the worker, as a guest's thread
// sees it. Register accesses cross to the worker through a CallSlot; accesses
// made on the worker's thread itself (a guest that boots there) go straight on.
//
// Any thread, one at a time.

#pragma once

#include <cstdint>

#include "base/owner_thread.h"
#include "bench/call_slot.h"
#include "vfio_user/pci_device.h"

namespace paravane::bench {

class RemoteDevice final : public vfio_user::PciDevice {
 public:
  // Worker thread. `device` outlives this.
  explicit RemoteDevice(vfio_user::PciDevice& device) : device_(device) {}

  // ---- Guest's thread ----
  const vfio_user::DeviceSpec& spec() const override { return device_.spec(); }
  void read_bar(unsigned bar, std::uint64_t offset, std::span<std::byte> out) override;
  vfio_user::Answer write_bar(unsigned bar, std::uint64_t offset, std::span<const std::byte> in,
                              bool posted, vfio_user::ReplyToken token) override;
  // Accesses that crossed so far.
  std::uint64_t crossings() const { return crossings_; }

  // ---- Worker's thread ----
  void on_attach() override { device_.on_attach(); }
  void on_bus_master(bool enabled) override { device_.on_bus_master(enabled); }
  vfio_user::Answer on_reset(vfio_user::ResetCause cause, vfio_user::ReplyToken token) override {
    return device_.on_reset(cause, token);
  }
  vfio_user::Answer on_dma_unmap(GuestAddr iova, std::uint64_t size,
                                 vfio_user::ReplyToken token) override {
    return device_.on_dma_unmap(iova, size, token);
  }

  bool waiting() const { return slot_.waiting() && !unanswered_; }
  // Carries out the access that waits. REQUIRES: waiting().
  void serve();
  // The device's late answers. False: it was not for a crossing.
  bool on_answer(vfio_user::ReplyToken token);

 private:
  // Above all that a fake machine counts up to.
  static constexpr vfio_user::ReplyToken kCrossing{std::uint64_t{1} << 63};

  vfio_user::PciDevice& device_;
  std::thread::id worker_ = std::this_thread::get_id();
  CallSlot slot_;
  bool unanswered_ = false;  // the worker's own
  std::uint64_t crossings_ = 0;
};

}  // namespace paravane::bench
