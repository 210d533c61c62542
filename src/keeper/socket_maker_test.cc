// The engine's requests for sockets and the keeper's answers, on one line between them.

#include "keeper/socket_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "privsep/dialer.h"

namespace paravane::keeper {
namespace {

using testing::HasSubstr;

class DialerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto loop = EventLoop::create();
    auto ends = privsep::ProcessLink::make();
    ASSERT_TRUE(loop && ends);
    loop_ = std::move(*loop);
    keeper_.emplace(std::move(ends->first));
    engine_.emplace(std::move(ends->second));
    config_.address = "127.0.0.1";
  }
  void TearDown() override { dialer_.close(); }

  SocketMaker& maker() {
    if (!maker_) {
      maker_.emplace(*loop_,
                     SocketMakerConfig{.cluster = config_,
                                       .channel = channel_,
                                       .metrics = metrics_,
                                       .vmkernel = [this] { return vmkernel_; }},
                     [this](std::string_view id, Result<UniqueFd> socket) {
                       const std::string text(id);
                       if (socket) {
                         keeper_->send({.kind = privsep::Note::Kind::kSocket, .text = text},
                                       *socket);
                       } else {
                         refused_ = socket.error().code;
                         keeper_->send({.kind = privsep::Note::Kind::kSocket,
                                        .text = privsep::Dialer::refusal(id, socket.error())});
                       }
                     });
    }
    return *maker_;
  }
  // Both processes' turn, until there is an answer.
  Result<UniqueFd> settle(const std::optional<Result<UniqueFd>>& answer) {
    for (int i = 0; i < 100 && !answer; ++i) {
      while (const auto note = keeper_->receive().value_or(std::nullopt)) {
        if (note->kind == privsep::Note::Kind::kDial) maker().dial(note->text, now_);
        if (note->kind == privsep::Note::Kind::kListen) maker().listen(note->text);
      }
      static_cast<void>(loop_->poll(std::chrono::milliseconds(10)));
      maker().drop_late(now_);
      while (auto note = std::move(*engine_->receive_with_socket())) {
        dialer_.on_answer(note->note.text, std::move(note->socket));
      }
    }
    if (!answer) return fail(Errc::kIo, "never answered");
    return answer->has_value() ? Result<UniqueFd>(UniqueFd(::dup(answer->value().get())))
                               : std::unexpected(answer->error());
  }
  Result<UniqueFd> dial(const std::string& endpoint) {
    std::optional<Result<UniqueFd>> answer;
    dialer_.dial(endpoint,
                 [&answer](Result<UniqueFd> socket) { answer.emplace(std::move(socket)); });
    return settle(answer);
  }
  Result<UniqueFd> listen(const std::string& endpoint) {
    std::optional<Result<UniqueFd>> answer;
    dialer_.listen(endpoint,
                   [&answer](Result<UniqueFd> socket) { answer.emplace(std::move(socket)); });
    return settle(answer);
  }
  // At one of the ports that a channel may have. `address`: as an endpoint has it.
  std::string listening(const std::string& address = "127.0.0.1") {
    for (std::uint16_t port = settings::kFirstChannelPort; port <= settings::kLastChannelPort;
         ++port) {
      std::string endpoint = address + ":" + std::to_string(port);
      auto socket = listen(endpoint);
      if (!socket) continue;
      listener_ = std::move(*socket);
      return endpoint;
    }
    return {};
  }

  settings::ClusterConfig config_;
  settings::ChannelConfig channel_;
  std::vector<Ipv4Interface> vmkernel_;
  settings::MetricsConfig metrics_;
  Instant now_{};
  std::unique_ptr<EventLoop> loop_;
  std::optional<privsep::ProcessLink> keeper_;
  std::optional<privsep::ProcessLink> engine_;
  std::optional<SocketMaker> maker_;
  std::optional<Errc> refused_;
  UniqueFd listener_;
  privsep::Dialer dialer_{[this](const privsep::Note& note) { engine_->send(note); }};
};

TEST_F(DialerTest, ListensForMetricsWhereTheFileSays) {
  config_.address.clear();  // in no cluster
  const UniqueFd any(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(any.get(), generic, size), 0);
  ASSERT_EQ(::getsockname(any.get(), generic, &size), 0);
  metrics_.listen = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  const auto elsewhere = listen("127.0.0.2:" + std::to_string(ntohs(address.sin_port)));
  EXPECT_FALSE(elsewhere);
  // The port is taken at the moment: it was tried.
  const auto taken = listen(metrics_.listen);
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().message.find("Address already in use"), std::string::npos)
      << taken.error().message;
}

TEST_F(DialerTest, GetsAConnection) {
  const std::string endpoint = listening();
  ASSERT_FALSE(endpoint.empty());
  const auto socket = dial(endpoint);
  ASSERT_TRUE(socket) << socket.error().message;
  const UniqueFd peer(::accept(listener_.get(), nullptr, nullptr));
  ASSERT_TRUE(peer);
  ASSERT_EQ(::send(socket->get(), "x", 1, 0), 1);
  char byte = 0;
  EXPECT_EQ(::recv(peer.get(), &byte, 1, 0), 1);
}

int option_of(const UniqueFd& socket, int level, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(socket.get(), level, option, &value, &size) == 0 ? value : -1;
}

