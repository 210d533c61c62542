// The authority's door, knocked at in every wrong way.

#include "cluster/tls_line.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "authority/certificate.h"
#include "authority/door_message.h"
#include "cluster/cluster_files.h"
#include "cluster/join_door.h"
#include "testing/temp_dir.h"

namespace paravane::cluster {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

const std::string kCluster(32, 'a');

authority::Seconds wall_clock() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

class TlsLineTest : public testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    auto keys = authority::make_authority(kCluster, wall_clock());
    ASSERT_TRUE(keys);
    authority_ = std::move(*keys);
    ASSERT_TRUE(write_file(dir_ / "authority.pem", authority_.certificate));
    server_.identity = make_host("h1", authority_, 1h);
    server_.authority = dir_ / "authority.pem";
    server_.answer = [this](const auto& peer, const std::string& line) {
      peer_ = peer;
      heard_ = line;
      return "{\"ok\":true}\n";
    };
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    near_.reset(ends[0]);
    far_.reset(ends[1]);
  }

  // Its key and certificate, in a file.
  std::filesystem::path make_host(const std::string& name, const authority::KeyPair& keys,
                                  std::chrono::seconds left) {
    const auto request = authority::make_request();
    const auto certificate = authority::sign(keys, request->certificate,
                                             {.identity = {kCluster, name},
                                              .address = {},
                                              .from = wall_clock() - 2h,
                                              .until = wall_clock() + left});
    const std::filesystem::path file = dir_ / (name + ".pem").c_str();
    EXPECT_TRUE(write_file(file, request->key + *certificate));
    return file;
  }
  // The door's turn, on a thread of its own.
  std::future<Status> serve() {
    return std::async(std::launch::async, [this] {
      Status served = serve_line(far_, server_);
      far_.reset();
      return served;
    });
  }
  Result<std::string> ask(const std::filesystem::path& identity, const std::string& line) {
    return exchange_line(near_,
                         {.identity = identity,
                          .accept = [this](const auto& shown) -> Status {
                            shown_ = shown;
                            if (accepts_) return {};
                            return fail(Errc::kBadState, "not this one");
                          }},
                         line);
  }

  TempDir dir_;
  authority::KeyPair authority_;
  TlsServer server_;
  UniqueFd near_;
  UniqueFd far_;
  ShownCertificates shown_;
  bool accepts_ = true;
  std::optional<authority::Peer> peer_;
  std::string heard_;
};

TEST_F(TlsLineTest, ALineGoesAndALineComes) {
  auto served = serve();
  EXPECT_EQ(ask({}, "hello\n"), "{\"ok\":true}");
  EXPECT_TRUE(served.get());
  EXPECT_EQ(heard_, "hello");
  EXPECT_EQ(peer_, std::nullopt);
}

TEST_F(TlsLineTest, BothShowWhoTheyAre) {
  auto served = serve();
  const std::filesystem::path identity = make_host("h2", authority_, 1h);
  EXPECT_TRUE(ask(identity, "hello\n"));
  EXPECT_TRUE(served.get());
  ASSERT_TRUE(peer_);
  EXPECT_EQ(peer_->identity, (authority::Identity{kCluster, "h2"}));
  EXPECT_EQ(peer_->key, authority::inspect(*read_file(identity))->key);
  ASSERT_FALSE(shown_.empty());
  EXPECT_EQ(authority::inspect(shown_.front())->identity, (authority::Identity{kCluster, "h1"}));
}

TEST_F(TlsLineTest, WhoIsNotAcceptedHearsNothing) {
  accepts_ = false;
  auto served = serve();
  const auto answer = ask({}, "secret\n");
  near_.reset();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "not this one");
  EXPECT_FALSE(served.get());
  EXPECT_EQ(heard_, "");
}

