// Host: captures of the traffic of VMs, which the worker fills, and of InfiniBand ports, which the
// subnet's thread fills. They are not stored: only their reader may write them to a file.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "capture/capture.h"
#include "host/host.h"
#include "host/port_config.h"
#include "host/refusals.h"

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

std::unexpected<model::ApiError> no_such_uplink(const std::string& uplink) {
  return model::refuse(model::ApiErrorCode::kNotFound, fmt::format("there is no uplink {}", uplink),
                       "List the ports of the InfiniBand adapters with: paravane infiniband uplink "
                       "list");
}

bool has_uplink(const subnet_host::HostInfiniband& infiniband, const std::string& name) {
  const std::vector<std::string> uplinks = infiniband.uplinks();
  return std::ranges::find(uplinks, name) != uplinks.end();
}

using RunningCaptures = std::map<std::uint64_t, std::shared_ptr<capture::Capture>>;

// Errors: kExists, kLimitReached.
ApiResult<void> check_capture_room(const RunningCaptures& captures,
                                   const model::CaptureSpec& spec) {
  std::size_t running = 0;
  for (const auto& [id, capture] : captures) {
    if (capture->has_ended()) continue;
    ++running;
    if (capture->spec().vm != spec.vm || capture->spec().uplink != spec.uplink) continue;
    return model::refuse(model::ApiErrorCode::kExists,
                         fmt::format("{}{} is already being captured",
                                     spec.uplink.empty() ? "vm " : "", captured(spec)),
                         fmt::format("Stop that capture, or wait {} s if its reader has exited.",
                                     model::kCaptureReaderSeconds));
  }
  if (running < model::kMaxCaptures) return {};
  return model::refuse(model::ApiErrorCode::kLimitReached,
                       fmt::format("the limit of {} captures is reached", model::kMaxCaptures),
                       "Stop another capture first.");
}

std::vector<std::string> names_of(const std::vector<model::AdapterName>& adapters) {
  std::vector<std::string> names;
  names.reserve(adapters.size());
  for (const model::AdapterName& adapter : adapters) names.push_back(to_string(adapter));
  return names;
}

}  // namespace

// Captures that have ended and that no client requests any more.
void Host::drop_old_captures() {
  const Instant now = std::chrono::steady_clock::now();
  const auto limit = std::chrono::seconds(model::kCaptureReaderSeconds);
  std::erase_if(captures_, [&](const auto& one) {
    return one.second->has_ended() && one.second->last_read() + limit <= now;
  });
}

ApiResult<CaptureStatus> Host::start_capture(const model::CaptureSpec& spec) {
  const bool is_of_vm = spec.uplink.empty();
  std::vector<model::AdapterName> adapters;
  if (is_of_vm) {
    const auto vm = vms_.find(spec.vm);
    if (vm == vms_.end()) return no_such_vm(spec.vm);
    adapters = adapter_names(vm->second.spec);
  } else if (!has_uplink(*infiniband_, spec.uplink)) {
    return no_such_uplink(spec.uplink);
  }
  drop_old_captures();
  if (auto room = check_capture_room(captures_, spec); !room) return std::unexpected(room.error());
  const auto capture = std::make_shared<capture::Capture>(
      ++last_capture_, spec, is_of_vm ? names_of(adapters) : std::vector{spec.uplink},
      std::chrono::steady_clock::now());
  if (is_of_vm) {
    const auto started = worker_->ask([this, capture, adapters] {
      ports_->start_capture(capture, adapters);
      return true;
    });
    if (!started) return worker_is_busy();
  } else if (auto started = infiniband_->start_capture(spec.uplink, capture); !started) {
    return std::unexpected(started.error());
  }
  captures_.emplace(capture->id(), capture);
  changes_.warn("{}: traffic is being captured for an API client", captured(spec));
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
  if (found->second->spec().uplink.empty()) {
    const auto ended = worker_->ask([this, id] {
      ports_->captures().end(id);
      return true;
    });
    if (!ended) return worker_is_busy();
  } else if (auto ended = infiniband_->end_capture(id); !ended) {
    return std::unexpected(ended.error());
  }
  model::CaptureStatus status = found->second->status();
  captures_.erase(found);
  changes_.info("{}: the capture has ended", captured(status.spec));
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
