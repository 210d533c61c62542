// Who has a host's certificate and shakes hands as no host does gets no channel.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "authority/certificate.h"
#include "cluster/channel_maker.h"
#include "cluster/tls_context.h"

namespace paravane::cluster {
namespace {

using std::chrono::hours;

constexpr const char* kStrangeCluster = "00112233445566778899aabbccddeeff";
constexpr int kPatienceMs = 10'000;

class ChannelStrangers : public testing::Test {
 protected:
  ChannelStrangers() { std::signal(SIGPIPE, SIG_IGN); }  // as the daemon does

  // "m" serves, and knows a host whose name is before its own and one behind it.
  void serve(bool encrypted) {
    auto started = ChannelMaker::start(
        {.host = "m", .cluster = kStrangeCluster, .encrypted = encrypted},
        {.made = [this](MadeChannel /*dropped*/) { ++made_; },
         .changed = {},
         .dial =
             [](const std::string&, const std::function<void(Result<UniqueFd>)>& done) {
               done(fail(Errc::kIo, "it is not there"));
             }});
    ASSERT_TRUE(started);
    maker_ = std::move(*started);
    maker_->set_credentials(credentials("m"));
    const ChannelPeer peer{.endpoint = "there",
                           .refuse = [](const std::string&) { return std::string(); }};
    maker_->set_hosts({{"a", peer}, {"z", peer}});
    UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const sockaddr_un any{.sun_family = AF_UNIX, .sun_path = {}};  // the kernel names it
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(sa_family_t)),
              0);
    ASSERT_EQ(::listen(listener.get(), 8), 0);
    size_ = sizeof name_;
    ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&name_), &size_), 0);
    maker_->set_listener(std::move(listener));
  }

  ChannelCredentials credentials(const std::string& host) const {
    const auto today = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const authority::KeyPair request = *authority::make_request();
    const std::string certificate = *authority::sign(authority_, request.certificate,
                                                     {.identity = {kStrangeCluster, host},
                                                      .address = {},
                                                      .from = today - hours(1),
                                                      .until = today + hours(1)});
    return {.identity = request.key + certificate, .authority = authority_.certificate};
  }

  // `host` dials, with a handshake that `change` has altered, until it is sent away or has
  // a channel, which we drop at once.
  void dial(const std::string& host, const std::string& protocol,
            const std::function<void(SSL*)>& change) {
    const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name_), size_), 0);
    const ChannelCredentials own = credentials(host);
    const auto context = TlsContext::create(own.identity, own.authority, {protocol});
    ASSERT_TRUE(context);
    const std::unique_ptr<SSL, void (*)(SSL*)> tls(*(*context)->connect(socket.get(), protocol),
                                                   SSL_free);
    change(tls.get());
    SSL_do_handshake(tls.get());
    // All that comes now is an alert, perhaps, and the end.
    for (char byte = 0; true;) {
      pollfd comes{.fd = socket.get(), .events = POLLIN, .revents = 0};
      ASSERT_EQ(::poll(&comes, 1, kPatienceMs), 1);
      if (::recv(socket.get(), &byte, 1, 0) <= 0) return;
    }
  }

  authority::KeyPair authority_ = *authority::make_authority(
      kStrangeCluster,
      std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) - hours(48));
  std::atomic<int> made_ = 0;
  sockaddr_un name_{};
  socklen_t size_ = 0;
  std::unique_ptr<ChannelMaker> maker_;  // last: its thread calls the others
};

constexpr auto kUnaltered = [](SSL* /*tls*/) {};

TEST_F(ChannelStrangers, AHostThatShakesHandsAsHostsDoGetsAChannel) {
  for (const bool encrypted : {true, false}) {
    made_ = 0;
    serve(encrypted);
    dial("a", encrypted ? "paravane/1" : "paravane-sealed/2", kUnaltered);
    EXPECT_EQ(made_, 1) << encrypted;
  }
}

// Two channels would take turns in replacing each other.
TEST_F(ChannelStrangers, AHostThatIsToBeDialedAndDialsGetsNone) {
  serve(true);
  dial("z", "paravane/1", kUnaltered);
  EXPECT_EQ(made_, 0);
}

TEST_F(ChannelStrangers, AnOlderTlsGetsNone) {
  serve(true);
  dial("a", "paravane/1", [](SSL* tls) {
    SSL_set_min_proto_version(tls, TLS1_2_VERSION);
    SSL_set_max_proto_version(tls, TLS1_2_VERSION);
  });
  EXPECT_EQ(made_, 0);
}

// Or one end would encrypt and the other would not.
TEST_F(ChannelStrangers, WhoNamesNoProtocolGetsNone) {
  for (const bool encrypted : {true, false}) {
    serve(encrypted);
    dial("a", "paravane/1", [](SSL* tls) { SSL_set_alpn_protos(tls, nullptr, 0); });
    EXPECT_EQ(made_, 0) << encrypted;
  }
}

TEST_F(ChannelStrangers, WhoNamesTheOtherProtocolGetsNone) {
  serve(true);
  dial("a", "paravane-sealed/2", kUnaltered);
  EXPECT_EQ(made_, 0);
}

}  // namespace
}  // namespace paravane::cluster
