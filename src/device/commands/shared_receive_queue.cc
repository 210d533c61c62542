#include "device/queues/shared_receive_queue.h"

#include <fmt/core.h>

#include <utility>

#include "device/commands/handlers.h"
#include "device/commands/page_list.h"
#include "device/objects.h"
#include "device/pvrdma_device.h"
#include "device/queues/queue_geometry.h"

namespace paravane::device {
namespace {

constexpr std::uint8_t kBasic = 0;  // the one type; the other is for XRC

// Returns how many pages to map: those the ring needs. The provider sends twice as
// many for it.
Result<std::uint64_t> check_geometry(const abi::CreateSrqCommand& command,
                                     const DeviceLimits& limits) {
  const std::uint32_t requests = command.attrs.max_wr.get();
  const std::uint32_t sges = command.attrs.max_sge.get();
  const Result<std::uint64_t> needed = shared_receive_queue_pages(requests, sges, limits);
  if (!needed) return needed;
  if (command.nchunks.get() < *needed || command.nchunks.get() > kMaxDirectoryPages) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} pages given for {} requests, but {} are needed",
                            command.nchunks.get(), requests, *needed));
  }
  return needed;
}

}  // namespace

Result<Progress> create_srq(CommandScope& scope, const Request& request, Response& response) {
  const auto command = request.as<abi::CreateSrqCommand>();
  if (command.srq_type != kBasic) {
    return fail(Errc::kUnsupported,
                fmt::format("unsupported shared receive queue type {}", command.srq_type));
  }
  const Result<std::uint64_t> needed = check_geometry(command, scope.config.limits);
  if (!needed) return std::unexpected(needed.error());
  const std::uint32_t requests = command.attrs.max_wr.get();
  const std::uint32_t limit = command.attrs.srq_limit.get();
  const SharedReceiveQueue::Spec spec{
      .protection_domain = command.pd_handle.get(),
      .requests = requests,
      .sges = command.attrs.max_sge.get(),
      // Programs need not set it here (ibv_create_srq(3)): what cannot be one is none.
      .limit = limit <= requests ? limit : 0};
  const WantedPages wanted{.directory = {command.pdir_dma.get()}, .pages = *needed};
  return with_pages(
      scope, wanted, response, [&scope, spec](PageList pages, Response& done) -> Result<Progress> {
        const Result<SharedReceiveQueue*> srq = scope.objects.create_srq(
            spec, std::move(pages), scope.shared_receive_events, scope.counters.broken_rings);
        if (!srq) return std::unexpected(srq.error());
        abi::CreateSrqResponse answer{};
        answer.srqn.set((*srq)->handle());
        done.set(answer);
        return Progress::kDone;
      });
}

Result<Progress> modify_srq(CommandScope& scope, const Request& request, Response&) {
  const auto command = request.as<abi::ModifySrqCommand>();
  SharedReceiveQueue* srq = scope.objects.find_srq(command.srq_handle.get());
  if (srq == nullptr) return fail(Errc::kNotFound, "no such shared receive queue");
  // Its size cannot be changed: MAX_WR comes with a 0 and means nothing.
  if ((command.attr_mask.get() & abi::kSrqLimit) == 0) return Progress::kDone;
  if (Status set = srq->set_limit(command.attrs.srq_limit.get()); !set) {
    return std::unexpected(set.error());
  }
  return Progress::kDone;
}

Result<Progress> query_srq(CommandScope& scope, const Request& request, Response& response) {
  const SharedReceiveQueue* srq =
      scope.objects.find_srq(request.as<abi::HandleCommand>().handle.get());
  if (srq == nullptr) return fail(Errc::kNotFound, "no such shared receive queue");
  abi::QuerySrqResponse answer{};
  answer.attrs.max_wr.set(srq->spec().requests);
  answer.attrs.max_sge.set(srq->spec().sges);
  answer.attrs.srq_limit.set(srq->limit());
  response.set(answer);
  return Progress::kDone;
}

Result<Progress> destroy_srq(CommandScope& scope, const Request& request, Response&) {
  const Status gone = scope.objects.destroy_srq(request.as<abi::HandleCommand>().handle.get());
  if (!gone) return std::unexpected(gone.error());
  return Progress::kDone;
}

void undo_create_srq(CommandScope& scope, const Response& response) {
  static_cast<void>(scope.objects.destroy_srq(response.as<abi::CreateSrqResponse>().srqn.get()));
}

}  // namespace paravane::device
