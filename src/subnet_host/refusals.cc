#include "subnet_host/refusals.h"

namespace paravane::subnet_host {

std::unexpected<model::ApiError> thread_is_busy() {
  return model::refuse(model::ApiErrorCode::kBusy,
                       "the InfiniBand subnet's thread did not respond in time", "Try again.");
}

}  // namespace paravane::subnet_host
