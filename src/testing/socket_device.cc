#include "testing/socket_device.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "abi/registers.h"
#include "vfio_user/protocol.h"

namespace paravane::fake {

void demand_of_daemon(bool done, const char* what) {
  if (done) return;
  std::fprintf(stderr, "a fake VM: %s\n", what);
  std::exit(1);
}

void SocketDevice::map_doorbells() {
  constexpr std::size_t kListAt = sizeof(vfio_user::RegionInfo);
  constexpr std::size_t kAreaAt = kListAt + sizeof(vfio_user::SparseMmap);
  auto reply = client_.region_info(abi::kDoorbellBar, kAreaAt + sizeof(vfio_user::SparseArea));
  demand_of_daemon(reply && !reply->is_error() && reply->fds.size() == 1 &&
                       reply->as<vfio_user::SparseMmap>(kListAt).areas.get() == 1,
                   "doorbells cannot be mapped");
  const auto area = reply->as<vfio_user::SparseArea>(kAreaAt);
  doorbells_ = std::move(reply->fds.front());
  spec_.bars[abi::kDoorbellBar] = {
      .size = reply->as<vfio_user::RegionInfo>().size.get(),
      .is_64_bit = true,
      .mmap_areas = {{.offset = area.offset.get(), .size = area.size.get()}},
      .mmap_fd = doorbells_.get()};
}

void SocketDevice::read_bar(unsigned bar, std::uint64_t offset, std::span<std::byte> out) {
  const auto reply = client_.read(bar, offset, static_cast<std::uint32_t>(out.size()));
  demand_of_daemon(reply && reply->payload.size() == sizeof(vfio_user::RegionAccess) + out.size(),
                   "a register cannot be read");
  std::copy(reply->payload.begin() + sizeof(vfio_user::RegionAccess), reply->payload.end(),
            out.begin());
}

vfio_user::Answer SocketDevice::write_bar(unsigned bar, std::uint64_t offset,
                                          std::span<const std::byte> in, bool /*posted*/,
                                          vfio_user::ReplyToken /*token*/) {
  const auto reply = client_.write(bar, offset, in);
  demand_of_daemon(reply && !reply->is_error(), "a register cannot be written");
  return vfio_user::Answer::kNow;
}

vfio_user::Answer SocketDevice::on_reset(vfio_user::ResetCause /*cause*/,
                                         vfio_user::ReplyToken /*token*/) {
  demand_of_daemon(client_.reset().has_value(), "the function cannot be reset");
  return vfio_user::Answer::kNow;
}

vfio_user::Answer SocketDevice::on_dma_unmap(GuestAddr iova, std::uint64_t size,
                                             vfio_user::ReplyToken /*token*/) {
  demand_of_daemon(client_.dma_unmap(iova.value, size).has_value(), "memory cannot be unmapped");
  return vfio_user::Answer::kNow;
}

}  // namespace paravane::fake
