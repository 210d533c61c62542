#include "metrics/metrics_handler.h"

#include "api/api_respond.h"
#include "metrics/metrics_page.h"

namespace paravane::metrics {

api::ApiResponse MetricsHandler::handle(const api::ApiRequest& request) {
  if (request.path != kMetricsPath) {
    return api::error_response({.code = model::ApiErrorCode::kNotFound,
                                .message = "only /metrics is available here",
                                .remedy = "See /usr/share/doc/paravane/docs/metrics.md."});
  }
  if (request.method != "GET") return api::method_not_allowed(request);
  if (const auto problem = api::query_problem(request, {})) return api::invalid(*problem);
  // All else is asked of the worker, or of a thread that waits for it.
  if (parts_.turns != nullptr && parts_.turns->is_held) {
    return {.status = 200, .body = print_turns(*parts_.turns), .content_type = kMetricsContentType};
  }
  const auto snapshot = parts_.source.metrics();
  if (!snapshot) return api::error_response(snapshot.error());
  // Without its status a cluster is none: the rest is of use.
  const auto cluster = parts_.cluster.cluster_status();
  return {.status = 200,
          .body = (parts_.turns != nullptr ? print_turns(*parts_.turns) : std::string()) +
                  print_metrics({.snapshot = **snapshot,
                                 .cluster = cluster ? *cluster : model::ClusterStatus{},
                                 .events = parts_.events.totals(),
                                 .boot = parts_.events.boot(),
                                 .api_requests = parts_.requests.by_status()}),
          .content_type = kMetricsContentType};
}

api::ApiResponse ObservedApi::handle(const api::ApiRequest& request) {
  api::ApiResponse response =
      request.path == kMetricsPath ? metrics_.handle(request) : api_.handle(request);
  counts_.add(response.status);
  return response;
}

}  // namespace paravane::metrics
