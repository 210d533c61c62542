#include "device/queues/queue_geometry.h"

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

Status check_sizes(const QueueSizes& sizes, const DeviceLimits& limits) {
  const Side send{"send", sizes.send_requests, sizes.send_sges};
  if (Status status = check_side(send, limits); !status) return status;
  if (!sizes.has_receives) return {};
  return check_side({"receive", sizes.receive_requests, sizes.receive_sges}, limits);
}

// REQUIRES: check_sizes().
QueueGeometry layout_of(const QueueSizes& sizes) {
  const std::uint32_t send_bytes = send_stride(sizes.send_sges);
  const std::uint64_t send_pages = ring_pages(sizes.send_requests, send_bytes);
  QueueGeometry geometry;
  geometry.pages = 1 + send_pages;
  geometry.send = {abi::kTxProducerAt, abi::kTxConsumerAt, kPageBytes, send_bytes,
                   sizes.send_requests};
  if (!sizes.has_receives) return geometry;
  const std::uint32_t receive_bytes = receive_stride(sizes.receive_sges);
  geometry.receive = {abi::kRxProducerAt, abi::kRxConsumerAt, kPageBytes * (1 + send_pages),
                      receive_bytes, sizes.receive_requests};
  geometry.pages += ring_pages(sizes.receive_requests, receive_bytes);
  return geometry;
}

}  // namespace

Result<QueueGeometry> queue_geometry(const QueueSizes& sizes, const DeviceLimits& limits) {
  if (Status fits = check_sizes(sizes, limits); !fits) return std::unexpected(fits.error());
  return layout_of(sizes);
}

Result<QueueGeometry> queue_geometry(const abi::CreateQpCommand& command,
                                     const DeviceLimits& limits) {
  const QueueSizes sizes{.send_requests = command.max_send_wr.get(),
                         .send_sges = command.max_send_sge.get(),
                         .receive_requests = command.max_recv_wr.get(),
                         .receive_sges = command.max_recv_sge.get(),
                         .has_receives = command.is_srq == 0};
  if (Status fits = check_sizes(sizes, limits); !fits) return std::unexpected(fits.error());
  const QueueGeometry geometry = layout_of(sizes);
  const std::uint64_t send_pages = ring_pages(sizes.send_requests, geometry.send.element_bytes);
  if (send_pages == command.send_chunks.get() && geometry.pages == command.total_chunks.get()) {
    return geometry;
  }
  return fail(Errc::kInvalidArgument,
              fmt::format("{} of the {} pages given are for sends, but {} of {} are needed",
                          command.send_chunks.get(), command.total_chunks.get(), send_pages,
                          geometry.pages));
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
