#include "device/queue_geometry.h"

#include <fmt/core.h>

#include "abi/ring_state.h"

namespace paravane::device {
namespace {

struct Side {
  std::string_view name;
  std::uint32_t requests;
  std::uint32_t sges;
};

Status check_side(const Side& side, const DeviceLimits& limits) {
  if (side.requests > limits.queue_pair_requests || side.sges > limits.sges) {
    return fail(Errc::kResourceExhausted,
                fmt::format("cannot create a {2} queue with {0} requests of {1} SGEs",
                            side.requests, side.sges, side.name));
  }
  if (side.sges == 0) {
    return fail(Errc::kInvalidArgument,
                fmt::format("the {} queue needs at least one SGE", side.name));
  }
  if (!std::has_single_bit(side.requests)) {
    return fail(Errc::kInvalidArgument,
                fmt::format("the size of the {} queue must be a power of two, not {}", side.name,
                            side.requests));
  }
  return {};
}

}  // namespace

Result<QueueGeometry> queue_geometry(const abi::CreateQpCommand& command,
                                     const DeviceLimits& limits) {
  const Side send{"send", command.max_send_wr.get(), command.max_send_sge.get()};
  const Side receive{"receive", command.max_recv_wr.get(), command.max_recv_sge.get()};
  if (Status status = check_side(send, limits); !status) return std::unexpected(status.error());
  const bool has_receives = command.is_srq == 0;  // or they are somewhere else
  if (has_receives) {
    if (Status status = check_side(receive, limits); !status)
      return std::unexpected(status.error());
  }

  const std::uint64_t send_pages = ring_pages(send.requests, send_stride(send.sges));
  const std::uint64_t receive_pages =
      has_receives ? ring_pages(receive.requests, receive_stride(receive.sges)) : 0;
  const std::uint64_t total = 1 + send_pages + receive_pages;
  if (send_pages != command.send_chunks.get() || total != command.total_chunks.get()) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("{} of the {} pages given are for sends, but {} of {} are needed",
                    command.send_chunks.get(), command.total_chunks.get(), send_pages, total));
  }

  QueueGeometry geometry;
  geometry.pages = total;
  geometry.send = {abi::kTxProducerAt, abi::kTxConsumerAt, kPageBytes, send_stride(send.sges),
                   send.requests};
  if (!has_receives) return geometry;
  geometry.receive = {abi::kRxProducerAt, abi::kRxConsumerAt, kPageBytes * (1 + send_pages),
                      receive_stride(receive.sges), receive.requests};
  return geometry;
}

}  // namespace paravane::device
