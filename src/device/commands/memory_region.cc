#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "device/commands/handlers.h"
#include "device/commands/page_list.h"
#include "device/limits.h"
#include "device/objects.h"

namespace paravane::device {
namespace {

Progress grant(std::uint32_t key, Response& response) {
  abi::CreateMrResponse answer{};
  answer.mr_handle.set(key);
  answer.lkey.set(key);
  answer.rkey.set(key);
  response.set(answer);
  return Progress::kDone;
}

Result<Progress> create_dma(CommandScope& scope, const abi::CreateMrCommand& command,
                            Response& response) {
  if ((command.access_flags.get() & verbs::kAccessKnown & ~verbs::kAccessLocalWrite) != 0) {
    return fail(Errc::kInvalidArgument, "a DMA region grants no remote access");
  }
  const std::uint32_t pd = command.pd_handle.get();
  // It names all of guest memory: a process must never have one.
  if (scope.objects.owner_of_pd(pd) != kKernelContext) {
    return fail(Errc::kInvalidArgument, "a DMA region belongs to the guest's kernel");
  }
  const Result<std::uint32_t> key = scope.adapter.regions().add_dma(
      verbs::PdNumber{pd}, command.access_flags.get() & verbs::kAccessKnown);
  if (!key) return std::unexpected(key.error());
  return grant(*key, response);
}

// The pages come later, by a work request.
Result<Progress> create_fast(CommandScope& scope, const abi::CreateMrCommand& command,
                             Response& response) {
  const std::uint32_t pd = command.pd_handle.get();
  if (scope.objects.owner_of_pd(pd) != kKernelContext) {
    return fail(Errc::kInvalidArgument, "a fast region belongs to the guest's kernel");
  }
  if (command.nchunks.get() > kMaxFastRegionPages) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} pages in a fast region, but at most {} are allowed",
                            command.nchunks.get(), kMaxFastRegionPages));
  }
  const Result<std::uint32_t> key =
      scope.adapter.regions().add_fast(verbs::PdNumber{pd}, command.nchunks.get());
  if (!key) return std::unexpected(key.error());
  return grant(*key, response);
}

Status check_user_geometry(const abi::CreateMrCommand& command) {
  const std::uint64_t start = command.start.get();
  const std::uint64_t length = command.length.get();
  if (length == 0 || length > kMaxRegionBytes || start > UINT64_MAX - length) {
    return fail(Errc::kInvalidArgument, fmt::format("{} bytes at {:#x}", length, start));
  }
  const std::uint64_t pages = (start % kPageBytes + length + kPageBytes - 1) / kPageBytes;
  if (pages != command.nchunks.get() || pages > kMaxDirectoryPages) {
    return fail(Errc::kInvalidArgument, fmt::format("{} pages given, but {} bytes at {:#x} need {}",
                                                    command.nchunks.get(), length, start, pages));
  }
  if ((command.access_flags.get() & abi::kAccessZeroBased) != 0) {
    return fail(Errc::kUnsupported, "zero-based regions are not supported");
  }
  return {};
}

Result<Progress> create_user(CommandScope& scope, const abi::CreateMrCommand& command,
                             Response& response) {
  if (Status fits = check_user_geometry(command); !fits) return std::unexpected(fits.error());
  const WantedPages wanted{.directory = {command.pdir_dma.get()},
                           .pages = command.nchunks.get(),
                           .need = verbs::needed_rights(command.access_flags.get())};
  return with_pages(scope, wanted, response,
                    [&scope, command](PageList pages, Response& done) -> Result<Progress> {
                      const std::uint32_t pd = command.pd_handle.get();
                      if (!scope.objects.has_pd(pd)) {
                        return fail(Errc::kNotFound, "no such protection domain");
                      }
                      const Result<std::uint32_t> key = scope.adapter.regions().add_user(
                          verbs::PdNumber{pd}, command.start.get(), command.length.get(),
                          command.access_flags.get() & verbs::kAccessKnown, std::move(pages));
                      if (!key) return std::unexpected(key.error());
                      return grant(*key, done);
                    });
}

}  // namespace

Result<Progress> create_mr(CommandScope& scope, const Request& request, Response& response) {
  const auto command = request.as<abi::CreateMrCommand>();
  if (!scope.objects.has_pd(command.pd_handle.get())) {
    return fail(Errc::kNotFound, "no such protection domain");
  }
  if (scope.objects.mrs() >= scope.config.limits.memory_regions) {
    return fail(Errc::kResourceExhausted, "too many memory regions");
  }
  switch (command.flags.get()) {
    case 0: return create_user(scope, command, response);
    case abi::kMrDma: return create_dma(scope, command, response);
    case abi::kMrFastRegister: return create_fast(scope, command, response);
    default: return fail(Errc::kUnsupported, fmt::format("region flags {}", command.flags.get()));
  }
}

Result<Progress> destroy_mr(CommandScope& scope, const Request& request, Response&) {
  const Status gone = scope.objects.destroy_mr(request.as<abi::HandleCommand>().handle.get());
  if (!gone) return std::unexpected(gone.error());
  return Progress::kDone;
}

void undo_create_mr(CommandScope& scope, const Response& response) {
  static_cast<void>(scope.objects.destroy_mr(response.as<abi::CreateMrResponse>().mr_handle.get()));
}

}  // namespace paravane::device
