#include "host/refusals.h"

#include <fmt/core.h>

#include <utility>

namespace paravane::host {

std::unexpected<model::ApiError> worker_is_busy() {
  return model::refuse(model::ApiErrorCode::kBusy, "the worker did not respond in time",
                       "Nothing was changed. Try again.");
}

std::unexpected<model::ApiError> no_such_adapter(const std::string& name, std::uint32_t number) {
  return model::refuse(model::ApiErrorCode::kNotFound,
                       fmt::format("vm {} has no adapter {}", name, number),
                       "List the adapters with: paravane vm list");
}

std::unexpected<model::ApiError> is_left_out(const model::LeftOut& one) {
  return model::refuse(model::ApiErrorCode::kStore,
                       fmt::format("{} is unusable: {}", name_of(one), one.reason), one.remedy);
}

std::unexpected<model::ApiError> vms_attached(std::vector<std::string> names, std::string message) {
  return std::unexpected(
      model::ApiError{.code = model::ApiErrorCode::kVmsAttached,
                      .message = std::move(message),
                      .remedy = "Shut down these VMs first. With --force, they lose their RDMA "
                                "device until they are restarted.",
                      .vms = std::move(names)});
}

std::unexpected<model::ApiError> vm_attached(const std::string& name) {
  return vms_attached({name}, fmt::format("vm {} is attached", name));
}

}  // namespace paravane::host
