#include "vmm/qmp_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "vmm/machine_arguments.h"

namespace paravane::vmm {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* kGreeting = "{\"QMP\":{\"version\":{}}}\r\n";
constexpr const char* kDone = "{\"return\":{}}\r\n";

// A QEMU whose other end plays a script.
class QmpClientTest : public testing::Test {
 protected:
  QmpClientTest() {
    std::string pattern = testing::TempDir() + "qmpXXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
  }
  ~QmpClientTest() override {
    listener_.reset();
    if (server_.joinable()) server_.join();
    ::unlink(path().c_str());
    ::rmdir(folder_.c_str());
  }

  std::string path() const { return folder_ + "/" + kQmpSocket; }
  void play(std::function<void(int)> script) {
    server_ = std::thread([this, script = std::move(script)] {
      const UniqueFd client(::accept(listener_.get(), nullptr, nullptr));
      script(client.get());
    });
  }
  static void say(int client, std::string_view text) {
    // Nobody may be there any more.
    [[maybe_unused]] const auto sent = ::send(client, text.data(), text.size(), MSG_NOSIGNAL);
  }
  static std::string hear(int client) {
    std::array<char, 1000> bytes;
    const ssize_t count = ::recv(client, bytes.data(), bytes.size(), 0);
    return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
  }

  std::string folder_;
  UniqueFd listener_;
  std::thread server_;
};

TEST_F(QmpClientTest, TellsQemuAndReadsItsAnswerBetweenEvents) {
  std::string asked;
  play([&asked](int client) {
    say(client, kGreeting);
    hear(client);
    say(client, kDone);
    asked = hear(client);
    say(client, "{\"event\":\"A\"}\n{\"event\":\"B\"}\n{\"return\":{\"status\":\"running\"}}\n");
    hear(client);
  });
  {
    auto client = QmpClient::connect(folder_);
    ASSERT_TRUE(client) << client.error().message;
    const auto status = client->execute("query-status", {{"a", 1}});
    ASSERT_TRUE(status);
    EXPECT_EQ((*status)["status"], "running");
  }
  server_.join();
  EXPECT_EQ(asked, "{\"execute\":\"query-status\",\"arguments\":{\"a\":1}}\n");
}

TEST_F(QmpClientTest, WaitsForNoQemuThatLetsNobodyIn) {
  std::vector<UniqueFd> waiting;  // as many as there may be, who are never let in
  for (;;) {
    waiting.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    if (::connect(waiting.back().get(), generic, sizeof address) == 0) continue;
    ASSERT_EQ(errno, EAGAIN);
    break;
  }
  const auto client = QmpClient::connect(folder_);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, Errc::kIo);
  EXPECT_THAT(client.error().message, HasSubstr("accepts no connections"));
}

TEST_F(QmpClientTest, PassesADescriptorOn) {
  bool got = false;
  play([&got](int client) {
    say(client, kGreeting);
    hear(client);
    say(client, kDone);
    std::array<char, 100> bytes;
    alignas(cmsghdr) std::array<char, 64> control{};
    iovec part{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    ::recvmsg(client, &message, 0);
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    got = header != nullptr && header->cmsg_type == SCM_RIGHTS;
    int descriptor = -1;
    if (got) std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    ::close(descriptor);
    say(client, kDone);
  });
  auto client = QmpClient::connect(folder_);
  ASSERT_TRUE(client);
  EXPECT_TRUE(client->execute("getfd", {{"fdname", "x"}}, STDIN_FILENO));
  server_.join();
  EXPECT_TRUE(got);
}

TEST_F(QmpClientTest, SaysWhyQemuRefuses) {
  play([](int client) {
    say(client, kGreeting);
    hear(client);
    say(client, kDone);
    hear(client);
    say(client, "{\"error\":{\"class\":\"GenericError\",\"desc\":\"no such bus\"}}\n");
    hear(client);
  });
  {
    auto client = QmpClient::connect(folder_);
    ASSERT_TRUE(client);
    const auto refused = client->execute("device_add");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::kBadState);
    EXPECT_EQ(refused.error().message, "QEMU refuses device_add: no such bus");
  }
}

TEST_F(QmpClientTest, NobodyListens) {
  const auto client = QmpClient::connect("/nonexistent");
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, Errc::kNotFound);
}

// What a QEMU does that its guest has taken over.
TEST_F(QmpClientTest, DoesNotWaitForWhoSaysNothing) {
  play([](int client) { hear(client); });
  const auto client = QmpClient::connect(folder_, 50ms);
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().message, HasSubstr("does not respond"));
}

TEST_F(QmpClientTest, DoesNotWaitForWhoSaysEventsWithoutEnd) {
  play([](int client) {
    say(client, kGreeting);
    while (::send(client, "{\"event\":\"A\"}\n", 14, MSG_NOSIGNAL) == 14) {
    }
  });
  const auto client = QmpClient::connect(folder_, 100ms);
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().message, HasSubstr("does not respond"));
}

TEST_F(QmpClientTest, RefusesALineWithoutEnd) {
  play([](int client) {
    const std::string much(1000, 'x');
    while (::send(client, much.data(), much.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  EXPECT_FALSE(QmpClient::connect(folder_));
}

TEST_F(QmpClientTest, SeesThatQemuEnds) {
  play([](int client) { say(client, kGreeting); });
  const auto client = QmpClient::connect(folder_);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, Errc::kIo);
}

TEST_F(QmpClientTest, TakesNoSecondGreetingForAnAnswer) {
  play([](int client) {
    say(client, kGreeting);
    say(client, kGreeting);
    hear(client);
  });
  EXPECT_FALSE(QmpClient::connect(folder_));
}

}  // namespace
}  // namespace paravane::vmm
