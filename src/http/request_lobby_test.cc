#include "http/request_lobby.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <string_view>
#include <vector>

namespace paravane::http {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kRequest = "GET /v1/status HTTP/1.1\r\n\r\n";

class RequestLobbyTest : public testing::Test {
 protected:
  // The client's end; ours is in the lobby.
  UniqueFd enter() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    EXPECT_TRUE(lobby_.admit(UniqueFd(ends[1]), now_));
    return UniqueFd(ends[0]);
  }
  void send(const UniqueFd& client, std::string_view bytes) {
    EXPECT_EQ(::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    look();
  }
  void look() {
    while (loop_->poll(Duration::zero()).value() > 0) {
    }
  }
  static bool dropped(const UniqueFd& client) {
    char byte = 0;
    return recv(client.get(), &byte, 1, MSG_DONTWAIT) == 0;
  }

  Instant now_ = Instant(std::chrono::hours(1));
  std::unique_ptr<EventLoop> loop_ = EventLoop::create().value();
  std::vector<std::string> whole_;
  RequestLobby lobby_{*loop_, [this](UniqueFd, std::string request) { whole_.push_back(request); }};
};

TEST_F(RequestLobbyTest, WholeRequestsLeaveHalfOnesWait) {
  const UniqueFd half = enter();
  const UniqueFd other = enter();
  send(half, kRequest.substr(0, 10));
  send(other, kRequest);
  EXPECT_THAT(whole_, ElementsAre(kRequest));
  EXPECT_EQ(lobby_.size(), 1u);
  send(half, kRequest.substr(10));
  EXPECT_THAT(whole_, ElementsAre(kRequest, kRequest));
  EXPECT_EQ(lobby_.size(), 0u);
}

TEST_F(RequestLobbyTest, WhoClosesItsSideHasSaidAll) {
  const UniqueFd half = enter();
  const UniqueFd silent = enter();
  send(half, "GET");
  shutdown(half.get(), SHUT_WR);
  shutdown(silent.get(), SHUT_WR);
  look();
  EXPECT_THAT(whole_, ElementsAre("GET"));
  EXPECT_TRUE(dropped(silent));
  EXPECT_EQ(lobby_.size(), 0u);
}

TEST_F(RequestLobbyTest, TheOldestGoesWhenTooMuchIsHeld) {
  const std::string head = "POST /v1/cluster/restore HTTP/1.1\r\nContent-Length: 1700000\r\n\r\n";
  const std::string most(1'600'000, ' ');
  std::vector<UniqueFd> clients;
  for (std::size_t sent = 0; sent <= RequestLobby::kMostBytes; sent += most.size()) {
    clients.push_back(enter());
    send(clients.back(), head);
    for (std::size_t at = 0; at < most.size(); at += 16'000) {
      send(clients.back(), std::string_view(most).substr(at, 16'000));
    }
  }
  EXPECT_TRUE(dropped(clients.front()));
  EXPECT_FALSE(dropped(clients.back()));
  EXPECT_EQ(lobby_.size(), clients.size() - 1);
}

TEST_F(RequestLobbyTest, TimeIsForTheWholeRequestNotForAPiece) {
  EXPECT_EQ(lobby_.next_deadline(), kNever);
  const UniqueFd slow = enter();
  EXPECT_EQ(lobby_.next_deadline(), now_ + RequestLobby::kPatience);
  now_ += RequestLobby::kPatience - Duration(1);
  send(slow, "G");
  lobby_.drop_late(now_);
  EXPECT_EQ(lobby_.size(), 1u);
  lobby_.drop_late(now_ + Duration(1));
  EXPECT_EQ(lobby_.size(), 0u);
  EXPECT_TRUE(dropped(slow));
}

TEST_F(RequestLobbyTest, OldestMakesRoom) {
  std::vector<UniqueFd> clients;
  for (std::size_t i = 0; i < RequestLobby::kMost; ++i) clients.push_back(enter());
  EXPECT_FALSE(dropped(clients[0]));
  const UniqueFd last = enter();
  EXPECT_EQ(lobby_.size(), RequestLobby::kMost);
  EXPECT_TRUE(dropped(clients[0]));
  EXPECT_FALSE(dropped(clients[1]));
  send(last, kRequest);
  EXPECT_THAT(whole_, ElementsAre(kRequest));
}

TEST_F(RequestLobbyTest, DropsAllWhenItEnds) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd client(ends[0]);
  {
    RequestLobby other(*loop_, [](UniqueFd, const std::string&) {});
    ASSERT_TRUE(other.admit(UniqueFd(ends[1]), now_));
  }
  EXPECT_TRUE(dropped(client));
  EXPECT_THAT(whole_, IsEmpty());
}

}  // namespace
}  // namespace paravane::http
