#include "api/api_caller.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <functional>
#include <thread>

#include "base/unique_fd.h"
#include "testing/temp_dir.h"

namespace paravane::api {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

// A daemon of any version, that answers everything alike.
class ApiCallerTest : public testing::Test {
 protected:
  ~ApiCallerTest() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  void start(std::function<void(httplib::Response&)> answer) {
    server_.Get(".*",
                [answer = std::move(answer)](const httplib::Request& /*request*/,
                                             httplib::Response& response) { answer(response); });
    server_.set_address_family(AF_UNIX);
    ASSERT_TRUE(server_.bind_to_port(socket_, 80));
    thread_ = std::thread([this] { server_.listen_after_bind(); });
  }
  void start(int status, const char* product, std::string body) {
    start([=](httplib::Response& response) {
      response.status = status;
      if (product != nullptr) response.set_header("Server", product);
      response.set_content(body, "application/json");
    });
  }
  model::ApiResult<std::string> ask() { return caller_.call("GET", "/v1/vms", {}); }

  static std::string error(const char* code) {
    return fmt::format(R"({{"error":{{"code":"{}","message":"why","remedy":"cure"}}}})", code);
  }

  TempDir dir_;
  std::string socket_ = (dir_ / "api.sock").string();
  ApiCaller caller_{{.socket = socket_, .version = "2.0.0", .patience = milliseconds(300)}};
  httplib::Server server_;
  std::thread thread_;
};

TEST_F(ApiCallerTest, GivesTheBody) {
  start(200, "paravaned/2.0.0", "{}");
  EXPECT_EQ(ask().value(), "{}");
  EXPECT_FALSE(caller_.unreachable());
}

TEST_F(ApiCallerTest, NobodyIsThere) {
  const auto answer = ask();
  ASSERT_FALSE(answer);
  EXPECT_TRUE(caller_.unreachable());
  EXPECT_EQ(answer.error().message,
            "paravaned does not answer at " + socket_ + ": No such file or directory");
  EXPECT_THAT(answer.error().remedy, HasSubstr("systemctl start paravaned"));
}

TEST_F(ApiCallerTest, OneThatTakesNobodyInIsNotWaitedForWithoutEnd) {
  const UniqueFd door(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  socket_.copy(address.sun_path, socket_.size());
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  ASSERT_EQ(::bind(door.get(), generic, sizeof address), 0);
  ASSERT_EQ(::listen(door.get(), 0), 0);
  const UniqueFd first(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(first.get(), generic, sizeof address), 0);
  const auto answer = ask();
  ASSERT_FALSE(answer);
  EXPECT_TRUE(caller_.unreachable());
  EXPECT_THAT(answer.error().remedy, HasSubstr("is not accepting connections"));
}

TEST_F(ApiCallerTest, OneThatIsSlowMayHaveDoneIt) {
  start([](httplib::Response& /*response*/) { std::this_thread::sleep_for(milliseconds(900)); });
  const auto answer = ask();
  ASSERT_FALSE(answer);
  EXPECT_TRUE(caller_.unreachable());
  EXPECT_EQ(answer.error().message, "paravaned at " + socket_ + " did not respond within 300 ms");
  EXPECT_THAT(answer.error().remedy, HasSubstr("may still be carried out"));
}

TEST_F(ApiCallerTest, OneThatHangsUpWasPerhapsStopped) {
  const UniqueFd door(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  socket_.copy(address.sun_path, socket_.size());
  ASSERT_EQ(::bind(door.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(door.get(), 2), 0);
  thread_ = std::thread([&door] {
    for (int i = 0; i < 2; ++i) const UniqueFd gone(::accept(door.get(), nullptr, nullptr));
  });
  const auto answer = ask();
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("closed the connection without a response"));
}

// Another program at the socket: what it sends has no end.
class StrangerTest : public ApiCallerTest {
 protected:
  // Sends `first`, and `again` until the caller is gone.
  void start_stranger(const std::string& first, const std::string& again,
                      milliseconds pause = milliseconds(0)) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    socket_.copy(address.sun_path, socket_.size());
    ASSERT_EQ(::bind(door_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(door_.get(), 2), 0);
    thread_ = std::thread([=, this] {
      UniqueFd(::accept(door_.get(), nullptr, nullptr)).reset();  // asked whether it is there
      const UniqueFd caller(::accept(door_.get(), nullptr, nullptr));
      bool goes = send(caller, first);
      while (goes) {
        std::this_thread::sleep_for(pause);
        goes = send(caller, again);
      }
    });
  }
  static bool send(const UniqueFd& to, const std::string& text) {
    return ::send(to.get(), text.data(), text.size(), MSG_NOSIGNAL) > 0;
  }
  void expect_refused(const char* message) {
    const auto answer = ask();
    ASSERT_FALSE(answer);
    EXPECT_TRUE(caller_.unreachable());
    EXPECT_THAT(answer.error().message, HasSubstr(message));
  }

  UniqueFd door_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

TEST_F(StrangerTest, HeadersWithoutEndAreNotKept) {
  start_stranger("HTTP/1.1 200 OK\r\n", "X-Header: " + std::string(1000, 'x') + "\r\n");
  expect_refused("is too long to come from paravaned");
}

TEST_F(StrangerTest, ABodyWithoutEndIsNotKept) {
  caller_ = ApiCaller({.socket = socket_, .version = "2.0.0", .patience = milliseconds(60'000)});
  start_stranger("HTTP/1.1 200 OK\r\n\r\n", std::string(std::size_t{1} << 20, 'x'));
  expect_refused("is too long to come from paravaned");
}

TEST_F(StrangerTest, APatienceIsForTheWholeAnswer) {
  start_stranger("HTTP/1.1 200 OK\r\n\r\n", "x", milliseconds(20));
  expect_refused("did not respond within 300 ms");
}

TEST_F(ApiCallerTest, WhatTheSameVersionRefusesHasItsRemedy) {
  start(400, "paravaned/2.0.0", error("invalid_request"));
  EXPECT_EQ(ask().error().remedy, "cure");
}

TEST_F(ApiCallerTest, ARefusalOfAnotherVersionNamesBoth) {
  start(404, "paravaned/1.9.0", error("unknown_path"));
  const auto answer = ask();
  ASSERT_FALSE(answer);
  EXPECT_FALSE(caller_.unreachable());
  EXPECT_EQ(answer.error().message, "why");
  EXPECT_THAT(answer.error().remedy,
              AllOf(HasSubstr("paravaned 1.9.0"), HasSubstr("version 2.0.0")));
}

TEST_F(ApiCallerTest, WhatIsMissingIsMissingInEveryVersion) {
  start(404, "paravaned/1.9.0", error("not_found"));
  EXPECT_EQ(ask().error().remedy, "cure");
}

TEST_F(ApiCallerTest, AnAnswerOfAnotherVersionThatIsNotUnderstoodNamesBoth) {
  start(200, "paravaned/3.0.0", R"({"vms":[{"state":"dreaming"}]})");
  ASSERT_TRUE(ask());
  const model::ApiError error =
      caller_.not_understood({.code = Errc::kInvalidArgument, .message = "state \"dreaming\""});
  EXPECT_EQ(error.message, "cannot parse the daemon's response: state \"dreaming\"");
  EXPECT_THAT(error.remedy, HasSubstr("paravaned 3.0.0"));
}

TEST_F(ApiCallerTest, ADaemonThatDoesNotTellItsVersion) {
  start(404, nullptr, error("unknown_path"));
  EXPECT_THAT(ask().error().remedy, HasSubstr("of unknown version"));
}

}  // namespace
}  // namespace paravane::api
