// User contexts. The guest names a doorbell page by its frame number; only the
// distance from page 0's, which the shared region holds, means anything here.

#include <fmt/core.h>

#include <memory>

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

Result<Progress> make_context(Objects& objects, std::uint32_t page, Response& response) {
  abi::HandleResponse answer{};
  answer.handle.set(objects.create_context(page).handle);
  response.set(answer);
  return Progress::kDone;
}

// The page's last context is dead in the guest, and has to be buried first.
class ContextAfterBurial final : public LongCommand {
 public:
  ContextAfterBurial(Objects& objects, std::uint32_t page) : objects_(objects), page_(page) {}

  Result<Progress> advance(Response& response) override {
    if (objects_.closing()) return Progress::kLater;
    return make_context(objects_, page_, response);
  }

 private:
  Objects& objects_;
  std::uint32_t page_;
};

}  // namespace

Result<Progress> create_uc(CommandScope& scope, const Request& request, Response& response) {
  const std::uint64_t index = page_index(scope, request.as<abi::CreateUcCommand>().pfn.get());
  if (index == 0)
    return fail(Errc::kInvalidArgument, "doorbell page 0 belongs to the guest's kernel");
  if (index >= scope.config.limits.contexts) {
    return fail(Errc::kResourceExhausted, fmt::format("invalid doorbell page {}", index));
  }
  const auto page = static_cast<std::uint32_t>(index);
  UserContext* stale = scope.objects.context_of_page(page);
  if (stale == nullptr && !scope.objects.closing()) {
    return make_context(scope.objects, page, response);
  }
  auto after = std::make_unique<ContextAfterBurial>(scope.objects, page);
  if (stale != nullptr) scope.objects.close_context(*stale);
  *scope.later = std::move(after);
  return Progress::kLater;
}

Result<Progress> destroy_uc(CommandScope& scope, const Request& request, Response&) {
  UserContext* context = scope.objects.find_context(request.as<abi::HandleCommand>().handle.get());
  if (context == nullptr) return fail(Errc::kNotFound, "no such context");
  scope.objects.close_context(*context);
  return Progress::kDone;
}

void undo_create_uc(CommandScope& scope, const Response& response) {
  UserContext* made = scope.objects.find_context(response.as<abi::HandleResponse>().handle.get());
  if (made != nullptr) scope.objects.close_context(*made);
}

}  // namespace paravane::device
