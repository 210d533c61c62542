// Handshakes between hosts, over socket pairs and loopback: who gets a channel, who does
// not, and what is said of it.

#include "cluster/channel_maker.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "authority/certificate.h"
#include "cluster/tls_context.h"

namespace paravane::cluster {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr const char* kMakersCluster = "00112233445566778899aabbccddeeff";
constexpr const char* kOtherCluster = "ffeeddccbbaa99887766554433221100";

template <typename Condition>
bool wait_until(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

// What other threads log.
class Lines final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::string text() {
    const std::scoped_lock lock(mutex_);
    return text_;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    text_.append(message.payload.data(), message.payload.size()).append("\n");
  }
  void flush_() override {}
  std::string text_;
};

authority::Seconds this_day() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

authority::KeyPair new_authority() {
  return *authority::make_authority(kMakersCluster, this_day() - hours(48));
}

ChannelCredentials credentials(const authority::KeyPair& authority, const std::string& host,
                               const std::string& cluster = kMakersCluster,
                               hours until = hours(24)) {
  const authority::KeyPair request = *authority::make_request();
  const std::string certificate = *authority::sign(authority, request.certificate,
                                                   {.identity = {cluster, host},
                                                    .address = {},
                                                    .from = this_day() - hours(24),
                                                    .until = this_day() + until});
  return {.identity = request.key + certificate, .authority = authority.certificate};
}

UniqueFd listener() {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(socket.get(), 128), 0);
  return socket;
}

sockaddr_in address_of(int socket) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length), 0);
  return address;
}

// Errors: kIo, nobody listens there.
Result<UniqueFd> dialed_to(const sockaddr_in& address) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(Errc::kIo, "nobody listens there");
  }
  EXPECT_EQ(::fcntl(socket.get(), F_SETFL, O_NONBLOCK), 0);
  return socket;
}

UniqueFd connected_to(const sockaddr_in& address) {
  Result<UniqueFd> socket = dialed_to(address);
  EXPECT_TRUE(socket) << socket.error().message;
  return std::move(*socket);
}

// Known by its name.
ChannelPeer peer_at(const std::string& endpoint) {
  return {.endpoint = endpoint, .refuse = [](const std::string&) { return std::string(); }};
}

// A host that makes channels and keeps what it has made.
class Member {
 public:
  Member(ChannelMakerConfig config, const ChannelCredentials& credentials) {
    UniqueFd socket = listener();
    address_ = address_of(socket.get());
    auto started = ChannelMaker::start(
        std::move(config),
        {.made =
             [this](MadeChannel channel) {
               const std::scoped_lock lock(mutex_);
               channels_.push_back(std::move(channel));
             },
         .changed =
             [this](const std::string& host, const std::string& problem) {
               const std::scoped_lock lock(mutex_);
               problems_[host] = problem;
             },
         .dial =
             [this](const std::string&, const std::function<void(Result<UniqueFd>)>& done) {
               ++dialed_;
               done(dialed_to(target_));  // which may go first when a test ends
             }});
    maker_ = std::move(*started);
    maker_->set_credentials(credentials);
    maker_->set_listener(std::move(socket));
  }

  void knows(const std::string& host, const sockaddr_in& target) {
    target_ = target;
    maker_->set_hosts({{host, peer_at("there")}});
  }
  void hears_that_it_is_closed(const std::string& host, const std::string& why) {
    ChannelPeer peer = peer_at("");
    peer.closed = why;
    maker_->set_hosts({{host, peer}});
  }
  const sockaddr_in& address() const { return address_; }
  ChannelMaker& maker() { return *maker_; }
  std::size_t made() {
    const std::scoped_lock lock(mutex_);
    return channels_.size();
  }
  MadeChannel take() {
    const std::scoped_lock lock(mutex_);
    MadeChannel channel = std::move(channels_.back());
    channels_.pop_back();
    return channel;
  }
  int dialed() const { return dialed_; }
  // Empty: there is a channel, or never was one.
  std::string problem_of(const std::string& host) {
    const std::scoped_lock lock(mutex_);
    return problems_[host];
  }

