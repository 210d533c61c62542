// User contexts. The guest names a doorbell page by its frame number; only the
// distance from page 0's, which the shared region holds, means anything here.

#include <fmt/format.h>

#include "abi/registers.h"
#include "device/commands/handlers.h"
#include "device/objects.h"

namespace paravane::device {
namespace {

// Older drivers fill 32 bits of the frame numbers.
std::uint64_t page_index(const CommandScope& scope, std::uint64_t frame) {
  if (scope.objects.effective_version() >= abi::kVersionPpn64) {
    return frame - scope.region.doorbell_frame;
  }
  return static_cast<std::uint32_t>(frame) -
         static_cast<std::uint32_t>(scope.region.doorbell_frame);
}

}  // namespace

Result<Progress> create_uc(CommandScope& scope, const Request& request, Response& response) {
  const std::uint64_t index = page_index(scope, request.as<abi::CreateUcCommand>().pfn.get());
  if (index == 0) return fail(Errc::kInvalidArgument, "doorbell page 0 is the kernel's");
  if (index >= scope.config.limits.contexts) {
    return fail(Errc::kResourceExhausted, fmt::format("no doorbell page {}", index));
  }
  abi::HandleResponse answer{};
  answer.handle.set(scope.objects.create_context(static_cast<std::uint32_t>(index)).handle);
  response.set(answer);
  return Progress::kDone;
}

Result<Progress> destroy_uc(CommandScope& scope, const Request& request, Response&) {
  const Status gone = scope.objects.destroy_context(request.as<abi::HandleCommand>().handle.get());
  if (!gone) return std::unexpected(gone.error());
  return Progress::kDone;
}

void undo_create_uc(CommandScope& scope, const Response& response) {
  static_cast<void>(scope.objects.destroy_context(response.as<abi::HandleResponse>().handle.get()));
}

}  // namespace paravane::device