TEST_F(TlsLineTest, ACertificateOfAnotherAuthorityIsNone) {
  const auto other = authority::make_authority(kCluster, wall_clock());
  auto served = serve();
  EXPECT_FALSE(ask(make_host("h2", *other, 1h), "hello\n"));
  EXPECT_FALSE(served.get());
  EXPECT_EQ(heard_, "");
}

TEST_F(TlsLineTest, OneThatHasEndedIsNone) {
  auto served = serve();
  EXPECT_FALSE(ask(make_host("h2", authority_, -1h), "hello\n"));
  const Status status = served.get();
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("certificate"));
  EXPECT_EQ(heard_, "");
}

TEST_F(TlsLineTest, MoreOrLessThanOneLineIsRefused) {
  for (const std::string& text : {std::string("a\nb\n"), std::string("a\nb"),
                                  std::string(authority::kMaxDoorLine + 2, 'x') + "\n"}) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    near_.reset(ends[0]);
    far_.reset(ends[1]);
    auto served = serve();
    EXPECT_FALSE(ask({}, text));
    const Status status = served.get();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Errc::kInvalidArgument);
  }
  EXPECT_EQ(heard_, "");
}

TEST_F(TlsLineTest, NoTlsIsRefusedAtOnce) {
  auto served = serve();
  ASSERT_GT(::send(near_.get(), "GET / HTTP/1.1\r\n\r\n", 18, 0), 0);
  EXPECT_FALSE(served.get());
}

TEST_F(TlsLineTest, WhoSaysNothingIsNotWaitedForLong) {
  const auto began = std::chrono::steady_clock::now();
  const Status served = serve_line(far_, server_);
  ASSERT_FALSE(served);
  EXPECT_THAT(served.error().message, HasSubstr("too slow"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 2 * kTlsPatience);
}

TEST_F(TlsLineTest, WhoSaysNothingButNewKeysIsNotServedForLong) {
  ::fcntl(near_.get(), F_SETFL, 0);
  std::atomic<bool> over = false;
  std::thread stranger([&] {
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    SSL* tls = SSL_new(context);
    SSL_set_fd(tls, near_.get());
    bool good = SSL_connect(tls) == 1;
    const auto end = std::chrono::steady_clock::now() + 4 * kTlsPatience;
    while (good && !over && std::chrono::steady_clock::now() < end) {
      good = SSL_key_update(tls, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 && SSL_do_handshake(tls) == 1;
    }
    SSL_free(tls);
    SSL_CTX_free(context);
  });
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(serve_line(far_, server_));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 2 * kTlsPatience);
  over = true;
  far_.reset();
  stranger.join();
}

// Two ends of a TCP connection on loopback.
std::pair<UniqueFd, UniqueFd> connect_by_tcp() {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{.sin_family = AF_INET,
                      .sin_port = 0,
                      .sin_addr = {.s_addr = ::htonl(INADDR_LOOPBACK)},
                      .sin_zero = {}};
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  UniqueFd near(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // A window below the size of one segment overrides SO_RCVLOWAT.
  const int segment = 1000;
  EXPECT_EQ(::setsockopt(near.get(), IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment), 0);
  EXPECT_EQ(::bind(listener.get(), generic, size), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_EQ(::getsockname(listener.get(), generic, &size), 0);
  EXPECT_EQ(::connect(near.get(), generic, size), 0);
  return {std::move(near), UniqueFd(::accept(listener.get(), nullptr, nullptr))};
}

// One call of the TLS library reads as many new keys as have come, unless it is told not to.
// The door hears of them when all are there (SO_RCVLOWAT), and of no more after the first.
TEST_F(TlsLineTest, APileOfNewKeysIsLeftWhenItIsGivenUp) {
  const UniqueFd give_up(::eventfd(0, EFD_CLOEXEC));
  std::tie(near_, far_) = connect_by_tcp();
  auto served =
      std::async(std::launch::async, [&] { return serve_line(far_, server_, give_up.get()); });
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context.get()), SSL_free);
  SSL_set_fd(tls.get(), near_.get());
  ASSERT_EQ(SSL_connect(tls.get()), 1);
  BIO* pile = BIO_new(BIO_s_mem());
  SSL_set0_wbio(tls.get(), pile);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(SSL_key_update(tls.get(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    ASSERT_EQ(SSL_do_handshake(tls.get()), 1);
  }
  char* data = nullptr;
  const auto size = static_cast<int>(BIO_get_mem_data(pile, &data));
  ASSERT_EQ(::setsockopt(far_.get(), SOL_SOCKET, SO_RCVLOWAT, &size, sizeof size), 0);
  ASSERT_EQ(::send(near_.get(), data, static_cast<std::size_t>(size), 0), size);
  int left = size;
  while (left >= size && served.wait_for(1ms) == std::future_status::timeout) {
    ASSERT_EQ(::ioctl(far_.get(), FIONREAD, &left), 0);
  }
  ASSERT_EQ(::eventfd_write(give_up.get(), 1), 0);
  EXPECT_FALSE(served.get());
  ASSERT_EQ(::ioctl(far_.get(), FIONREAD, &left), 0);
  EXPECT_GT(left, 0);
}

class ClusterFilesTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(make_cluster_directory(paths_)); }

  TempDir dir_;
  settings::ClusterPaths paths_{dir_.path()};
  const Membership membership_{.self = {kCluster, "h2"},
                               .authority = "h1",
                               .door = "192.0.2.1:28249",
                               .runs_etcd = false,
                               .own_etcd_authority = true,
                               .etcd = {"https://192.0.2.1:2379"},
                               .etcd_user = "u",
                               .etcd_password = "p"};
};

TEST_F(ClusterFilesTest, AMembershipIsKeptForItsOwnerAlone) {
  EXPECT_EQ(*load_membership(paths_), std::nullopt);
  ASSERT_TRUE(save_membership(paths_, membership_));
  const auto seen = load_membership(paths_);
  ASSERT_TRUE(seen && *seen);
  EXPECT_EQ((*seen)->self, membership_.self);
  EXPECT_EQ((*seen)->etcd, membership_.etcd);
  EXPECT_EQ((*seen)->etcd_password, "p");
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(paths_.membership()).permissions(),
            perms::owner_read | perms::owner_write);
  EXPECT_EQ(std::filesystem::status(paths_.directory()).permissions(), perms::owner_all);
}