 private:
  std::mutex mutex_;
  std::vector<MadeChannel> channels_;
  std::map<std::string, std::string> problems_;
  std::atomic<int> dialed_ = 0;
  sockaddr_in address_{};
  sockaddr_in target_{};
  std::unique_ptr<ChannelMaker> maker_;  // last: its thread calls the others
};

ChannelMakerConfig named(const std::string& host, bool encrypted = true) {
  return {.host = host,
          .cluster = kMakersCluster,
          .encrypted = encrypted,
          .handshake_limit = milliseconds(300)};
}

class ChannelMakerTest : public testing::Test {
 protected:
  ChannelMakerTest() {
    ::signal(SIGPIPE, SIG_IGN);  // as the daemon does
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("capture", lines_));
  }
  ~ChannelMakerTest() override { spdlog::set_default_logger(before_); }
  void meet(Member& a, Member& b) {
    b.knows("a", {});
    a.knows("b", b.address());
  }
  bool logged(const std::string& text) {
    return wait_until([&] { return lines_->text().find(text) != std::string::npos; });
  }

  // Lines that hold it.
  int count(const std::string& text) {
    int lines = 0;
    const std::string all = lines_->text();
    for (std::size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) {
      ++lines;
    }
    return lines;
  }

  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  std::shared_ptr<Lines> lines_ = std::make_shared<Lines>();
  authority::KeyPair authority_ = new_authority();
};

TEST_F(ChannelMakerTest, TwoHostsOfAClusterGetAChannel) {
  for (const bool encrypted : {true, false}) {
    Member a(named("a", encrypted), credentials(authority_, "a"));
    Member b(named("b", encrypted), credentials(authority_, "b"));
    meet(a, b);
    ASSERT_TRUE(wait_until([&] { return a.made() == 1 && b.made() == 1; }));
    const MadeChannel at_a = a.take();
    const MadeChannel at_b = b.take();
    EXPECT_EQ(at_a.host, "b");
    EXPECT_EQ(at_b.host, "a");
    EXPECT_EQ(at_a.send_key.has_value(), !encrypted);
    EXPECT_EQ(at_a.send_key, at_b.receive_key);
    EXPECT_EQ(at_a.receive_key, at_b.send_key);
    if (!encrypted) {
      EXPECT_NE(at_a.send_key, at_a.receive_key);
    }
  }
}

TEST_F(ChannelMakerTest, AnotherAuthoritysHostGetsNone) {
  Member a(named("a"), credentials(new_authority(), "a"));
  Member b(named("b"), credentials(authority_, "b"));
  meet(a, b);
  EXPECT_TRUE(logged("host b: no channel: TLS: certificate verify failed: "));
  EXPECT_EQ(b.made(), 0u);
}

TEST_F(ChannelMakerTest, AnExpiredCertificateIsWorthNothing) {
  Member a(named("a"), credentials(authority_, "a"));
  Member b(named("b"), credentials(authority_, "b", kMakersCluster, -hours(1)));
  meet(a, b);
  EXPECT_TRUE(
      logged("host b: no channel: TLS: certificate verify failed: certificate has expired"));
  EXPECT_EQ(a.made() + b.made(), 0u);
}

// In TLS 1.3 the one that dials is done first: it hears of it when it reads.
TEST_F(ChannelMakerTest, WhoseOwnCertificateHasExpiredHearsWhy) {
  Member a(named("a"), credentials(authority_, "a", kMakersCluster, -hours(1)));
  Member b(named("b"), credentials(authority_, "b"));
  meet(a, b);
  EXPECT_TRUE(logged("refused: TLS: certificate verify failed: certificate has expired"));
  ASSERT_TRUE(wait_until([&] { return a.made() == 1; }));
  const MadeChannel made = a.take();
  std::byte byte{};
  const iovec to{.iov_base = &byte, .iov_len = 1};
  EXPECT_TRUE(wait_until(
      [&] { return made.stream->read(std::span(&to, 1)).kind == IoResult::Kind::kBroken; }));
  EXPECT_NE(made.stream->problem().find("certificate expired"), std::string::npos)
      << made.stream->problem();
}

TEST_F(ChannelMakerTest, AHostThatIsNotKnownIsTurnedAway) {
  Member a(named("a"), credentials(authority_, "a"));
  Member b(named("b"), credentials(authority_, "b"));
  a.knows("b", b.address());
  EXPECT_TRUE(logged("a connection was refused: host a is not known"));
  EXPECT_EQ(b.made(), 0u);
}

