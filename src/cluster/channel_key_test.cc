// Who has the name of a host, and a good certificate, and not that member's key: as a
// machine that was taken out and whose name another has now.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "authority/certificate.h"
#include "cluster/channel_maker.h"

namespace paravane::cluster {
namespace {

constexpr const char* kCluster = "00112233445566778899aabbccddeeff";
constexpr const char* kNotItsKey = "not that member's key";
constexpr auto kPatience = std::chrono::seconds(10);

authority::Seconds key_day() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

// A machine with a certificate in some host's name.
struct Machine {
  std::string name;
  ChannelCredentials credentials;
  std::string key;
};

// What one event brings, once.
class News {
 public:
  void tell(const std::string& text) {
    if (!std::exchange(told_, true)) promise_.set_value(text);
  }
  std::string wait() {
    if (future_.wait_for(kPatience) != std::future_status::ready) return "nothing";
    return future_.get();
  }

 private:
  std::promise<std::string> promise_;
  std::future<std::string> future_ = promise_.get_future();
  bool told_ = false;
};

// Makes channels as a machine does, to the one other host there is.
struct Maker {
  News made;     // the key that was shown
  News problem;  // of the other host
  std::unique_ptr<ChannelMaker> maker;
};

class ChannelKeyTest : public testing::Test {
 protected:
  ChannelKeyTest() { ::signal(SIGPIPE, SIG_IGN); }  // as the daemon does

  Machine machine(const std::string& name) {
    const auto request = authority::make_request();
    const auto certificate = authority::sign(authority_, request->certificate,
                                             {.identity = {kCluster, name},
                                              .address = {},
                                              .from = key_day() - std::chrono::hours(1),
                                              .until = key_day() + std::chrono::hours(1)});
    return {.name = name,
            .credentials = {.identity = request->key + *certificate,
                            .authority = authority_.certificate},
            .key = authority::inspect(*certificate)->key};
  }
  UniqueFd listen() {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    address_ = {};
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address_;
    auto* raw = reinterpret_cast<sockaddr*>(&address_);
    EXPECT_EQ(::bind(socket.get(), raw, length), 0);
    EXPECT_EQ(::listen(socket.get(), 8), 0);
    EXPECT_EQ(::getsockname(socket.get(), raw, &length), 0);
    return socket;
  }
  UniqueFd dial() const {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0);
    EXPECT_EQ(::fcntl(socket.get(), F_SETFL, O_NONBLOCK), 0);
    return socket;
  }
  // `other` is known by `key`.
  std::unique_ptr<Maker> start(const Machine& self, const std::string& other,
                               const std::string& key, bool listens) {
    auto started = std::make_unique<Maker>();
    Maker* raw = started.get();
    auto maker = ChannelMaker::start(
        {.host = self.name, .cluster = kCluster},
        {.made = [raw](const MadeChannel& channel) { raw->made.tell(channel.key); },
         .changed =
             [raw](const std::string&, const std::string& problem) {
               if (!problem.empty()) raw->problem.tell(problem);
             },
         .dial = [this](const std::string&,
                        const std::function<void(Result<UniqueFd>)>& done) { done(dial()); }});
    EXPECT_TRUE(maker);
    started->maker = std::move(*maker);
    started->maker->set_credentials(self.credentials);
    if (listens) started->maker->set_listener(listen());
    started->maker->set_hosts(
        {{other, {.endpoint = "there", .refuse = [raw, key](const std::string& shown) {
                    if (shown == key) return std::string();
                    raw->problem.tell(kNotItsKey);
                    return std::string(kNotItsKey);
                  }}}});
    return started;
  }

  authority::KeyPair authority_ =
      *authority::make_authority(kCluster, key_day() - std::chrono::hours(2));
  sockaddr_in address_{};
};

TEST_F(ChannelKeyTest, WhoDialsWithAHostsNameAndNotItsKeyIsTurnedAway) {
  const Machine a = machine("a"), stolen = machine("a"), b = machine("b");
  const auto at_b = start(b, "a", a.key, true);
  {
    const auto thief = start(stolen, "b", b.key, false);
    EXPECT_EQ(at_b->problem.wait(), kNotItsKey);
  }
  const auto at_a = start(a, "b", b.key, false);
  EXPECT_EQ(at_b->made.wait(), a.key) << "the first that gets one";
  EXPECT_EQ(at_a->made.wait(), b.key);
}

TEST_F(ChannelKeyTest, WhoAnswersAtAHostsAddressAndHasNotItsKeyGetsNone) {
  const Machine a = machine("a"), b = machine("b"), stolen = machine("b");
  const auto thief = start(stolen, "a", a.key, true);
  const auto at_a = start(a, "b", b.key, false);
  EXPECT_EQ(at_a->problem.wait(), kNotItsKey);
}

}  // namespace
}  // namespace paravane::cluster
