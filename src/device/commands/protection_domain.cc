// Protection domains. A domain belongs to a context, and that is how user and
// kernel queue pairs are told apart.

#include "device/commands/handlers.h"
#include "device/objects.h"

namespace paravane::device {

Result<Progress> create_pd(CommandScope& scope, const Request& request, Response& response) {
  const Result<std::uint32_t> pd =
      scope.objects.create_pd(request.as<abi::HandleCommand>().handle.get());
  if (!pd) return std::unexpected(pd.error());
  abi::HandleResponse answer{};
  answer.handle.set(*pd);
  response.set(answer);
  return Progress::kDone;
}

Result<Progress> destroy_pd(CommandScope& scope, const Request& request, Response&) {
  const Status gone = scope.objects.destroy_pd(request.as<abi::HandleCommand>().handle.get());
  if (!gone) return std::unexpected(gone.error());
  return Progress::kDone;
}

void undo_create_pd(CommandScope& scope, const Response& response) {
  static_cast<void>(scope.objects.destroy_pd(response.as<abi::HandleResponse>().handle.get()));
}

}  // namespace paravane::device