TEST_F(ChannelMakerTest, AHostThatAnswersForAnotherIsRefused) {
  Member a(named("a"), credentials(authority_, "a"));
  Member c(named("c"), credentials(authority_, "c"));
  a.knows("b", c.address());
  EXPECT_TRUE(logged("host b: no channel: host c answers at the address of the expected host"));
  EXPECT_EQ(a.made(), 0u);
}

TEST_F(ChannelMakerTest, AnotherClustersHostIsRefusedByBoth) {
  Member a(named("a"), credentials(authority_, "a", kOtherCluster));
  Member b(named("b"), credentials(authority_, "b"));
  meet(a, b);
  EXPECT_TRUE(logged("refused: the peer is a host of another cluster"));
  EXPECT_EQ(b.made(), 0u);
}

TEST_F(ChannelMakerTest, OfTwoHostsTheSecondDoesNotDial) {
  Member a(named("a"), credentials(authority_, "a"));
  Member b(named("b"), credentials(authority_, "b"));
  b.knows("a", a.address());
  a.knows("b", b.address());
  ASSERT_TRUE(wait_until([&] { return a.made() == 1 && b.made() == 1; }));
  EXPECT_EQ(b.dialed(), 0);
}

// A host that was started again has its channels before the others read that it is open again.
TEST_F(ChannelMakerTest, ARecordThatComesLateEndsNoChannelAndHidesNone) {
  Member a(named("a"), credentials(authority_, "a"));
  Member b(named("b"), credentials(authority_, "b"));
  meet(a, b);
  ASSERT_TRUE(wait_until([&] { return a.made() == 1 && b.made() == 1; }));
  b.hears_that_it_is_closed("a", "vmk0 is being opened");
  b.knows("a", {});
  const MadeChannel lost = b.take();
  b.maker().on_lost("a", lost.number, "the end");
  EXPECT_TRUE(wait_until([&] { return b.problem_of("a") == "the end"; })) << b.problem_of("a");
}

TEST_F(ChannelMakerTest, AHostThatIsClosedIsNotDialedAndItsChannelIsTaken) {
  Member a(named("a"), credentials(authority_, "a"));
  Member b(named("b"), credentials(authority_, "b"));
  a.hears_that_it_is_closed("b", "vmk0 is being opened");
  b.hears_that_it_is_closed("a", "vmk0 is being opened");
  ASSERT_TRUE(wait_until([&] {
    return a.problem_of("b") == "vmk0 is being opened" &&
           b.problem_of("a") == "vmk0 is being opened";
  }));
  EXPECT_EQ(a.dialed(), 0);
  a.knows("b", b.address());
  ASSERT_TRUE(wait_until([&] { return a.made() == 1 && b.made() == 1; }));
  EXPECT_EQ(b.problem_of("a"), "");
}

TEST_F(ChannelMakerTest, EncryptionAtOneEndAloneIsNoticedByBoth) {
  Member a(named("a", true), credentials(authority_, "a"));
  Member b(named("b", false), credentials(authority_, "b"));
  meet(a, b);
  EXPECT_TRUE(logged("host b: no channel: TLS: "));
  EXPECT_TRUE(logged("a connection was refused: TLS: "));
  EXPECT_EQ(a.made() + b.made(), 0u);
}

TEST_F(ChannelMakerTest, WhoNeverFinishesAHandshakeIsGivenUp) {
  Member b(named("b"), credentials(authority_, "b"));
  const UniqueFd silent = connected_to(b.address());
  const UniqueFd half = connected_to(b.address());
  constexpr unsigned char kHello[] = {22, 3, 1, 2, 0, 1, 0, 1};  // the beginning of a ClientHello
  ASSERT_EQ(::send(half.get(), kHello, sizeof kHello, MSG_NOSIGNAL),
            static_cast<ssize_t>(sizeof kHello));
  EXPECT_TRUE(logged("the peer did not complete the TLS handshake in time"));
  for (const int socket : {silent.get(), half.get()}) {
    EXPECT_TRUE(wait_until([&] {
      char byte = 0;
      const ssize_t got = ::recv(socket, &byte, 1, 0);
      return got == 0 || (got < 0 && errno == ECONNRESET);
    }));
  }
}