TEST_F(ClusterFilesTest, ADamagedOneIsNamed) {
  for (const char* text : {"", "{", "[]", "{}", R"({"cluster":"x"})"}) {
    ASSERT_TRUE(write_file(paths_.membership(), text));
    const auto seen = load_membership(paths_);
    ASSERT_FALSE(seen) << text;
    EXPECT_THAT(seen.error().message, HasSubstr("membership.json is damaged"));
  }
}

TEST_F(ClusterFilesTest, AllOfItGoesAtOnce) {
  ASSERT_TRUE(save_membership(paths_, membership_));
  std::filesystem::create_directories(paths_.etcd_data() / "member");
  remove_cluster_directory(paths_);
  EXPECT_FALSE(std::filesystem::exists(paths_.directory()));
}

// The daemon does not wait for a stranger when it ends.
TEST_F(TlsLineTest, TheDoorClosesWhileSomebodyStandsThere) {
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un any{.sun_family = AF_UNIX, .sun_path = {}};  // the kernel names it
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(sa_family_t)),
            0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  sockaddr_un name{};
  socklen_t size = sizeof name;
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&name), &size), 0);
  const UniqueFd stranger(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(stranger.get(), reinterpret_cast<const sockaddr*>(&name), size), 0);
  auto door = std::make_unique<JoinDoor>(std::move(listener), server_);
  std::this_thread::sleep_for(100ms);  // it is let in
  const auto began = std::chrono::steady_clock::now();
  door.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, kTlsPatience / 2);
}

}  // namespace
}  // namespace paravane::cluster
