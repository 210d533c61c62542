// MetricsHandler answers GET /metrics on the metrics port and refuses all other requests.
// ObservedApi serves the management API together with /metrics, and counts its responses by HTTP
// status.
//
// Any thread.

#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "api/api_handler.h"
#include "api/event_log.h"
#include "base/mutex.h"
#include "metrics/metrics_snapshot.h"
#include "model/cluster.h"
#include "worker/turn_watch.h"

namespace paravane::metrics {

class RequestCounts {
 public:
  void add(int status) {
    const MutexLock lock(mutex_);
    ++by_status_[status];
  }
  std::map<int, std::uint64_t> by_status() const {
    const MutexLock lock(mutex_);
    return by_status_;
  }

 private:
  mutable Mutex mutex_;
  std::map<int, std::uint64_t> by_status_ GUARDED_BY(mutex_);
};

// The objects that supply the contents of a metrics page. They outlive the handlers.
struct MetricsParts {
  MetricsSource& source;
  model::ClusterManagement& cluster;
  const api::EventLog& events;
  const RequestCounts& requests;
  const worker::TurnState* turns = nullptr;  // null: the worker is not watched
};

class MetricsHandler final : public api::RequestHandler {
 public:
  explicit MetricsHandler(MetricsParts parts) : parts_(parts) {}
  api::ApiResponse handle(const api::ApiRequest& request) override;

 private:
  MetricsParts parts_;
};

class ObservedApi final : public api::RequestHandler {
 public:
  ObservedApi(api::ApiHandler& api, MetricsHandler& metrics, RequestCounts& counts)
      : api_(api), metrics_(metrics), counts_(counts) {}
  api::ApiResponse handle(const api::ApiRequest& request) override;

 private:
  api::ApiHandler& api_;
  MetricsHandler& metrics_;
  RequestCounts& counts_;
};

}  // namespace paravane::metrics