TEST_F(ChannelMakerTest, ADialedPeerThatSaysNothingIsTriedAgain) {
  Member a(named("a"), credentials(authority_, "a"));
  const UniqueFd silent = listener();
  a.knows("b", address_of(silent.get()));
  EXPECT_TRUE(wait_until([&] { return a.dialed() >= 2; }));
  EXPECT_TRUE(logged("host b: no channel: the peer did not complete the TLS handshake in time"));
}

TEST_F(ChannelMakerTest, GarbageIsNoHandshake) {
  Member b(named("b"), credentials(authority_, "b"));
  const UniqueFd garbage = connected_to(b.address());
  const std::string text(5000, 'x');
  EXPECT_GT(::send(garbage.get(), text.data(), text.size(), MSG_NOSIGNAL), 0);
  EXPECT_TRUE(logged("a connection was refused: TLS: "));
}

TEST_F(ChannelMakerTest, ManyStrangersKeepAHostFromItsPeersForAMomentOnly) {
  Member b(named("b"), credentials(authority_, "b"));
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 150; ++i) strangers.push_back(connected_to(b.address()));
  Member a(named("a"), credentials(authority_, "a"));
  meet(a, b);
  EXPECT_TRUE(wait_until([&] { return a.made() >= 1 && b.made() >= 1; }));
  EXPECT_LT(std::ranges::count(lines_->text(), '\n'), 50) << "a flood is not one of lines";
}

TEST_F(ChannelMakerTest, CredentialsMayChangeInTheMiddleOfHandshakes) {
  Member b(named("b"), credentials(authority_, "b"));
  b.knows("a", {});
  UniqueFd socket = connected_to(b.address());
  std::this_thread::sleep_for(milliseconds(50));  // its handshake has begun
  b.maker().set_credentials(credentials(authority_, "b"));
  std::this_thread::sleep_for(milliseconds(50));
  // It goes on, now with somebody who speaks.
  Member a(named("a"), credentials(authority_, "a"));
  std::atomic<bool> handed = false;
  auto dialer = ChannelMaker::start(
      named("a"), {.made = [&](MadeChannel) { handed = true; },
                   .dial =
                       [&](const std::string&, const std::function<void(Result<UniqueFd>)>& done) {
                         done(std::move(socket));
                       }});
  ASSERT_TRUE(dialer);
  (*dialer)->set_credentials(credentials(authority_, "a"));
  (*dialer)->set_hosts({{"b", peer_at("there")}});
  EXPECT_TRUE(wait_until([&] { return handed && b.made() == 1; }));
}

