#include "testing/fake_pci_device.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace paravane {

using vfio_user::Answer;
using vfio_user::DeviceSpec;
using vfio_user::MmapArea;
using vfio_user::MsixSpec;
using vfio_user::ReplyToken;
using vfio_user::ResetCause;

namespace {

constexpr std::uint64_t kPage = 4096;

// Of the size of BAR2, zeroed.
UniqueFd make_doorbell_file() {
  UniqueFd file(memfd_create("fake-doorbells", MFD_CLOEXEC));
  if (!file || ftruncate(file.get(), FakePciDevice::kDoorbellBytes) != 0) std::abort();
  return file;
}

DeviceSpec make_spec(FakePciDevice::Options options, int doorbells) {
  DeviceSpec spec{.vendor = 0x15AD,
                  .device = 0x0820,
                  .subsystem_vendor = 0x15AD,
                  .subsystem = 0x0821,
                  .class_code = 0x028000,
                  .revision = 1,
                  .bars = {},
                  .msix = MsixSpec{.vectors = FakePciDevice::kVectors,
                                   .table_bar = 0,
                                   .table_offset = 0,
                                   .pba_bar = 0,
                                   .pba_offset = kPage}};
  spec.bars[0].size = FakePciDevice::kMsixBarBytes;
  spec.bars[1].size = FakePciDevice::kRegisterBytes;
  spec.bars[2].size = FakePciDevice::kDoorbellBytes;
  if (!options.mappable) return spec;
  const std::uint64_t first = options.whole_bar ? 0 : kPage;
  spec.bars[2].mmap_areas = {
      MmapArea{.offset = first, .size = FakePciDevice::kDoorbellBytes - first}};
  spec.bars[2].mmap_fd = doorbells;
  return spec;
}

const char* name_of(ResetCause cause) {
  switch (cause) {
    case ResetCause::kMachineReset: return "machine";
    case ResetCause::kFunctionReset: return "function";
    case ResetCause::kDisconnect: return "disconnect";
  }
  return "?";
}

}  // namespace

FakePciDevice::FakePciDevice(Options options)
    : doorbells_(make_doorbell_file()), spec_(make_spec(options, doorbells_.get())) {
  for (std::size_t i = 0; i < bars_.size(); ++i) bars_[i].resize(spec_.bars[i].size);
}

void FakePciDevice::read_bar(unsigned bar, std::uint64_t offset, std::span<std::byte> out) {
  log_.push_back(fmt::format("read {} {:#x} {}", bar, offset, out.size()));
  std::ranges::copy(std::span(bars_.at(bar)).subspan(offset, out.size()), out.begin());
}

Answer FakePciDevice::write_bar(unsigned bar, std::uint64_t offset, std::span<const std::byte> in,
                                bool posted, ReplyToken token) {
  log_.push_back(
      fmt::format("write {} {:#x} {}{}", bar, offset, in.size(), posted ? " posted" : ""));
  std::ranges::copy(in, std::span(bars_.at(bar)).subspan(offset, in.size()).begin());
  if (during_write) during_write(token);
  return put_off(deferred_.writes && !posted, token);
}

void FakePciDevice::on_bus_master(bool enabled) {
  log_.emplace_back(enabled ? "bus master on" : "bus master off");
}

Answer FakePciDevice::on_reset(ResetCause cause, ReplyToken token) {
  log_.push_back(fmt::format("reset {}", name_of(cause)));
  for (std::vector<std::byte>& bar : bars_) std::ranges::fill(bar, std::byte{0});
  if (during_reset) during_reset(token);
  return put_off(deferred_.resets, token);
}

Answer FakePciDevice::on_dma_unmap(GuestAddr iova, std::uint64_t size, ReplyToken token) {
  log_.push_back(fmt::format("unmap {:#x} {:#x}", iova.value, size));
  return put_off(deferred_.unmaps, token);
}

// The same number of the descriptor, which spec() has told.
void FakePciDevice::take_over(const FakePciDevice& other) {
  if (dup3(other.doorbells_.get(), doorbells_.get(), O_CLOEXEC) < 0) std::abort();
  bars_ = other.bars_;
  tokens_ = other.tokens_;
  deferred_ = other.deferred_;
}

Answer FakePciDevice::put_off(bool wanted, ReplyToken token) {
  if (!wanted) return Answer::kNow;
  tokens_.push_back(token);
  return Answer::kLater;
}

std::uint32_t FakePciDevice::load_doorbell(std::uint64_t offset) const {
  std::uint32_t word = 0;
  if (pread(doorbells_.get(), &word, sizeof word, static_cast<off_t>(offset)) != sizeof word) {
    std::abort();
  }
  return word;
}

}  // namespace paravane
