// Host: captures of VM traffic. The worker fills them, and they are not stored: only their reader
// may write them to a file.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "host/host.h"
#include "host/port_config.h"
#include "host/refusals.h"
#include "worker/captures.h"

namespace paravane::host {

using model::ApiResult;
using model::CaptureStatus;

namespace {

std::unexpected<model::ApiError> no_such_capture(std::uint64_t id) {
  return model::refuse(model::ApiErrorCode::kNotFound, fmt::format("capture {} does not exist", id),
                       fmt::format("A capture ends when the daemon is upgraded, and after {} s "
                                   "without a reader. Start a new one.",
                                   model::kCaptureReaderSeconds));
}

}  // namespace

// Captures that the worker has ended and no client requests any more.
void Host::drop_old_captures() {
  const Instant now = std::chrono::steady_clock::now();
  const auto limit = std::chrono::seconds(model::kCaptureReaderSeconds);
  std::erase_if(captures_, [&](const auto& one) {
    return one.second->has_ended() && one.second->last_read() + limit <= now;
  });
}

model::ApiResult<model::CaptureStatus> Host::start_capture(const model::CaptureSpec& spec) {
  const auto vm = vms_.find(spec.vm);
  if (vm == vms_.end()) return no_such_vm(spec.vm);
  drop_old_captures();
  const bool is_captured = std::ranges::any_of(captures_, [&spec](const auto& one) {
    return !one.second->has_ended() && one.second->spec().vm == spec.vm;
  });
  if (is_captured) {
    return model::refuse(model::ApiErrorCode::kExists,
                         fmt::format("vm {} is already being captured", spec.vm),
                         fmt::format("Stop that capture, or wait {} s if its reader has exited.",
                                     model::kCaptureReaderSeconds));
  }
  const auto running =
      std::ranges::count_if(captures_, [](const auto& one) { return !one.second->has_ended(); });
  if (static_cast<std::size_t>(running) >= model::kMaxCaptures) {
    return model::refuse(model::ApiErrorCode::kLimitReached,
                         fmt::format("the limit of {} captures is reached", model::kMaxCaptures),
                         "Stop another capture first.");
  }
  const auto capture = std::make_shared<worker::Capture>(
      ++last_capture_, spec, adapter_names(vm->second.spec), std::chrono::steady_clock::now());
  const auto started = worker_->ask([this, capture] {
    ports_->start_capture(capture);
    return true;
  });
  if (!started) return worker_is_busy();
  captures_.emplace(capture->id(), capture);
  changes_.warn("{}: traffic is being captured for an API client", spec.vm);
  return capture->status();
}

model::ApiResult<model::CapturePackets> Host::read_capture(std::uint64_t id) {
  const auto found = captures_.find(id);
  if (found == captures_.end()) return no_such_capture(id);
  return found->second->take(std::chrono::steady_clock::now());
}

model::ApiResult<model::CaptureStatus> Host::end_capture(std::uint64_t id) {
  const auto found = captures_.find(id);
  if (found == captures_.end()) return no_such_capture(id);
  const auto ended = worker_->ask([this, id] {
    ports_->captures().end(id);
    return true;
  });
  if (!ended) return worker_is_busy();
  model::CaptureStatus status = found->second->status();
  captures_.erase(found);
  changes_.info("{}: the capture has ended", status.spec.vm);
  return status;
}

model::ApiResult<std::vector<model::CaptureStatus>> Host::list_captures() {
  drop_old_captures();
  std::vector<model::CaptureStatus> list;
  list.reserve(captures_.size());
  for (const auto& [id, capture] : captures_) list.push_back(capture->status());
  return list;
}

}  // namespace paravane::host