TEST_F(ChannelMakerTest, ARenewedCertificateLeavesTheChannelAlone) {
  Member a(named("a"), credentials(authority_, "a"));
  Member b(named("b"), credentials(authority_, "b"));
  meet(a, b);
  ASSERT_TRUE(wait_until([&] { return a.made() == 1 && b.made() == 1; }));
  a.maker().set_credentials(credentials(authority_, "a"));
  b.maker().set_credentials(credentials(authority_, "b"));
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(a.dialed(), 1);
  MadeChannel at_a = a.take();
  MadeChannel at_b = b.take();
  std::array<std::byte, 4> sent{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  std::array<std::byte, 4> got{};
  const iovec from{.iov_base = sent.data(), .iov_len = sent.size()};
  const iovec to{.iov_base = got.data(), .iov_len = got.size()};
  ASSERT_EQ(at_a.stream->write(std::span(&from, 1)).kind, IoResult::Kind::kMoved);
  ASSERT_TRUE(wait_until(
      [&] { return at_b.stream->read(std::span(&to, 1)).kind == IoResult::Kind::kMoved; }));
  EXPECT_EQ(got, sent);
}

// In TLS 1.3 the client is done before the server has judged it.
TEST_F(ChannelMakerTest, ChannelsThatAreLostAtOnceAreMadeMoreAndMoreSeldom) {
  Member a(named("a"), credentials(authority_, "a"));
  Member b(named("b"), credentials(authority_, "b"));
  a.knows("b", b.address());  // b does not know a
  const auto until = std::chrono::steady_clock::now() + milliseconds(1'000);
  while (std::chrono::steady_clock::now() < until) {
    if (a.made() == 0) continue;
    a.maker().on_lost("b", a.take().number, "the host closed the connection");
  }
  EXPECT_GE(a.dialed(), 2);
  EXPECT_LE(a.dialed(), 5);
}

// A connection that is reset every second must not fill the log.
TEST_F(ChannelMakerTest, EachCauseIsNamedOnceWhileChannelsComeAndGo) {
  Member a(named("a"), credentials(authority_, "a"));
  Member b(named("b"), credentials(authority_, "b"));
  meet(a, b);
  for (const std::string cause : {"reset", "garbage", "reset", "garbage"}) {
    ASSERT_TRUE(wait_until([&] { return a.made() == 1; }));
    a.maker().on_lost("b", a.take().number, cause);
  }
  ASSERT_TRUE(wait_until([&] { return a.made() == 1; }));
  EXPECT_EQ(count("host b: no channel: reset"), 1);
  EXPECT_EQ(count("host b: no channel: garbage"), 1);
  EXPECT_EQ(count("host b: channel open (encrypted)"), 3);  // the first, and after each cause
  EXPECT_EQ(a.problem_of("b"), "");
}

// As where a host is forgotten for a moment: the other end has replaced its channel.
TEST_F(ChannelMakerTest, AChannelThatAnotherReplacedIsNoLoss) {
  Member a(named("a"), credentials(authority_, "a"));
  Member b(named("b"), credentials(authority_, "b"));
  meet(a, b);
  ASSERT_TRUE(wait_until([&] { return a.made() == 1; }));
  const MadeChannel old = a.take();
  a.maker().on_lost("b", old.number, "reset");
  ASSERT_TRUE(wait_until([&] { return a.made() == 1; }));
  a.maker().on_lost("b", old.number, "replaced by a newer connection");
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(a.dialed(), 2);
  EXPECT_EQ(a.problem_of("b"), "");
}

TEST_F(ChannelMakerTest, WhoIsToldOfASocketTooLateTakesItsAnswerNowhere) {
  std::vector<std::function<void(Result<UniqueFd>)>> answers;
  std::atomic<bool> asked = false;
  auto maker = ChannelMaker::start(named("a"), {.made = [](MadeChannel) {},
                                                .dial =
                                                    [&](const std::string&, auto done) {
                                                      answers.push_back(std::move(done));
                                                      asked = true;
                                                    }});
  (*maker)->set_credentials(credentials(authority_, "a"));
  (*maker)->set_hosts({{"b", peer_at("there")}});
  ASSERT_TRUE(wait_until([&] { return asked.load(); }));
  maker->reset();
  for (const auto& done : answers) done(listener());
}

TEST_F(ChannelMakerTest, AHostThatAsksForShortRecordsIsRefused) {
  Member b(named("b"), credentials(authority_, "b"));
  b.knows("a", {});
  const UniqueFd socket = connected_to(b.address());
  const ChannelCredentials own = credentials(authority_, "a");
  const auto context = TlsContext::create(own.identity, own.authority, "paravane/1");
  ASSERT_TRUE(context);
  SSL* tls = *(*context)->make(socket.get(), true);
  SSL_set_tlsext_max_fragment_length(tls, TLSEXT_max_fragment_length_512);
  EXPECT_TRUE(wait_until([&] { return SSL_do_handshake(tls) == 1; }));
  EXPECT_TRUE(logged("refused: host a requests short TLS records"));
  EXPECT_EQ(b.made(), 0u);
  SSL_free(tls);
}

TEST_F(ChannelMakerTest, APeerThatFindsEverNewWaysToFailIsNamedAFewTimes) {
  // The one that is dialed: what its own tries come to would be a problem too.
  Member c(named("c"), credentials(authority_, "c"));
  c.knows("b", {});
  for (int i = 0; i < 100; ++i) c.maker().on_lost("b", 0, "way " + std::to_string(i));
  ASSERT_TRUE(wait_until([&] { return c.problem_of("b") == "way 99"; }));
  EXPECT_LE(count("host b: no channel:"), 10);
}

}  // namespace
}  // namespace paravane::cluster
