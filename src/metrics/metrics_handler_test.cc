#include "metrics/metrics_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "http/http_connection.h"
#include "metrics/metrics_page.h"
#include "metrics/sample_metrics_test.h"
#include "testing/fake_cluster.h"
#include "testing/fake_management.h"

namespace paravane::metrics {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class FakeSource final : public MetricsSource {
 public:
  model::ApiResult<std::shared_ptr<const MetricsSnapshot>> metrics() override {
    if (fault) return std::unexpected(*fault);
    return std::make_shared<const MetricsSnapshot>(sample_metrics());
  }
  std::optional<model::ApiError> fault;
};

class MetricsHandlerTest : public testing::Test {
 protected:
  api::ApiResponse get(const std::string& path) {
    return handler_.handle({.method = "GET", .path = path});
  }
  std::string exchange(const std::string& bytes, api::RequestHandler& handler) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const UniqueFd client(ends[0]);
    std::thread server([&, end = ends[1]] { http::serve_http(UniqueFd(end), bytes, handler); });
    std::string answer;
    char buffer[4096];
    ssize_t count = 0;
    while ((count = recv(client.get(), buffer, sizeof buffer, 0)) > 0) {
      answer.append(buffer, static_cast<std::size_t>(count));
    }
    server.join();
    return answer;
  }

  FakeSource source_;
  FakeCluster cluster_;
  FakeManagement management_;
  api::EventLog events_{"b0"};
  RequestCounts counts_;
  worker::TurnState turns_;
  MetricsHandler handler_{{.source = source_,
                           .cluster = cluster_,
                           .events = events_,
                           .requests = counts_,
                           .turns = &turns_}};
  api::ApiHandler api_{management_};
  ObservedApi observed_{api_, handler_, counts_};
};

TEST_F(MetricsHandlerTest, GivesThePage) {
  const api::ApiResponse response = get("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_STREQ(response.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(response.body,
              HasSubstr("paravane_daemon_info{version=\"1\",host=\"h1\",boot=\"b0\"} 1"));
}

TEST_F(MetricsHandlerTest, GivesNothingElse) {
  EXPECT_EQ(get("/v1/vms").status, 404);
  EXPECT_EQ(get("/").status, 404);
  EXPECT_EQ(handler_.handle({.method = "POST", .path = "/metrics"}).status, 405);
  EXPECT_EQ(handler_.handle({.method = "GET", .path = "/metrics", .query = {{"a", "b"}}}).status,
            400);
  EXPECT_THAT(
      exchange("POST /v1/daemon/stop HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", handler_),
      StartsWith("HTTP/1.1 404 "));
}

TEST_F(MetricsHandlerTest, SaysWhyThereIsNone) {
  source_.fault =
      model::ApiError{.code = model::ApiErrorCode::kBusy, .message = "busy", .remedy = {}};
  EXPECT_EQ(get("/metrics").status, 503);
}

TEST_F(MetricsHandlerTest, TheApiHasThePageBesideItsOwnAndCountsWhatItAnswers) {
  EXPECT_THAT(exchange("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", observed_),
              HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  observed_.handle({.method = "GET", .path = "/v1/vms"});
  observed_.handle({.method = "GET", .path = "/nothing"});
  EXPECT_EQ(counts_.by_status(), (std::map<int, std::uint64_t>{{200, 2}, {404, 1}}));
  EXPECT_THAT(get("/metrics").body, HasSubstr("paravane_api_requests_total{code=\"404\"} 1"));
}

TEST_F(MetricsHandlerTest, SaysThatTheWorkerIsHeldWithoutAskingIt) {
  source_.fault =
      model::ApiError{.code = model::ApiErrorCode::kBusy, .message = "no answer", .remedy = {}};
  turns_.is_held = true;
  turns_.holds = 3;
  const api::ApiResponse page = get(kMetricsPath);
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, HasSubstr("\nparavane_worker_held 1\n"));
  EXPECT_THAT(page.body, HasSubstr("\nparavane_worker_holds_total 3\n"));
}

TEST_F(MetricsHandlerTest, SaysThatTheWorkerTurns) {
  EXPECT_THAT(get(kMetricsPath).body, HasSubstr("\nparavane_worker_held 0\n"));
}

}  // namespace
}  // namespace paravane::metrics
