// FakePciDevice: a PCI function that remembers what was asked of it.
//
// Three BARs, as an adapter with doorbells has them: BAR0 holds the MSI-X table
// and pending bits, BAR1 registers, BAR2 a trapped page and mappable pages after
// it. What is written to a BAR can be read back. A test may put answers off and
// give them itself.
//
// One thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "vfio_user/pci_device.h"

namespace paravane {

class FakePciDevice final : public vfio_user::PciDevice {
 public:
  static constexpr std::uint16_t kVectors = 3;
  static constexpr std::uint64_t kMsixBarBytes = 8192;  // table in page 0, pending bits in page 1
  static constexpr std::uint64_t kRegisterBytes = 256;
  static constexpr std::uint64_t kDoorbellBytes = std::uint64_t{16} * 4096;

  struct Options {
    bool mappable = true;    // BAR2 from page 1 on
    bool whole_bar = false;  // all of BAR2 instead
  };
  FakePciDevice() : FakePciDevice(Options{}) {}
  explicit FakePciDevice(Options options);

  const vfio_user::DeviceSpec& spec() const override { return spec_; }
  void on_attach() override { log_.emplace_back("attach"); }
  void read_bar(unsigned bar, std::uint64_t offset, std::span<std::byte> out) override;
  vfio_user::Answer write_bar(unsigned bar, std::uint64_t offset, std::span<const std::byte> in,
                              bool posted, vfio_user::ReplyToken token) override;
  void on_bus_master(bool enabled) override;
  vfio_user::Answer on_reset(vfio_user::ResetCause cause, vfio_user::ReplyToken token) override;
  vfio_user::Answer on_dma_unmap(GuestAddr iova, std::uint64_t size,
                                 vfio_user::ReplyToken token) override;

  // ---- For the test ----

  // What was asked, in order: "attach", "write 1 0x8 4 posted", "read 1 0x8 4",
  // "bus master on", "reset machine", "unmap 0x1000 0x2000"...
  const std::vector<std::string>& log() const { return log_; }
  void clear_log() { log_.clear(); }

  // From now on answers are put off and their tokens kept.
  struct Deferred {
    bool writes = false;
    bool resets = false;
    bool unmaps = false;
  };
  void defer(Deferred what) { deferred_ = what; }
  const std::vector<vfio_user::ReplyToken>& tokens() const { return tokens_; }
  void forget_tokens() { tokens_.clear(); }

  std::vector<std::byte>& bar(unsigned index) { return bars_.at(index); }
  // As if its state had been loaded: what the other holds, its file of doorbells, and the tokens of
  // the answers that it has put off.
  void take_over(const FakePciDevice& other);
  // What a guest's store into a mappable page of BAR2 leaves behind.
  std::uint32_t load_doorbell(std::uint64_t offset) const;

  // Called first of all in write_bar(), for what a device may do in there.
  std::function<void(vfio_user::ReplyToken)> during_write;
  std::function<void(vfio_user::ReplyToken)> during_reset;

 private:
  vfio_user::Answer put_off(bool wanted, vfio_user::ReplyToken token);

  UniqueFd doorbells_;
  vfio_user::DeviceSpec spec_;
  std::array<std::vector<std::byte>, 6> bars_;
  std::vector<std::string> log_;
  std::vector<vfio_user::ReplyToken> tokens_;
  Deferred deferred_;
};

}  // namespace paravane
