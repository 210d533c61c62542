#include "bench/socket_device.h"

#include <algorithm>

#include "bench/question.h"
#include "vfio_user/protocol.h"

namespace paravane::bench {

void SocketDevice::read_bar(unsigned bar, std::uint64_t offset, std::span<std::byte> out) {
  const auto reply = client_.read(bar, offset, static_cast<std::uint32_t>(out.size()));
  demand(reply && reply->payload.size() == sizeof(vfio_user::RegionAccess) + out.size(),
         "a register cannot be read");
  std::copy(reply->payload.begin() + sizeof(vfio_user::RegionAccess), reply->payload.end(),
            out.begin());
}

vfio_user::Answer SocketDevice::write_bar(unsigned bar, std::uint64_t offset,
                                          std::span<const std::byte> in, bool /*posted*/,
                                          vfio_user::ReplyToken /*token*/) {
  const auto reply = client_.write(bar, offset, in);
  demand(reply && !reply->is_error(), "a register cannot be written");
  return vfio_user::Answer::kNow;
}

vfio_user::Answer SocketDevice::on_reset(vfio_user::ResetCause /*cause*/,
                                         vfio_user::ReplyToken /*token*/) {
  demand(client_.reset().has_value(), "the function cannot be reset");
  return vfio_user::Answer::kNow;
}

vfio_user::Answer SocketDevice::on_dma_unmap(GuestAddr iova, std::uint64_t size,
                                             vfio_user::ReplyToken /*token*/) {
  demand(client_.dma_unmap(iova.value, size).has_value(), "memory cannot be unmapped");
  return vfio_user::Answer::kNow;
}

}  // namespace paravane::bench
