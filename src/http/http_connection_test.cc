#include "http/http_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/socket.h>

#include <functional>
#include <string>
#include <utility>

#include "testing/fake_management.h"

namespace paravane::http {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// With a stack that is no larger than it must be.
class SmallThread {
 public:
  explicit SmallThread(std::function<void()> act) : act_(std::move(act)) {
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, kStackBytes);
    const auto run = [](void* self) -> void* {
      static_cast<SmallThread*>(self)->act_();
      return nullptr;
    };
    EXPECT_EQ(::pthread_create(&thread_, &attributes, run, this), 0);
    ::pthread_attr_destroy(&attributes);
  }
  void join() { EXPECT_EQ(::pthread_join(thread_, nullptr), 0); }

 private:
  static constexpr std::size_t kStackBytes = std::size_t{512} * 1024;
  std::function<void()> act_;
  pthread_t thread_{};
};

class HttpConnectionTest : public testing::Test {
 protected:
  // What comes back for these bytes.
  std::string exchange(const std::string& bytes) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const UniqueFd client(ends[0]);
    UniqueFd server_end(ends[1]);
    SmallThread server([&] { serve_http(std::move(server_end), bytes, handler_); });
    std::string answer;
    char buffer[4096];
    ssize_t count = 0;
    while ((count = recv(client.get(), buffer, sizeof buffer, 0)) > 0) {
      answer.append(buffer, static_cast<std::size_t>(count));
    }
    server.join();
    return answer;
  }
  static std::string post(const std::string& body, const std::string& headers = {}) {
    return "POST /v1/vms HTTP/1.1\r\nHost: x\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  FakeManagement management_;
  api::ApiHandler handler_{management_};
};

TEST_F(HttpConnectionTest, AnswersAGet) {
  EXPECT_THAT(
      exchange("GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n"),
      AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("application/json"), HasSubstr("\"pid\":77")));
}

TEST_F(HttpConnectionTest, TakesABody) {
  EXPECT_THAT(exchange(post(R"({"name":"db1"})")), StartsWith("HTTP/1.1 201 "));
  EXPECT_TRUE(management_.vms.contains("db1"));
}

TEST_F(HttpConnectionTest, TakesAChange) {
  exchange(post(R"({"name":"db1"})"));
  const std::string body = R"({"hw_version":15})";
  EXPECT_THAT(exchange("PATCH /v1/vms/db1 HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                       std::to_string(body.size()) + "\r\n\r\n" + body),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(management_.vms["db1"].spec.hw_version, 15u);
}

TEST_F(HttpConnectionTest, TakesParameters) {
  management_.vms["db1"].adapters = {{.state = model::VmState::kActive}};
  EXPECT_THAT(exchange("DELETE /v1/vms/db1?force=true HTTP/1.1\r\nHost: x\r\n\r\n"),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_TRUE(management_.vms.empty());
}

TEST_F(HttpConnectionTest, RefusesInItsOwnForm) {
  const std::string large(api::kMaxApiBody + 1, ' ');
  const std::string long_path(api::kMaxApiPath + 1, 'a');
  for (const std::string& request :
       {post(large), post("{}", "Content-Type: text/plain\r\n"),
        post("{}", "Content-Encoding: gzip\r\n"),
        std::string("POST /v1/vms HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        "GET /" + long_path + " HTTP/1.1\r\n\r\n", std::string("BREW /v1/vms HTTP/1.1\r\n\r\n"),
        std::string("PATCH /v1/vms HTTP/1.1\r\nContent-Length: 0\r\n\r\n"),
        std::string("GET /v1/nothing HTTP/1.1\r\n\r\n")}) {
    EXPECT_THAT(exchange(request), AllOf(StartsWith("HTTP/1.1 4"), HasSubstr("{\"error\":")))
        << request.substr(0, 80);
  }
  EXPECT_TRUE(management_.vms.empty());
}

// Each of them would be a copy of the whole answer.
TEST_F(HttpConnectionTest, RangesAreNotServed) {
  for (int i = 0; i < 200; ++i) management_.vms["database-" + std::to_string(i)];
  const std::string whole = exchange("GET /v1/vms HTTP/1.1\r\n\r\n");
  ASSERT_THAT(whole, StartsWith("HTTP/1.1 200 "));
  std::string ranges = "0-";
  while (ranges.size() < 8000) ranges += ",0-";
  const std::string answer =
      exchange("GET /v1/vms HTTP/1.1\r\nRange: bytes=" + ranges + "\r\n\r\n");
  EXPECT_LE(answer.size(), whole.size()) << answer.substr(0, 80);
}

// A parser that goes deeper with each byte ends the daemon at some length.
TEST_F(HttpConnectionTest, TheWorstRequestNeedsLittleStack) {
  std::string ranges = "0-";
  while (ranges.size() < 8100) ranges += ",0-";
  const std::string ones(8100, '1');
  const std::string path = "/" + std::string(api::kMaxApiPath - 1, 'a');
  const std::string deep =
      std::string(api::kMaxApiBody / 2, '[') + std::string(api::kMaxApiBody / 2, ']');
  for (const std::string& request :
       {"GET /v1/status HTTP/1.1\r\nRange: bytes=" + ranges + "\r\n\r\n",
        "GET /v1/status HTTP/1.1\r\nrange:bytes=" + ones + "-" + "\r\n\r\n",
        "GET /v1/status HTTP/1.1\r\nX: y\nRange: bytes=" + ranges + "\r\n\r\n",
        "GET " + path + "?" + ranges + "&" + ones + "=%41 HTTP/1.1\r\n\r\n",
        "GET /v1/status HTTP/1.1\r\nAccept-Encoding: " + ranges + "\r\n\r\n",
        post(deep, "Content-Type: application/json;" + ranges + "\r\n"),
        post(deep, "Content-Type: multipart/form-data; boundary=" + ranges + "\r\n")}) {
    EXPECT_THAT(exchange(request), StartsWith("HTTP/1.1 ")) << request.substr(0, 80);
  }
}

TEST_F(HttpConnectionTest, SurvivesGarbage) {
  for (const std::string& bytes :
       {std::string(), std::string("\r\n\r\n"), std::string("GET"), std::string("\0\0\0\0", 4),
        std::string("GET /v1/vms HTTP/9.9\r\n\r\n"), std::string("GET  HTTP/1.1\r\n\r\n"),
        std::string("POST /v1/vms HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n{}"),
        std::string("POST /v1/vms HTTP/1.1\r\nContent-Length: -1\r\n\r\n{}"),
        std::string("POST /v1/vms HTTP/1.1\r\nContent-Length: 10\r\n\r\n{}"),
        std::string("GET /v1/%zz HTTP/1.1\r\n\r\n"),
        std::string("GET /v1/vms HTTP/1.1\r\nRange: bytes=9-1,,-\r\n\r\n"),
        "GET /v1/vms HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n",
        "GET /" + std::string(20'000, 'x') + " HTTP/1.1\r\n\r\n"}) {
    exchange(bytes);
  }
  EXPECT_TRUE(management_.vms.empty());
  EXPECT_THAT(exchange("GET /v1/status HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace paravane::http
