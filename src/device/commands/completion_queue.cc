#include "device/queues/completion_queue.h"

#include <fmt/core.h>

#include <utility>

#include "device/commands/handlers.h"
#include "device/commands/page_list.h"
#include "device/objects.h"
#include "device/queues/queue_geometry.h"

namespace paravane::device {
namespace {

// Returns how many pages to map: those the ring needs, however many more it names.
Result<std::uint64_t> check_geometry(const abi::CreateCqCommand& command,
                                     const DeviceLimits& limits) {
  const std::uint32_t entries = command.cqe.get();
  const Result<std::uint64_t> needed = completion_queue_pages(entries, limits);
  if (!needed) return needed;
  if (command.nchunks.get() < *needed || command.nchunks.get() > kMaxDirectoryPages) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} pages given for {} entries, but {} are needed",
                            command.nchunks.get(), entries, *needed));
  }
  return needed;
}

}  // namespace

Result<Progress> create_cq(CommandScope& scope, const Request& request, Response& response) {
  const auto command = request.as<abi::CreateCqCommand>();
  const Result<std::uint64_t> needed = check_geometry(command, scope.config.limits);
  if (!needed) return std::unexpected(needed.error());
  const WantedPages wanted{.directory = {command.pdir_dma.get()}, .pages = *needed};
  return with_pages(
      scope, wanted, response,
      [&scope, command](PageList pages, Response& done) -> Result<Progress> {
        const Result<std::uint32_t> cq = scope.objects.create_cq(
            command.ctx_handle.get(), command.cqe.get(), std::move(pages), scope.completion_sink);
        if (!cq) return std::unexpected(cq.error());
        if (scope.journal != nullptr && command.ctx_handle.get() == kKernelContext) {
          scope.journal->add_cq(
              *cq, {.directory = {command.pdir_dma.get()}, .entries = command.cqe.get()});
        }
        abi::CreateCqResponse answer{};
        answer.cq_handle.set(*cq);
        answer.cqe = command.cqe;
        done.set(answer);
        return Progress::kDone;
      });
}

Result<Progress> destroy_cq(CommandScope& scope, const Request& request, Response&) {
  const Status gone = scope.objects.destroy_cq(request.as<abi::HandleCommand>().handle.get());
  if (!gone) return std::unexpected(gone.error());
  return Progress::kDone;
}

void undo_create_cq(CommandScope& scope, const Response& response) {
  static_cast<void>(scope.objects.destroy_cq(response.as<abi::CreateCqResponse>().cq_handle.get()));
}

}  // namespace paravane::device
