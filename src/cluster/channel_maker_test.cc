// Handshakes between hosts: which host gets a channel and which does not, and what is said of it.

#include "cluster/channel_maker_test.h"

#include <openssl/ssl.h>

#include <cstddef>
#include <span>

#include "cluster/tls_context.h"

namespace paravane::cluster {
namespace {

using std::chrono::hours;

TEST_F(ChannelMakerTest, TwoHostsOfAClusterGetAChannel) {
  for (const bool encrypted : {true, false}) {
    MakingHost a(named("a", encrypted), credentials(authority_, "a"));
    MakingHost b(named("b", encrypted), credentials(authority_, "b"));
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
  MakingHost a(named("a"), credentials(new_authority(), "a"));
  MakingHost b(named("b"), credentials(authority_, "b"));
  meet(a, b);
  EXPECT_TRUE(logged("host b: no channel: TLS: certificate verify failed: "));
  EXPECT_EQ(b.made(), 0u);
}

TEST_F(ChannelMakerTest, AnExpiredCertificateIsWorthNothing) {
  MakingHost a(named("a"), credentials(authority_, "a"));
  MakingHost b(named("b"), credentials(authority_, "b", kMakersCluster, -hours(1)));
  meet(a, b);
  EXPECT_TRUE(
      logged("host b: no channel: TLS: certificate verify failed: certificate has expired"));
  EXPECT_EQ(a.made() + b.made(), 0u);
}

// In TLS 1.3 the one that dials is done first: it hears of it when it reads.
TEST_F(ChannelMakerTest, WhoseOwnCertificateHasExpiredHearsWhy) {
  MakingHost a(named("a"), credentials(authority_, "a", kMakersCluster, -hours(1)));
  MakingHost b(named("b"), credentials(authority_, "b"));
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
  MakingHost a(named("a"), credentials(authority_, "a"));
  MakingHost b(named("b"), credentials(authority_, "b"));
  a.knows("b", b.address());
  EXPECT_TRUE(logged("a connection was refused: host a is not known"));
  EXPECT_EQ(b.made(), 0u);
}

TEST_F(ChannelMakerTest, AHostThatAnswersForAnotherIsRefused) {
  MakingHost a(named("a"), credentials(authority_, "a"));
  MakingHost c(named("c"), credentials(authority_, "c"));
  a.knows("b", c.address());
  EXPECT_TRUE(logged("host b: no channel: host c answers at the address of the expected host"));
  EXPECT_EQ(a.made(), 0u);
}

TEST_F(ChannelMakerTest, AnotherClustersHostIsRefusedByBoth) {
  MakingHost a(named("a"), credentials(authority_, "a", kOtherCluster));
  MakingHost b(named("b"), credentials(authority_, "b"));
  meet(a, b);
  EXPECT_TRUE(logged("refused: the peer is a host of another cluster"));
  EXPECT_EQ(b.made(), 0u);
}

TEST_F(ChannelMakerTest, OfTwoHostsTheSecondDoesNotDial) {
  MakingHost a(named("a"), credentials(authority_, "a"));
  MakingHost b(named("b"), credentials(authority_, "b"));
  b.knows("a", a.address());
  a.knows("b", b.address());
  ASSERT_TRUE(wait_until([&] { return a.made() == 1 && b.made() == 1; }));
  EXPECT_EQ(b.dialed(), 0);
}

// A host that was started again has its channels before the others read that it is open again.
TEST_F(ChannelMakerTest, ARecordThatComesLateEndsNoChannelAndHidesNone) {
  MakingHost a(named("a"), credentials(authority_, "a"));
  MakingHost b(named("b"), credentials(authority_, "b"));
  meet(a, b);
  ASSERT_TRUE(wait_until([&] { return a.made() == 1 && b.made() == 1; }));
  b.hears_that_it_is_closed("a", "vmk0 is being opened");
  b.knows("a", {});
  const MadeChannel lost = b.take();
  b.maker().on_lost("a", lost.number, "the end");
  EXPECT_TRUE(wait_until([&] { return b.problem_of("a") == "the end"; })) << b.problem_of("a");
}

TEST_F(ChannelMakerTest, AHostThatIsClosedIsNotDialedAndItsChannelIsTaken) {
  MakingHost a(named("a"), credentials(authority_, "a"));
  MakingHost b(named("b"), credentials(authority_, "b"));
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
  MakingHost a(named("a", true), credentials(authority_, "a"));
  MakingHost b(named("b", false), credentials(authority_, "b"));
  meet(a, b);
  EXPECT_TRUE(logged("host b: no channel: TLS: "));
  EXPECT_TRUE(logged("a connection was refused: TLS: "));
  EXPECT_EQ(a.made() + b.made(), 0u);
}

TEST_F(ChannelMakerTest, AHostThatAsksForShortRecordsIsRefused) {
  MakingHost b(named("b"), credentials(authority_, "b"));
  b.knows("a", {});
  const UniqueFd socket = connected_to(b.address());
  const ChannelCredentials own = credentials(authority_, "a");
  const auto context = TlsContext::create(own.identity, own.authority, {"paravane/1"});
  ASSERT_TRUE(context);
  SSL* tls = *(*context)->connect(socket.get(), "paravane/1");
  SSL_set_tlsext_max_fragment_length(tls, TLSEXT_max_fragment_length_512);
  EXPECT_TRUE(wait_until([&] { return SSL_do_handshake(tls) == 1; }));
  EXPECT_TRUE(logged("refused: host a requests short TLS records"));
  EXPECT_EQ(b.made(), 0u);
  SSL_free(tls);
}

}  // namespace
}  // namespace paravane::cluster
