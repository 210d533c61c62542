#include "metrics/metrics_handler.h"

#include "control/api_respond.h"
#include "metrics/metrics_page.h"

namespace paravane::metrics {

using control::ApiRequest;
using control::ApiResponse;

ApiResponse MetricsHandler::handle(const ApiRequest& request) {
  if (request.path != kMetricsPath) {
    return control::error_response({.code = control::ApiErrorCode::kNotFound,
                                    .message = "there is nothing but /metrics here",
                                    .remedy = "See docs/metrics.md."});
  }
  if (request.method != "GET") return control::method_not_allowed(request);
  if (const auto problem = control::query_problem(request, {})) return control::invalid(*problem);
  const auto snapshot = parts_.source.metrics();
  if (!snapshot) return control::error_response(snapshot.error());
  // Without its status a cluster is none: the rest is of use.
  const auto cluster = parts_.cluster.cluster_status();
  return {.status = 200,
          .body = print_metrics({.snapshot = **snapshot,
                                 .cluster = cluster ? *cluster : control::ClusterStatus{},
                                 .events = parts_.events.totals(),
                                 .boot = parts_.events.boot(),
                                 .api_requests = parts_.requests.by_status()}),
          .content_type = kMetricsContentType};
}

ApiResponse ObservedApi::handle(const ApiRequest& request) {
  ApiResponse response =
      request.path == kMetricsPath ? metrics_.handle(request) : api_.handle(request);
  counts_.add(response.status);
  return response;
}

}  // namespace paravane::metrics
