#include "host/refusals.h"

#include <fmt/format.h>

#include <utility>

namespace paravane::host {

using control::ApiErrorCode;

std::unexpected<control::ApiError> worker_is_busy() {
  return control::refuse(ApiErrorCode::kBusy, "the worker did not answer in time",
                         "Ask again; see with paravane status and paravane vm list what was done.");
}

std::unexpected<control::ApiError> no_such_adapter(const std::string& name, std::uint32_t number) {
  return control::refuse(ApiErrorCode::kNotFound,
                         fmt::format("vm {} has no adapter {}", name, number),
                         "List the adapters there are with: paravane vm list");
}

std::unexpected<control::ApiError> vms_attached(std::vector<std::string> names,
                                                std::string message) {
  return std::unexpected(
      control::ApiError{.code = ApiErrorCode::kVmsAttached,
                        .message = std::move(message),
                        .remedy = "Shut these VMs down first. With --force they lose their RDMA "
                                  "device until each is restarted.",
                        .vms = std::move(names)});
}

std::unexpected<control::ApiError> vm_attached(const std::string& name) {
  return vms_attached({name}, fmt::format("vm {} is attached", name));
}

}  // namespace paravane::host
