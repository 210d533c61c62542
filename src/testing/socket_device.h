// SocketDevice: a PCI function at the other end of a vfio-user socket, as a fake
// machine sees it. Every access is a message, but for doorbells that are mapped.
//
// One thread.

#pragma once

#include "base/unique_fd.h"
#include "testing/raw_vfio_client.h"
#include "vfio_user/pci_device.h"

namespace paravane::fake {

// Ends the program, with what the daemon has not done.
void demand_of_daemon(bool done, const char* what);

class SocketDevice final : public vfio_user::PciDevice {
 public:
  // `client` outlives it.
  explicit SocketDevice(RawVfioClient& client) : client_(client) {}

  // The daemon lets them be mapped, or ends the program. Before it is plugged.
  void map_doorbells();

  const vfio_user::DeviceSpec& spec() const override { return spec_; }
  void read_bar(unsigned bar, std::uint64_t offset, std::span<std::byte> out) override;
  vfio_user::Answer write_bar(unsigned bar, std::uint64_t offset, std::span<const std::byte> in,
                              bool posted, vfio_user::ReplyToken token) override;
  void on_bus_master(bool enabled) override { client_.set_bus_master(enabled); }
  vfio_user::Answer on_reset(vfio_user::ResetCause cause, vfio_user::ReplyToken token) override;
  vfio_user::Answer on_dma_unmap(GuestAddr iova, std::uint64_t size,
                                 vfio_user::ReplyToken token) override;

 private:
  RawVfioClient& client_;
  vfio_user::DeviceSpec spec_;  // what can be mapped, which is all that is asked
  UniqueFd doorbells_;
};

}  // namespace paravane::fake
