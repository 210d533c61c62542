// Clients that do not finish a handshake, and handshakes that other events overtake.

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "cluster/channel_maker_test.h"

namespace paravane::cluster {
namespace {

using std::chrono::milliseconds;

TEST_F(ChannelMakerTest, WhoNeverFinishesAHandshakeIsGivenUp) {
  MakingHost b(impatient("b"), credentials(authority_, "b"));
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
  MakingHost a(impatient("a"), credentials(authority_, "a"));
  const UniqueFd silent = listener();
  a.knows("b", address_of(silent.get()));
  EXPECT_TRUE(wait_until([&] { return a.dialed() >= 2; }));
  EXPECT_TRUE(logged("host b: no channel: the peer did not complete the TLS handshake in time"));
}

TEST_F(ChannelMakerTest, GarbageIsNoHandshake) {
  MakingHost b(named("b"), credentials(authority_, "b"));
  const UniqueFd garbage = connected_to(b.address());
  const std::string text(5000, 'x');
  EXPECT_GT(::send(garbage.get(), text.data(), text.size(), MSG_NOSIGNAL), 0);
  EXPECT_TRUE(logged("a connection was refused: TLS: "));
}

TEST_F(ChannelMakerTest, ManyStrangersKeepAHostFromItsPeersForAMomentOnly) {
  MakingHost b(impatient("b"), credentials(authority_, "b"));
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 150; ++i) strangers.push_back(connected_to(b.address()));
  MakingHost a(named("a"), credentials(authority_, "a"));
  meet(a, b);
  EXPECT_TRUE(wait_until([&] { return a.made() >= 1 && b.made() >= 1; }));
  EXPECT_LT(std::ranges::count(lines_->text(), '\n'), 50) << "a flood is not one of lines";
}

TEST_F(ChannelMakerTest, CredentialsMayChangeInTheMiddleOfHandshakes) {
  MakingHost b(named("b"), credentials(authority_, "b"));
  b.knows("a", {});
  UniqueFd socket = connected_to(b.address());
  std::this_thread::sleep_for(milliseconds(50));  // its handshake has begun
  b.maker().set_credentials(credentials(authority_, "b"));
  std::this_thread::sleep_for(milliseconds(50));
  // It continues, now with a client that speaks.
  MakingHost a(named("a"), credentials(authority_, "a"));
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

}  // namespace
}  // namespace paravane::cluster