TEST_F(DialerTest, BothEndsOfAChannelHaveItsDscp) {
  const std::string endpoint = listening();
  ASSERT_FALSE(endpoint.empty());
  const auto socket = dial(endpoint);
  ASSERT_TRUE(socket) << socket.error().message;
  const UniqueFd peer(::accept(listener_.get(), nullptr, nullptr));
  ASSERT_TRUE(peer);
  EXPECT_EQ(option_of(*socket, IPPROTO_IP, IP_TOS), 26 << 2);
  EXPECT_EQ(option_of(peer, IPPROTO_IP, IP_TOS), 26 << 2);
}

TEST_F(DialerTest, BothEndsOfAChannelOverIpv6HaveTheDscpThatIsSet) {
  config_.address = "::1";
  channel_.dscp = 46;
  const std::string endpoint = listening("[::1]");
  if (endpoint.empty()) GTEST_SKIP() << "this host has no IPv6";
  const auto socket = dial(endpoint);
  ASSERT_TRUE(socket) << socket.error().message;
  const UniqueFd peer(::accept(listener_.get(), nullptr, nullptr));
  ASSERT_TRUE(peer);
  EXPECT_EQ(option_of(*socket, IPPROTO_IPV6, IPV6_TCLASS), 46 << 2);
  EXPECT_EQ(option_of(peer, IPPROTO_IPV6, IPV6_TCLASS), 46 << 2);
}

TEST_F(DialerTest, IsToldWhyThereIsNone) {
  const std::string endpoint = listening();
  ASSERT_FALSE(endpoint.empty());
  listener_.reset();
  const auto socket = dial(endpoint);
  ASSERT_FALSE(socket);
  EXPECT_THAT(socket.error().message, HasSubstr("Connection refused"));
}

TEST_F(DialerTest, GetsNothingOnAHostWithoutACluster) {
  config_.address.clear();
  const auto socket = dial("127.0.0.1:28250");
  ASSERT_FALSE(socket);
  EXPECT_THAT(socket.error().message, HasSubstr("[cluster] address"));
  EXPECT_FALSE(listen("127.0.0.1:28250"));
}

TEST_F(DialerTest, ReachesOnlyWhatHostsOfAClusterAreReachedAt) {
  for (const char* endpoint :
       {"127.0.0.1:22", "127.0.0.1:28762", "224.0.0.1:28250", "0.0.0.0:28250",
        "255.255.255.255:28250", "[::1]:28250", "localhost:28250", "127.0.0.1", ""}) {
    refused_.reset();
    EXPECT_FALSE(dial(endpoint)) << endpoint;
    EXPECT_EQ(refused_, Errc::kInvalidArgument) << endpoint;
  }
}

TEST_F(DialerTest, DoesNotReachThisHostsOwnServices) {
  config_.address = "192.0.2.1";
  EXPECT_FALSE(dial("127.0.0.1:28250"));
  EXPECT_EQ(refused_, Errc::kInvalidArgument);
}

TEST_F(DialerTest, ListensAtAnAddressOfAVmkernelInterfaceToo) {
  vmkernel_ = {*parse_ipv4_interface("127.0.0.5/8")};
  EXPECT_TRUE(listen("127.0.0.5:28251"));
  EXPECT_FALSE(listen("127.0.0.6:28251"));
  EXPECT_FALSE(listen("127.0.0.5:28249"));  // the authority's door is at [cluster] address
}

TEST_F(DialerTest, ListensOnlyAtItsOwnAddressAndPorts) {
  for (const char* endpoint :
       {"127.0.0.1:2379", "127.0.0.1:80", "127.0.0.2:28250", "0.0.0.0:28250"}) {
    refused_.reset();
    EXPECT_FALSE(listen(endpoint)) << endpoint;
    EXPECT_EQ(refused_, Errc::kInvalidArgument) << endpoint;
  }
}

TEST_F(DialerTest, AnEngineThatAsksNonsenseIsNotAnswered) {
  maker().dial("", now_);
  maker().dial("127.0.0.1:28250", now_);
  maker().dial(" 127.0.0.1:28250", now_);
  maker().dial(std::string(100, '1') + " 127.0.0.1:28250", now_);
  EXPECT_EQ(*engine_->receive(), std::nullopt);
}

TEST_F(DialerTest, DoesNotWaitForEver) {
  std::vector<Errc> errors;
  dialer_.dial("127.0.0.1:28250", [&errors](const Result<UniqueFd>& socket) {
    errors.push_back(socket ? Errc{99} : socket.error().code);
  });
  dialer_.close();
  EXPECT_THAT(errors, testing::ElementsAre(Errc::kIo));
  dialer_.on_answer("1", UniqueFd());  // late
  EXPECT_EQ(errors.size(), 1U);
}

TEST_F(DialerTest, RequestsUnderWayAreBounded) {
  int refused = 0;
  for (std::size_t i = 0; i < privsep::Dialer::kMost + 3; ++i) {
    dialer_.dial("127.0.0.1:28250", [&refused](const Result<UniqueFd>& socket) {
      if (!socket && socket.error().code == Errc::kResourceExhausted) ++refused;
    });
  }
  EXPECT_EQ(refused, 3);
}

TEST_F(DialerTest, AKeeperDropsWhatTheEngineSendsAlong) {
  engine_->send({.kind = privsep::Note::Kind::kStatus, .text = "x"}, listener_);
  const UniqueFd more(::dup(STDERR_FILENO));
  engine_->send({.kind = privsep::Note::Kind::kStatus, .text = "y"}, more);
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open_files();
  EXPECT_EQ((*keeper_->receive())->text, "x");
  EXPECT_EQ((*keeper_->receive())->text, "y");
  EXPECT_EQ(open_files(), before);
}

}  // namespace
}  // namespace paravane::keeper
