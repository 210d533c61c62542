// Channels that are lost and made again, and what is logged of them.

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "cluster/channel_maker_test.h"

namespace paravane::cluster {
namespace {

using std::chrono::milliseconds;

TEST_F(ChannelMakerTest, ARenewedCertificateLeavesTheChannelAlone) {
  MakingHost a(named("a"), credentials(authority_, "a"));
  MakingHost b(named("b"), credentials(authority_, "b"));
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
  MakingHost a(named("a"), credentials(authority_, "a"));
  MakingHost b(named("b"), credentials(authority_, "b"));
  a.knows("b", b.address());  // b does not know a
  const auto until = std::chrono::steady_clock::now() + milliseconds(1'000);
  while (std::chrono::steady_clock::now() < until) {
    if (a.made() == 0) continue;
    a.maker().on_lost("b", a.take().number, "the host closed the connection");
  }
  EXPECT_GE(a.dialed(), 2);
  EXPECT_LE(a.dialed(), 5);
}

// Its engine is replaced: nothing listens for a moment. In the same time a host that is not waited
// for is tried four times at most.
TEST_F(ChannelMakerTest, AHostThatIsSoonBackIsDialedQuickly) {
  MakingHost a(named("a"), credentials(authority_, "a"));
  sockaddr_in closed{};
  {
    const UniqueFd socket = listener();
    closed = address_of(socket.get());
  }
  a.knows("b", closed);
  ASSERT_TRUE(wait_until([&] { return a.dialed() >= 1; }));
  a.maker().on_lost("b", 0, "it is being upgraded", ChannelMaker::Again::kSoon);
  const auto until = std::chrono::steady_clock::now() + milliseconds(900);
  while (a.dialed() < 12 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_GE(a.dialed(), 12);
}

// A hostile host may end each as soon as it is there: a handshake costs more than its hello.
TEST_F(ChannelMakerTest, CablesThatAreLostAtOnceAreMadeMoreAndMoreSeldom) {
  MakingHost a(named("a"), credentials(authority_, "a"));
  MakingHost b(named("b"), credentials(authority_, "b"));
  b.has_cable_to("a", {});
  a.has_cable_to("b", b.address());
  const auto until = std::chrono::steady_clock::now() + milliseconds(900);
  while (std::chrono::steady_clock::now() < until) {
    if (const auto cable = a.take_cable()) a.maker().on_cable_lost("b", cable->number, "it closed");
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_GE(a.dialed(), 2);
  EXPECT_LE(a.dialed(), 5);
}

TEST_F(ChannelMakerTest, ACableThatWasThereIsDialedQuicklyWhenItIsLost) {
  MakingHost a(named("a"), credentials(authority_, "a"));
  std::optional<MadeCable> made;
  {
    MakingHost b(named("b"), credentials(authority_, "b"));
    b.has_cable_to("a", {});
    a.has_cable_to("b", b.address());
    ASSERT_TRUE(wait_until([&] { return (made = a.take_cable()).has_value(); }));
    std::this_thread::sleep_for(ChannelMaker::kLeastLife + milliseconds(10));
  }
  const int before = a.dialed();
  a.maker().on_cable_lost("b", made->number, "its engine is another");
  const auto until = std::chrono::steady_clock::now() + milliseconds(1500);
  while (a.dialed() < before + 12 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_GE(a.dialed(), before + 12);
}

// A connection that is reset every second must not fill the log.
TEST_F(ChannelMakerTest, EachCauseIsNamedOnceWhileChannelsComeAndGo) {
  MakingHost a(named("a"), credentials(authority_, "a"));
  MakingHost b(named("b"), credentials(authority_, "b"));
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
  MakingHost a(named("a"), credentials(authority_, "a"));
  MakingHost b(named("b"), credentials(authority_, "b"));
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

TEST_F(ChannelMakerTest, APeerThatFindsEverNewWaysToFailIsNamedAFewTimes) {
  // The one that is dialed: what its own tries come to would be a problem too.
  MakingHost c(named("c"), credentials(authority_, "c"));
  c.knows("b", {});
  for (int i = 0; i < 100; ++i) c.maker().on_lost("b", 0, "way " + std::to_string(i));
  ASSERT_TRUE(wait_until([&] { return c.problem_of("b") == "way 99"; }));
  EXPECT_LE(count("host b: no channel:"), 10);
}

}  // namespace
}  // namespace paravane::cluster
