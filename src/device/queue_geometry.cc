#include "device/queue_geometry.h"

#include <fmt/core.h>

#include "abi/completion.h"
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

Result<QueueGeometry> queue_geometry(const QueueSizes& sizes, const DeviceLimits& limits) {
  const Side send{"send", sizes.send_requests, sizes.send_sges};
  const Side receive{"receive", sizes.receive_requests, sizes.receive_sges};
  if (Status status = check_side(send, limits); !status) return std::unexpected(status.error());
  if (sizes.has_receives) {
    if (Status status = check_side(receive, limits); !status)
      return std::unexpected(status.error());
  }
  const std::uint64_t send_pages = ring_pages(send.requests, send_stride(send.sges));
  QueueGeometry geometry;
  geometry.pages = 1 + send_pages;
  geometry.send = {abi::kTxProducerAt, abi::kTxConsumerAt, kPageBytes, send_stride(send.sges),
                   send.requests};
  if (!sizes.has_receives) return geometry;
  geometry.receive = {abi::kRxProducerAt, abi::kRxConsumerAt, kPageBytes * (1 + send_pages),
                      receive_stride(receive.sges), receive.requests};
  geometry.pages += ring_pages(receive.requests, receive_stride(receive.sges));
  return geometry;
}

Result<QueueGeometry> queue_geometry(const abi::CreateQpCommand& command,
                                     const DeviceLimits& limits) {
  Result<QueueGeometry> geometry =
      queue_geometry(QueueSizes{.send_requests = command.max_send_wr.get(),
                                .send_sges = command.max_send_sge.get(),
                                .receive_requests = command.max_recv_wr.get(),
                                .receive_sges = command.max_recv_sge.get(),
                                .has_receives = command.is_srq == 0},
                     limits);
  if (!geometry) return geometry;
  const std::uint64_t send_pages =
      ring_pages(command.max_send_wr.get(), send_stride(command.max_send_sge.get()));
  if (send_pages != command.send_chunks.get() || geometry->pages != command.total_chunks.get()) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} of the {} pages given are for sends, but {} of {} are needed",
                            command.send_chunks.get(), command.total_chunks.get(), send_pages,
                            geometry->pages));
  }
  return geometry;
}

Result<std::uint64_t> completion_queue_pages(std::uint32_t entries, const DeviceLimits& limits) {
  if (entries > limits.completion_queue_entries) {
    return fail(Errc::kResourceExhausted, fmt::format("{} entries", entries));
  }
  if (!std::has_single_bit(entries)) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("the size of a completion queue must be a power of two, not {}", entries));
  }
  return 1 + ring_pages(entries, sizeof(abi::Cqe));
}

Result<std::uint64_t> shared_receive_queue_pages(std::uint32_t requests, std::uint32_t sges,
                                                 const DeviceLimits& limits) {
  if (requests > limits.shared_receive_queue_requests || sges > limits.sges) {
    return fail(Errc::kResourceExhausted,
                fmt::format("cannot create a shared receive queue with {} requests of {} SGEs",
                            requests, sges));
  }
  if (sges == 0)
    return fail(Errc::kInvalidArgument, "a shared receive queue needs at least one SGE");
  if (!std::has_single_bit(requests)) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("the size of a shared receive queue must be a power of two, not {}", requests));
  }
  return 1 + ring_pages(requests, receive_stride(sges));
}

}  // namespace paravane::device
