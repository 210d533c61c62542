// Two TLS streams over a socket pair: bytes arrive whole and in order, however the pieces
// lie and however little the socket takes.

#include "transport/tcp/tls_stream.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <random>
#include <vector>

namespace paravane::transport_tcp {
namespace {

constexpr std::size_t kLongestRecord = std::size_t{16} * 1024;

// With a key and a certificate of its own.
SSL_CTX* make_context() {
  SSL_CTX* context = SSL_CTX_new(TLS_method());
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_num_tickets(context, 0);
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_sign(certificate, key, EVP_sha256());
  SSL_CTX_use_certificate(context, certificate);
  SSL_CTX_use_PrivateKey(context, key);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return context;
}

using Buffers = std::vector<std::vector<std::byte>>;

std::vector<iovec> pieces_of(Buffers& buffers) {
  std::vector<iovec> pieces;
  for (std::vector<std::byte>& buffer : buffers) {
    pieces.push_back({.iov_base = buffer.data(), .iov_len = buffer.size()});
  }
  return pieces;
}

// What is left of them when `bytes` are done.
std::vector<iovec> after(std::vector<iovec> pieces, std::size_t bytes) {
  while (!pieces.empty() && bytes >= pieces.front().iov_len) {
    bytes -= pieces.front().iov_len;
    pieces.erase(pieces.begin());
  }
  if (!pieces.empty()) {
    pieces.front().iov_base = static_cast<std::byte*>(pieces.front().iov_base) + bytes;
    pieces.front().iov_len -= bytes;
  }
  return pieces;
}

class TlsStreamTest : public testing::Test {
 protected:
  TlsStreamTest() : context_(make_context()) {
    ::signal(SIGPIPE, SIG_IGN);  // as the daemon does
    std::array<int, 2> sockets{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets.data()), 0);
    for (std::size_t side = 0; side < 2; ++side) {
      tls_[side] = SSL_new(context_);
      SSL_set_fd(tls_[side], sockets[side]);
      SSL_set_msg_callback(tls_[side], count_record);
      SSL_set_msg_callback_arg(tls_[side], this);
    }
    SSL_set_connect_state(tls_[0]);
    SSL_set_accept_state(tls_[1]);
    for (int done = 0; done < 2;) {
      done = (SSL_do_handshake(tls_[0]) == 1 ? 1 : 0) + (SSL_do_handshake(tls_[1]) == 1 ? 1 : 0);
    }
    for (std::size_t side = 0; side < 2; ++side) {
      streams_[side] = std::make_unique<TlsStream>(tls_[side], UniqueFd(sockets[side]));
    }
    records_ = 0;
  }
  ~TlsStreamTest() override { SSL_CTX_free(context_); }

  void set_socket_buffer(int bytes) {
    ::setsockopt(streams_[0]->fd(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  }

  Buffers random_buffers(std::size_t total, std::size_t longest) {
    Buffers buffers;
    for (std::size_t have = 0; have < total;) {
      const std::size_t size = std::min(1 + random_() % longest, total - have);
      std::vector<std::byte>& buffer = buffers.emplace_back(size);
      std::ranges::generate(buffer, [this] { return static_cast<std::byte>(random_()); });
      have += size;
    }
    return buffers;
  }

  SSL_CTX* context_;
  std::array<SSL*, 2> tls_{};
  std::array<std::unique_ptr<TlsStream>, 2> streams_;
  int records_ = 0;  // that were sent
  std::mt19937 random_{20261122};

 private:
  static void count_record(int is_sent, int, int type, const void*, std::size_t, SSL*, void* self) {
    if (is_sent == 1 && type == SSL3_RT_HEADER) ++static_cast<TlsStreamTest*>(self)->records_;
  }
};

TEST_F(TlsStreamTest, BytesArriveWholeAndInOrderHoweverThePiecesLie) {
  set_socket_buffer(4096);
  for (const std::size_t longest : {1'000U, 5'000U, 40'000U}) {
    const std::size_t total = 20 * longest;
    Buffers from = random_buffers(total, longest);
    Buffers to = random_buffers(total, longest);
    std::size_t sent = 0;
    std::size_t got = 0;
    for (int idle = 0; got < total && idle < 100; ++idle) {
      if (const auto pieces = after(pieces_of(from), sent); !pieces.empty()) {
        const IoResult result = streams_[0]->write(pieces);
        ASSERT_TRUE(result.kind == IoResult::Kind::kMoved ||
                    result.kind == IoResult::Kind::kWouldBlock);
        sent += result.bytes;
      }
      // Until it says that there is no more: the socket does not say it again.
      for (bool more = true; more && got < total;) {
        const IoResult result = streams_[1]->read(after(pieces_of(to), got));
        ASSERT_TRUE(result.kind == IoResult::Kind::kMoved ||
                    result.kind == IoResult::Kind::kWouldBlock);
        got += result.bytes;
        more = result.kind == IoResult::Kind::kMoved && !result.was_all;
        if (result.bytes > 0) idle = 0;
      }
    }
    std::vector<std::byte> expected;
    std::vector<std::byte> seen;
    for (const auto& buffer : from) expected.insert(expected.end(), buffer.begin(), buffer.end());
    for (const auto& buffer : to) seen.insert(seen.end(), buffer.begin(), buffer.end());
    ASSERT_EQ(got, total);
    EXPECT_TRUE(seen == expected) << "pieces up to " << longest;
  }
}

TEST_F(TlsStreamTest, AMessageTakesNoMoreRecordsThanItHasBytesFor) {
  Buffers message{std::vector<std::byte>(172), std::vector<std::byte>(4 * kLongestRecord),
                  std::vector<std::byte>(32)};
  EXPECT_EQ(streams_[0]->write(pieces_of(message)).bytes, 172 + 4 * kLongestRecord + 32);
  EXPECT_EQ(records_, 5);
  // In scattered pages.
  Buffers scattered(64, std::vector<std::byte>(1024));
  EXPECT_EQ(streams_[0]->write(pieces_of(scattered)).bytes, 4 * kLongestRecord);
  EXPECT_EQ(records_, 9);
}

TEST_F(TlsStreamTest, AnEndIsNoError) {
  std::vector<std::byte> byte(1);
  const iovec to{.iov_base = byte.data(), .iov_len = 1};
  EXPECT_EQ(streams_[1]->read(std::span(&to, 1)).kind, IoResult::Kind::kWouldBlock);
  SSL_shutdown(tls_[0]);
  EXPECT_EQ(streams_[1]->read(std::span(&to, 1)).kind, IoResult::Kind::kClosed);
}

TEST_F(TlsStreamTest, ASocketThatEndsIsBrokenWithAReason) {
  std::vector<std::byte> byte(1);
  const iovec to{.iov_base = byte.data(), .iov_len = 1};
  ::shutdown(streams_[0]->fd(), SHUT_RDWR);
  EXPECT_EQ(streams_[1]->read(std::span(&to, 1)).kind, IoResult::Kind::kBroken);
  EXPECT_NE(streams_[1]->problem().find("unexpected eof"), std::string::npos)
      << streams_[1]->problem();
}

}  // namespace
}  // namespace paravane::transport_tcp
