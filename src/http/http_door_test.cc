#include "http/http_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "testing/fake_management.h"
#include "testing/log_capture.h"
#include "testing/no_more_descriptors.h"
#include "testing/wait_until.h"

#if !PARAVANE_NEEDS_DESCRIPTORS

namespace paravane::http {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class HttpDoorTest : public testing::Test {
 protected:
  HttpDoorTest() {
    UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_un any{.sun_family = AF_UNIX, .sun_path = {}};  // the kernel names it
    EXPECT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(sa_family_t)),
              0);
    EXPECT_EQ(::listen(listener.get(), 8), 0);
    size_ = sizeof name_;
    EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&name_), &size_), 0);
    door_ = *HttpDoor::open({.name = "door", .threads = 1}, std::move(listener), handler_);
  }

  static UniqueFd make_socket() {
    return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  // All that comes back for a question after the status.
  std::string ask(const UniqueFd& client) const {
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&name_), size_), 0);
    const std::string request = "GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n";
    EXPECT_EQ(::send(client.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    std::string answer;
    char buffer[4096];
    ssize_t count = 0;
    while ((count = ::recv(client.get(), buffer, sizeof buffer, 0)) > 0) {
      answer.append(buffer, static_cast<std::size_t>(count));
    }
    return answer;
  }

  const LogCapture log_;
  FakeManagement management_;
  api::ApiHandler handler_{management_};
  sockaddr_un name_{};
  socklen_t size_ = 0;
  std::unique_ptr<HttpDoor> door_;
};

TEST_F(HttpDoorTest, ToldThatThereAreNoDescriptors) {
  const UniqueFd first = make_socket();
  const UniqueFd second = make_socket();
  std::string answers[2];
  {
    const AllDescriptorsTaken full;
    answers[0] = ask(first);
    answers[1] = ask(second);
  }
  for (const std::string& answer : answers) {
    EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("{\"error\":"),
                              HasSubstr("no free file descriptor"), HasSubstr("LimitNOFILE=")));
  }
}

TEST_F(HttpDoorTest, ServesAgainWhenThereAreDescriptors) {
  const UniqueFd first = make_socket();
  {
    const AllDescriptorsTaken full;
    ask(first);
  }
  EXPECT_THAT(ask(make_socket()), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpDoorTest, LetsClientsWaitWhileItIsPaused) {
  EXPECT_FALSE(door_->is_idle());
  door_->pause();
  wait_until([&] { return door_->is_idle(); });
  std::string answer;
  std::jthread client([&] { answer = ask(make_socket()); });
  pollfd knock{.fd = door_->listener(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&knock, 1, 10'000), 1) << "the client is in the socket's queue";
  EXPECT_TRUE(door_->is_idle());
  door_->resume();
  client.join();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_FALSE(door_->is_idle());
}

}  // namespace
}  // namespace paravane::http

#endif
